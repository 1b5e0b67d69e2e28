"""What tools answer with: the members of the API's answers that models use, by the API's names.

Texts of accounts are bounded and cleaned (`fmsvc.mcp.text`); members that are not named here are left out.
"""

from fmsvc.mcp.shapes.accounts import Artist, Stats
from fmsvc.mcp.shapes.lists import (
    Album,
    Albums,
    AlbumWithTracks,
    Playlist,
    Playlists,
    PlaylistWithTracks,
    Recommendations,
    Tag,
    Tags,
)
from fmsvc.mcp.shapes.publishing import (
    Access,
    Availability,
    Capabilities,
    Failure,
    Job,
    PublishingChange,
    Template,
)
from fmsvc.mcp.shapes.search import Counts, Found, SearchResults
from fmsvc.mcp.shapes.tracks import (
    Comment,
    Comments,
    Feature,
    Liked,
    OwnTracks,
    Proof,
    Revision,
    Revisions,
    TaggedTracks,
    TopTracks,
    Track,
    TrackAlbum,
    TrackDetail,
    Tracks,
)

__all__ = [
    "Access",
    "Album",
    "AlbumWithTracks",
    "Albums",
    "Artist",
    "Availability",
    "Capabilities",
    "Comment",
    "Comments",
    "Counts",
    "Failure",
    "Feature",
    "Found",
    "Job",
    "Liked",
    "OwnTracks",
    "Playlist",
    "PlaylistWithTracks",
    "Playlists",
    "Proof",
    "PublishingChange",
    "Recommendations",
    "Revision",
    "Revisions",
    "SearchResults",
    "Stats",
    "Tag",
    "TaggedTracks",
    "Tags",
    "Template",
    "TopTracks",
    "Track",
    "TrackAlbum",
    "TrackDetail",
    "Tracks",
]
