"""Comment records -> comments."""

from indexer.projections.projection import Projection, Row, utc
from schemas.ids import AtUri, record_key
from schemas.records import Comment


def columns(comment: Comment, uri: AtUri) -> Row:
    """The comment's row."""
    return {
        "subject_key": record_key(comment.subject.uri),
        "subject_uri": comment.subject.uri,
        "body": comment.text,
        "timestamp_ms": comment.timestamp_ms,
        "created_at": utc(comment.created_at),
        "updated_at": utc(comment.updated_at),
    }


projection = Projection(name="comment", table="comments", model=Comment, columns=columns, has_id=True)
