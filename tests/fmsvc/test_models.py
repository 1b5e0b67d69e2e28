"""The client's models and what /openapi.json says of answers: neither knows a member that the other lacks."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

import fmsvc
from readapi.http.openapi.document import api_endpoints, describe_api
from readapi.processes.app import all_endpoints

# A model of the client, and the schema of the service that it reads.
READ = {
    "Track": "Track",
    "ArtistProfile": "Artist",
    "Liker": "Liker",
    "AlbumSummary": "AlbumSummary",
    "AlbumMetadata": "AlbumMetadata",
    "AlbumWithTracks": "Album",
    "Playlist": "Playlist",
    "PlaylistWithTracks": "PlaylistWithTracks",
    "RecommendedTrack": "RecommendedTrack",
    "PlaylistRecommendations": "Recommendations",
    "Comment": "Comment",
    "UploadProgress": "UploadProgress",
    "AudioRevision": "Revision",
    "TrackProof": "TrackProof",
    "Job": "Job",
    "JobFailure": "Failure",
    "Capabilities": "Capabilities",
    "Preferences": "Preferences",
    "Stats": "Stats",
    "Series": "Series",
    "SubjectSeries": "OneSeries",
    "Tag": "Tag",
    "SearchResponse": "SearchPage",
    "TrackSearchResult": "TrackResult",
    "ArtistSearchResult": "ArtistResult",
    "AlbumSearchResult": "AlbumResult",
    "TagSearchResult": "TagResult",
    "Suggestion": "Suggestion",
    "SearchExplanation": "Explanation",
    "PlaylistSearchResult": "PlaylistResult",
}


# Members of plyrfm's models that this service does not have; they keep their defaults.
FOREIGN = {"Track": {"original_file_id", "original_file_type"}, "AlbumSummary": {"description"}}
# Models that leave members out: a recommendation names a track, which `tracks.get` reads whole.
PARTIAL = {"RecommendedTrack"}


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    described = json.loads(describe_api(api_endpoints(all_endpoints()), "https://api.test"))
    return dict(described["components"]["schemas"])


@pytest.mark.parametrize(("model", "schema"), READ.items())
def test_a_model_reads_what_is_described(model: str, schema: str, schemas: dict[str, Any]) -> None:
    kind: type[BaseModel] = getattr(fmsvc, model)
    described = schemas[schema]
    read = {field.alias or name for name, field in kind.model_fields.items()}
    required = {field.alias or name for name, field in kind.model_fields.items() if field.is_required()}

    assert read - described["properties"].keys() == FOREIGN.get(model, set())
    assert required <= set(described.get("required", described["properties"]))
    assert model in PARTIAL or described["properties"].keys() <= read
