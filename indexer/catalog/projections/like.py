"""Like records -> likes."""

from indexer.catalog.projections.projection import Applied, Documents, Projection, Row
from schemas.datetimes import to_utc
from schemas.ids import AtUri, record_key
from schemas.records import Like


def columns(like: Like, uri: AtUri) -> Row:
    """The like's row. Likes of one person for one track share a `pair`, however many records there are."""
    subject = like.subject.uri
    return {
        "pair": record_key(f"{uri.did} {subject}"),
        "subject_key": record_key(subject),
        "subject_uri": subject,
        "created_at": to_utc(like.created_at),
    }


def mark_stale(applied: Applied, documents: Documents) -> None:
    """The people of whom they are the first or the last; the likes are marked where they are counted."""
    documents.reacted(applied)


projection = Projection(
    name="like",
    table="likes",
    model=Like,
    columns=columns,
    remembered=("pair", "subject_key", "subject_uri"),
    mark_stale=mark_stale,
    own_document=("like", "pair"),
    counted="likes",
)
