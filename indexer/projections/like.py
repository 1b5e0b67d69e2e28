"""Like records -> likes."""

from indexer.projections.projection import Projection, Row, utc
from schemas.ids import AtUri, record_key
from schemas.records import Like


def columns(like: Like, uri: AtUri) -> Row:
    """The like's row. Likes of one person for one track share a `pair`, however many records there are."""
    subject = like.subject.uri
    return {
        "pair": record_key(f"{uri.did} {subject}"),
        "subject_key": record_key(subject),
        "subject_uri": subject,
        "created_at": utc(like.created_at),
    }


projection = Projection(name="like", table="likes", model=Like, columns=columns)
