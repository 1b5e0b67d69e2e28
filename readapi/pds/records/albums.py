"""Creates, changes and deletes albums. Each has its own address, from its title."""

from readapi.errors import Conflict, InvalidRequest
from readapi.index.lookups import Index
from readapi.index.queries import lists
from readapi.pds.records import images
from readapi.pds.records import lists as records
from readapi.pds.repo import Author, Create, Pds, Value, WriteResult
from readapi.pds.writing import Writing, new_rkey
from readapi.state.state import State
from schemas.api.albums import AlbumChange, NewAlbum
from schemas.ids import AtUri, Did
from schemas.slugs import slug
from schemas.stored import Card

Written = tuple[AtUri, Value]  # a record's at-uri and its new value


async def make_album(writing: Writing, state: State, index: Index, author: Author, sent: NewAlbum) -> Written:
    """Create an empty album; its template is validated. Raises Conflict and InvalidRequest."""
    collection = writing.collections.list
    value = records.new_list(collection, "album", sent.title, sent.description)

    async def write() -> list[WriteResult]:
        _check_slug(index, author.did, sent.title, sent.slug)
        return await writing.commit(author, Create(collection, new_rkey(), value))

    # Interrupted, it may be written all the same, and refused to who tries again.
    [written] = await state.locks.finish(_lock(author), write)
    await state.album_templates.put(written.uri, sent.publishing_defaults)
    return written.uri, value


async def change_album(
    writing: Writing, state: State, index: Index, author: Author, album: Card, sent: AlbumChange
) -> Written:
    """Change the given fields of an album. Raises as `make_album` does."""
    uri = lists.list_uri(album)
    async with state.locks.holding(_lock(author)):
        if sent.title is not None or sent.slug is not None:
            _check_slug(index, author.did, sent.title or lists.album_title(album), sent.slug, itself=album)
        record = await writing.edit(
            author,
            uri.collection,
            uri.rkey,
            lambda found: records.rename_list(found, sent.title, sent.description),
        )
    if "publishing_defaults" in sent.model_fields_set:
        await state.album_templates.put(uri, sent.publishing_defaults)
    return uri, record.value


async def set_cover(writing: Writing, pds: Pds, author: Author, album: Card, picture: bytes) -> Written:
    """Set an album's cover. Raises InvalidRequest and TooLarge."""
    uri = lists.list_uri(album)
    image = await images.upload_image(pds, author, picture)
    record = await writing.edit(
        author, uri.collection, uri.rkey, lambda found: records.set_image(found, image)
    )
    return uri, record.value


async def move_track(writing: Writing, author: Author, album: Card, track: str, before: str) -> None:
    """Move a track of an album to right before another, both given by at-uri. Raises Conflict."""
    uri = lists.list_uri(album)
    await writing.edit(
        author, uri.collection, uri.rkey, lambda found: records.move_item(found, track, before)
    )


async def delete_album(writing: Writing, state: State, author: Author, album: Card) -> None:
    """Delete an album; its tracks stay."""
    uri = lists.list_uri(album)
    await writing.delete(author, uri.collection, uri.rkey)
    await state.album_templates.remove(uri)


def _check_slug(index: Index, owner: Did, title: str, wanted: str | None, itself: Card | None = None) -> None:
    """Raises Conflict when another album of the owner has the address that a title leads to.

    The index makes addresses from titles: a different `wanted` slug raises InvalidRequest.
    """
    address = slug(title)
    if wanted is not None and wanted != address:
        raise InvalidRequest.of_field("slug", f"must be {address}, as the title is")
    taken = index.album(owner, address)
    if taken is not None and (itself is None or taken.key != itself.key):
        raise Conflict(f"You have an album at {address} already; choose another title.")


def _lock(author: Author) -> str:
    return f"albums of {author.did}"
