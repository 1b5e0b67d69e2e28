"""Profile records -> profiles."""

from indexer.projections.projection import Projection, Row, utc, web_address
from schemas.ids import AtUri
from schemas.records import Profile


def columns(profile: Profile, uri: AtUri) -> Row:
    """The profile's row."""
    return {
        "display_name": profile.display_name,
        "bio": profile.bio,
        "avatar_cid": profile.avatar.ref if profile.avatar else None,
        "support_url": web_address(profile.support_url),
        "created_at": utc(profile.created_at),
        "updated_at": utc(profile.updated_at),
    }


projection = Projection(name="profile", table="profiles", model=Profile, columns=columns)
