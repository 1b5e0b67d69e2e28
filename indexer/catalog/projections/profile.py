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
    """The artists; where the name or the picture is another, everything that shows these."""
    before, after = applied.before, applied.after
    documents.renamed(
        {
            row["did"]
            for row in documents.written(applied)
            if _shown(before.get(row["key"])) != _shown(after.get(row["key"]))
        }
    )


def _shown(row: Row | None) -> tuple[str | None, str | None]:
    """The name and the picture that other documents have of a profile."""
    if row is None or row["state"] != "live":
        return None, None
    return row["display_name"], row["avatar_cid"]


projection = Projection(
    name="profile",
    table="profiles",
    model=Profile,
    columns=columns,
    remembered=("display_name", "avatar_cid"),
    mark_stale=mark_stale,
)
