"""Albums: each under an address of its own."""

from readapi.authoring import lists as records
from readapi.authoring import pictures
from readapi.errors import Conflict, InvalidRequest
from readapi.pds import Author, Create, Pds, Value
from readapi.queries import lists
from readapi.search import Index
from readapi.state.state import State
from readapi.writing import Writing, new_rkey
from schemas.api.albums import AlbumChange, NewAlbum
from schemas.ids import AtUri, Did
from schemas.slugs import slug
from schemas.stored import Card

Written = tuple[AtUri, Value]  # a record and what it says now


async def make(writing: Writing, state: State, index: Index, author: Author, sent: NewAlbum) -> Written:
    """Make an album with nothing on it; its template is checked. Raises Conflict and InvalidRequest."""
    collection = writing.collections.list
    value = records.new(collection, "album", sent.title, sent.description)
    async with state.locks.holding(_lock(author)):
        _check_slug(index, author.did, sent.title, sent.slug)
        [written] = await writing.commit(author, Create(collection, new_rkey(), value))
    await state.album_templates.put(written.uri, sent.publishing_defaults)
    return written.uri, value


async def change(
    writing: Writing, state: State, index: Index, author: Author, album: Card, sent: AlbumChange
) -> Written:
    """Change what is given of an album. Raises as `make` does."""
    uri = lists.uri_of(album)
    async with state.locks.holding(_lock(author)):
        if sent.title is not None or sent.slug is not None:
            _check_slug(index, author.did, sent.title or lists.title(album), sent.slug, itself=album)
        record = await writing.edit(
            author,
            uri.collection,
            uri.rkey,
            lambda found: records.renamed(found, sent.title, sent.description),
        )
    if "publishing_defaults" in sent.model_fields_set:
        await state.album_templates.put(uri, sent.publishing_defaults)
    return uri, record.value


async def cover(writing: Writing, pds: Pds, author: Author, album: Card, picture: bytes) -> Written:
    """Give an album a cover. Raises InvalidRequest and TooLarge."""
    uri = lists.uri_of(album)
    image = await pictures.upload(pds, author, picture)
    record = await writing.edit(
        author, uri.collection, uri.rkey, lambda found: records.pictured(found, image)
    )
    return uri, record.value


async def move(writing: Writing, author: Author, album: Card, track: str, before: str) -> None:
    """Put a track of an album right before another, both named by their at-uris. Raises Conflict."""
    uri = lists.uri_of(album)
    await writing.edit(author, uri.collection, uri.rkey, lambda found: records.moved(found, track, before))


async def delete(writing: Writing, state: State, author: Author, album: Card) -> None:
    """Delete an album; its tracks stay."""
    uri = lists.uri_of(album)
    await writing.delete(author, uri.collection, uri.rkey)
    await state.album_templates.remove(uri)


def _check_slug(index: Index, owner: Did, title: str, wanted: str | None, itself: Card | None = None) -> None:
    """Raises Conflict when another album of theirs has the address that a title leads to.

    Addresses are made by the index, from titles: a `wanted` slug that is another raises InvalidRequest.
    """
    address = slug(title)
    if wanted is not None and wanted != address:
        raise InvalidRequest.of_field("slug", f"must be {address}, as the title is")
    taken = index.album(owner, address)
    if taken is not None and (itself is None or taken.key != itself.key):
        raise Conflict(f"You have an album at {address} already; choose another title.")


def _lock(author: Author) -> str:
    return f"albums of {author.did}"
