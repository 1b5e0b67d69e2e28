"""What an album may be: under an address that is free, with a template that is not private."""

from readapi.cards import Card
from readapi.errors import Conflict, InvalidRequest, PrivateAlbum
from readapi.search import Index
from schemas.ids import Did
from schemas.publishing import Template
from schemas.slugs import slug


def check_slug(index: Index, owner: Did, title: str, wanted: str | None, itself: Card | None = None) -> None:
    """Raises Conflict when another album of theirs has the address that a title leads to.

    Addresses are made by the index, from titles: a `wanted` slug that is another raises InvalidRequest.
    """
    address = slug(title)
    if wanted is not None and wanted != address:
        raise InvalidRequest.of_field("slug", f"must be {address}, as the title is")
    taken = index.album(owner, address)
    if taken is not None and (itself is None or taken.key != itself.key):
        raise Conflict(f"You have an album at {address} already; choose another title.")


def check_template(template: Template | None) -> None:
    """Raises PrivateAlbum for one that would hide the tracks of an album."""
    if template is not None and (
        template.access.visibility == "private" or template.access.listening == "space"
    ):
        raise PrivateAlbum
