"""Profile records -> profiles."""

from indexer.catalog.projections.projection import Applied, Documents, Projection, Row, web_address
from schemas.datetimes import to_utc
from schemas.ids import AtUri
from schemas.records import Profile


def columns(profile: Profile, uri: AtUri) -> Row:
    """The profile's row."""
    return {
        "display_name": profile.display_name,
        "bio": profile.bio,
        "avatar_cid": profile.avatar.ref if profile.avatar else None,
        "support_url": web_address(profile.support_url),
        "created_at": to_utc(profile.created_at),
        "updated_at": to_utc(profile.updated_at),
    }


def mark_stale(applied: Applied, documents: Documents) -> None:
    """The artists, and everything that shows their names."""
    documents.renamed({row["did"] for row in documents.written(applied)})


projection = Projection(
    name="profile", table="profiles", model=Profile, columns=columns, mark_stale=mark_stale
)
