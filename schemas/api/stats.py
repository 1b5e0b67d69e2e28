"""Totals over all visible records."""

from schemas.api.shape import Count, Shape, Time


class Stats(Shape):
    """Totals over visible records, without private tracks."""

    total_plays: Count
    total_tracks: Count
    total_artists: Count
    total_duration_seconds: Count
    total_likes: Count
    total_comments: Count
    total_albums: Count
    total_playlists: Count
    as_of: Time
