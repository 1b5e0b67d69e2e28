"""The Portal's form to upload several tracks to an album: each file has an upload of its own."""

from http import HTTPStatus

from readapi.answers import Answer
from readapi.errors import (
    ApiError,
    ArtistProfileRequired,
    AudienceUnavailable,
    NotFound,
    NotOwner,
    PrivateAlbum,
    TooLarge,
    UnsupportedMediaType,
)
from readapi.http.request.headers import Accept
from readapi.http.request.page_forms import LeftOut
from readapi.http.viewer import InSession
from readapi.index.lookups import Index
from readapi.index.queries import lists
from readapi.index.queries.identifiers import ListName
from readapi.pages import form_errors, responses
from readapi.pages.form_errors import FormErrors
from readapi.pages.notices import Notice
from readapi.pages.page_routes import PageRoutes
from readapi.pages.portal.forms import TracksForm, file_title
from readapi.pages.portal.pages import PortalPages
from readapi.pds.repo import REFUSALS
from readapi.publishing.uploads.receive import UploadIntake
from schemas.api.shape import Received

routes = PageRoutes()


@routes.deed(
    "/portal/albums/{album_id}/uploads",
    requires=("track", "blobs", "list"),
    raises=(
        ArtistProfileRequired,
        AudienceUnavailable,
        NotFound,
        NotOwner,
        PrivateAlbum,
        TooLarge,
        UnsupportedMediaType,
        *REFUSALS,
    ),
)
async def upload_tracks(
    album_id: ListName,
    sent: TracksForm,
    who: InSession,
    accept: Accept,
    index: Index,
    receiving: UploadIntake,
    desk: PortalPages,
) -> Answer[str]:
    """Publish tracks on an album, in the order of their files. A file that is refused stops no other."""
    lists.find_own_list(index, "album", album_id, who.did)
    begun, refused = [], list[tuple[str, ApiError]]()
    try:
        for file in sent.chosen():
            try:
                begun.append(await _begin(receiving, who, sent, file, album_id))
            except ApiError as error:
                refused.append((file.file_name or "A file", error))
        if refused and not begun and len(refused) == 1:
            raise refused[0][1]
    except ApiError as error:
        tried = form_errors.form_errors("uploads", sent, error, accept, at="recordings")
        return await desk.album(who, album_id, tried)
    if refused:
        return await desk.album(who, album_id, _tell(sent, len(begun), refused))
    if len(begun) == 1:
        return responses.redirect_with_notice(f"/portal/uploads/{begun[0]}", "upload-begun")
    return responses.redirect_with_notice(f"/portal/albums/{album_id}", "uploads-begun")


async def _begin(
    receiving: UploadIntake, who: InSession, sent: TracksForm, file: Received | LeftOut, album_id: str
) -> str:
    """The id of a file's upload. Raises the file's refusal."""
    if isinstance(file, LeftOut):
        raise file.refusal
    title = file_title(file.file_name)
    wanted = sent.wanted(file, album_id)
    return (await receiving.publish(who, wanted, sent.once, attaches=True, file_title=title)).id


def _tell(sent: TracksForm, begun: int, refused: list[tuple[str, ApiError]]) -> FormErrors:
    """The form with what became of each refused file. Sent again, it uploads no file twice."""
    told = f"{begun} of {begun + len(refused)} files were received. The others are listed at the form."
    errors = {
        f"recordings {place}": f"{name}: {error.message}" for place, (name, error) in enumerate(refused)
    }
    values = {"tags": sent.tags, "once": sent.once}
    return FormErrors("uploads", values, errors, Notice(told, is_bad=True), HTTPStatus.UNPROCESSABLE_ENTITY)
