"""The open data: the manifest, and the files that it names."""

from typing import Annotated

from aiohttp import web
from pydantic import Field

from readapi.answers import Answer, render_json
from readapi.audio.sending import Sending
from readapi.audio.source import FileSource, OpenFile
from readapi.errors import IndexNotReady, NotFound, RangeNotSatisfiable
from readapi.http.endpoint import Routes
from readapi.http.request.headers import Conditions
from readapi.index.exports import OpenData
from schemas.api.exports import Manifest

routes = Routes("data")

PARQUET = "application/vnd.apache.parquet"
# A file never changes, and any page may read it.
_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
ExportName = Annotated[str, Field(max_length=100, description="Folder of an export, as the manifest has it.")]
FileName = Annotated[str, Field(max_length=100, description="A file in it.")]


@routes.get("/exports/", raises=(IndexNotReady,))
def list_exports(data: OpenData) -> Answer[Manifest]:
    """List the exports of the open data, and describe their tables.

    Parquet files of what everybody may see: all rows daily, and hourly what changed since the export before.
    """
    return Answer(render_json(data.require_manifest()))


@routes.get("/exports/{export}/{file}", media_types=(PARQUET,), raises=(NotFound, RangeNotSatisfiable))
def fetch_export(export: ExportName, file: FileName, data: OpenData, asked: Conditions) -> web.StreamResponse:
    """Fetch a file of an export. Range requests are supported."""
    known, path = data.find(f"{export}/{file}")
    try:
        opened = OpenFile(path)
    except FileNotFoundError:
        raise NotFound("There is no such export.") from None
    return Sending(FileSource(opened, PARQUET, f'"{known.sha256}"'), asked, _HEADERS)
