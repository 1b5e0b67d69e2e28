"""Comment records -> comments."""

from indexer.catalog.projections.projection import Applied, Documents, Projection, Row
from schemas.datetimes import to_utc
from schemas.ids import AtUri, record_key
from schemas.records import Comment


def columns(comment: Comment, uri: AtUri) -> Row:
    """The comment's row."""
    return {
        "subject_key": record_key(comment.subject.uri),
        "subject_uri": comment.subject.uri,
        "body": comment.text,
        "timestamp_ms": comment.timestamp_ms,
        "created_at": to_utc(comment.created_at),
        "updated_at": to_utc(comment.updated_at),
    }


def mark_stale(applied: Applied, documents: Documents) -> None:
    """The comments, and the people of whom they are the first or the last."""
    documents.reacted(applied)
    documents.keyed("comment", (row["key"] for row in applied.versions()))
    documents.keyed("comment", applied.moved)


projection = Projection(
    name="comment",
    table="comments",
    model=Comment,
    columns=columns,
    has_id=True,
    remembered=("subject_key", "subject_uri"),
    mark_stale=mark_stale,
    own_document=("comment", "key"),
    counted="comments",
)
