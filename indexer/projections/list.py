"""List records (albums, playlists, other lists) -> lists, list_items."""

from indexer.projections.projection import Children, Projection, Row, utc
from schemas.ids import AtUri, record_key
from schemas.records import ListRecord


def columns(record: ListRecord, uri: AtUri) -> Row:
    """The list's own row."""
    return {
        "name": record.name,
        "list_type": record.list_type,
        "description": record.description,
        "image_cid": record.image.ref if record.image else None,
        "created_at": utc(record.created_at),
        "updated_at": utc(record.updated_at),
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


projection = Projection(
    name="list",
    table="lists",
    model=ListRecord,
    columns=columns,
    children=children,
    child_tables=("list_items",),
)
