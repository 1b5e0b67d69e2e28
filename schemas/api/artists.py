"""Artists: accounts that wrote at least one record of ours."""

from schemas.api.shape import Shape, Time


class Artist(Shape):
    """Somebody's profile, or what is known of an account without one."""

    did: str
    handle: str
    display_name: str | None
    bio: str | None
    avatar_url: str | None
    support_url: str | None
    show_liked_on_profile: bool
    created_at: Time | None
    updated_at: Time | None


class Person(Shape):
    """An account, named the way that lists name people."""

    did: str
    handle: str
    display_name: str | None
    avatar_url: str | None
