"""`fmsvc tracks upload`, `upload-files`, `replace-audio` and `download`: several at once, with a bar each."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from fmsvc.cli import exit_codes
from fmsvc.cli.arguments import Features, Image, Ref, Settings, read_features, read_ref, read_settings
from fmsvc.cli.output import PLAIN, Output, explain, print_error
from fmsvc.cli.progress import Bars
from fmsvc.cli.service import THE_SERVICE, Service
from fmsvc.errors import FmsvcError
from fmsvc.files import OnProgress, file_name

if TYPE_CHECKING:
    from fmsvc import AsyncClient
    from fmsvc.models import TrackRef

_AT_ONCE = 3  # services limit how many uploads of an account may wait

Tags = Annotated[
    list[str] | None, Parameter(name=("--tag", "-t"), negative="", help="A tag; may be given again.")
]
Transfer = Callable[["AsyncClient", OnProgress | None], Awaitable[Any]]


def upload(
    file: Path,
    title: str,
    *,
    album: Annotated[str | None, Parameter(help="The album's title.")] = None,
    tag: Tags = None,
    publishing: Settings = None,
    description: Annotated[str | None, Parameter(help="Notes on the track.")] = None,
    features: Features = None,
    image: Image = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> int:
    """Publish an audio file.

    Parameters
    ----------
    file
        The audio file.
    title
        The track's title.
    """
    given: dict[str, Any] = {
        "album": album,
        "tags": tag,
        "publishing": None if publishing is None else read_settings(publishing),
        "description": description,
        "features": None if features is None else read_features(features),
        "image": image,
    }
    return _run(service.token(), service, output, {str(file): _upload(file, title, given)}, _RESULT)


def upload_files(
    files: Annotated[list[Path], Parameter(negative="")],
    *,
    album: Annotated[str | None, Parameter(help="The album's title.")] = None,
    tag: Tags = None,
    publishing: Settings = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> int:
    """Publish audio files, each titled after its name.

    Parameters
    ----------
    files
        The audio files. `01 Low_tide.flac` becomes `01 Low tide`.
    """
    settings = None if publishing is None else read_settings(publishing)
    given: dict[str, Any] = {"album": album, "tags": tag, "publishing": settings}
    transfers = {str(file): _upload(file, file.stem.replace("_", " "), given) for file in files}
    return _run(service.token(), service, output, transfers, _RESULT)


def replace_audio(ref: Ref, file: Path, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> int:
    """Replace a track's audio; likes and plays stay.

    The former audio becomes a revision.

    Parameters
    ----------
    file
        The audio file.
    """
    track = read_ref(ref)

    async def replace(client: "AsyncClient", on_progress: OnProgress | None) -> Any:
        return await client.tracks.replace_audio(track, file, on_progress=on_progress)

    return _run(service.token(), service, output, {str(file): replace}, _RESULT)


def download(
    refs: Annotated[list[str], Parameter(negative="")],
    *,
    to: Annotated[
        Path | None,
        Parameter(name=("--output", "-o"), help="A file, which is replaced, or a folder."),
    ] = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> int:
    """Download tracks where their artists permit it.

    Without --output, a file named after the track's title, in the present folder.

    Parameters
    ----------
    refs
        The tracks' ids or at-uris.
    """
    if to is not None and len(refs) > 1 and not to.is_dir():
        raise FmsvcError(f"{to} is no folder, and only one file can be written to it.", code="usage")
    taken: set[Path] = set()
    transfers = {f"track {ref}": _download(read_ref(ref), to, taken) for ref in refs}
    return _run(None, service, output, transfers, ("path", "bytes"))


_RESULT = ("track_id", "title")


def _upload(file: Path, title: str, given: dict[str, Any]) -> Transfer:
    async def send(client: "AsyncClient", on_progress: OnProgress | None) -> Any:
        return await client.tracks.upload(file, title, on_progress=on_progress, **given)

    return send


def _download(ref: "TrackRef", to: Path | None, taken: set[Path]) -> Transfer:
    """`taken`: the paths of the other downloads, which may be of the same title."""

    async def fetch(client: "AsyncClient", on_progress: OnProgress | None) -> dict[str, Any]:
        path = to
        if path is None or path.is_dir():
            track = await client.tracks.get(ref)
            extension = track.original_file_type or track.file_type
            path = (path or Path()) / file_name(track.title, extension, f"track-{track.id}")
            if path in taken:
                path = path.with_stem(f"{path.stem} {track.id}")
            taken.add(path)
            if path.exists():  # the service named it, and must not choose a file to replace
                raise FmsvcError(f"{path} exists already: --output {path} replaces it.")
        done = await client.tracks.download(ref, path, on_progress=on_progress)
        return {"path": str(done), "bytes": done.stat().st_size}

    return fetch


def _run(
    token: str | None,
    service: Service,
    output: Output,
    transfers: dict[str, Transfer],
    names: Sequence[str],
) -> int:
    """Run them, print what came of each and why others failed; the exit code of the first that failed."""
    with Bars(not output.quiet) as bars:
        ended = asyncio.run(_gather(token, service, transfers, bars))
    done = [one for one in ended if not isinstance(one, FmsvcError)]
    if len(ended) == 1 and done:
        output.item(done[0], names)
    elif done:
        output.rows(done, names)
    for name, one in zip(transfers, ended, strict=True):
        if isinstance(one, FmsvcError):
            print_error(one.message if len(ended) == 1 else f"{name}: {one.message}")
    failed = [one for one in ended if isinstance(one, FmsvcError)]
    return exit_codes.find_exit_code(failed[0]) if failed else exit_codes.OK


async def _gather(
    token: str | None, service: Service, transfers: dict[str, Transfer], bars: Bars
) -> list[Any]:
    """What came of each, or the FmsvcError that it ended with."""
    slots = asyncio.Semaphore(_AT_ONCE)
    async with service.open_async(token) as client:

        async def run(name: str, transfer: Transfer) -> Any:
            async with slots:
                try:
                    return await transfer(client, bars.add(name))
                except FmsvcError as error:
                    return error
                except OSError as error:
                    return FmsvcError(explain(error))

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run(name, transfer)) for name, transfer in transfers.items()]
    return [task.result() for task in tasks]
