"""Creates and deletes playlists, with the choice of whether the profile shows them."""

from collections.abc import Iterable

from readapi.errors import ApiError
from readapi.pds.records import lists
from readapi.pds.repo import Author, Create, Value
from readapi.pds.writing import Writing, new_rkey
from readapi.state.publishing.profile_visibility import ProfileVisibility
from schemas.ids import AtUri


async def create_playlist(
    writing: Writing,
    showing: ProfileVisibility,
    author: Author,
    name: str,
    is_shown: bool,
    subjects: Iterable[Value] = (),
) -> tuple[AtUri, Value]:
    """Create a playlist: its at-uri and record. `subjects`: strong references to its tracks."""
    collection = writing.collections.list
    value = lists.new_list(collection, "playlist", name, None)
    value["items"] = lists.make_items(subjects)
    uri = AtUri(author.did, collection, new_rkey())
    await showing.choose(str(uri), is_shown)  # first, so that no profile shows it even briefly
    try:
        await writing.commit(author, Create(collection, uri.rkey, value))
    except ApiError:
        await showing.choose(str(uri), None)
        raise
    return uri, value


async def delete_playlist(writing: Writing, showing: ProfileVisibility, author: Author, uri: AtUri) -> None:
    """Delete a playlist. Its tracks stay."""
    await writing.delete(author, uri.collection, uri.rkey)
    await showing.choose(str(uri), None)
