"""List records (albums, playlists, other lists) -> lists, list_items."""

from indexer.catalog.projections.projection import Applied, Children, Documents, Projection, Row
from schemas.datetimes import to_utc
from schemas.ids import AtUri, record_key
from schemas.records import ListRecord


def columns(record: ListRecord, uri: AtUri) -> Row:
    """The list's own row."""
    return {
        "name": record.name,
        "list_type": record.list_type,
        "description": record.description,
        "image_cid": record.image.ref if record.image else None,
        "created_at": to_utc(record.created_at),
        "updated_at": to_utc(record.updated_at),
    }


def children(record: ListRecord, uri: AtUri) -> Children:
    """The items in order; a track may come twice."""
    key = record_key(str(uri))
    return {
        "list_items": [
            {
                "list_key": key,
                "position": position,
                "subject_key": record_key(item.subject.uri),
                "subject_uri": item.subject.uri,
                "subject_cid": item.subject.cid,
            }
            for position, item in enumerate(record.items)
        ]
    }


def mark_stale(applied: Applied, documents: Documents) -> None:
    """The lists and their artists; of albums also the tracks, and the artist's other albums."""
    rows = documents.written(applied)
    documents.keyed("list", (row["key"] for row in rows))
    album_rows = [row for row in rows if row["list_type"] == "album"]
    changed, held = {row["key"] for row in album_rows}, applied.children("list_items")
    documents.keyed("track", (item["subject_key"] for item in held if item["list_key"] in changed))
    # One album more or less can change the slugs of the artist's others, and cards carry slugs.
    artists = {row["did"] for row in album_rows}
    documents.albums_of(artists)
    documents.album_tracks_of(artists)


projection = Projection(
    name="list",
    table="lists",
    model=ListRecord,
    columns=columns,
    children=children,
    child_tables=("list_items",),
    remembered=("list_type",),
    mark_stale=mark_stale,
)
