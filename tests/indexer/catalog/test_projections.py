"""A record becomes the same rows everywhere: spelled out here, and kept by DuckDB as they are."""

from datetime import datetime
from importlib.resources import files
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from indexer.catalog import projections
from indexer.catalog.projections import Projection
from indexer.catalog.projections.projection import web_address
from schemas.collections import Collections
from schemas.ids import AtUri, Did, Rkey
from schemas.records import Invalid, parse_record
from tests import documents
from tests.documents import COLLECTIONS, NAMES

OF = projections.projections_of(COLLECTIONS)
ADA = Did("did:plc:44ybard66vv44zksje25o7dz")
TIME = datetime(2026, 3, 1, 12, 30, 0, 250_000)  # noqa: DTZ001 - the catalogue's times are UTC and say no zone
SUBJECT_KEY = -7715818694256199290
TRACK_KEY = 1299244277295118766
LIST_KEY = 2073055163193440077
PAIR = -312547073800759622
COVER_CID = "bafkreib7uqc2qma2zy2nchhujkawbafy6dsjush32belrlxrkq5iywf5wy"
FACE_CID = "bafkreiacqlm3ph2cy5gbkufsb7zn2fvk7q76lwfotialf5tjs3ik5cbhou"

COLUMNS: dict[str, dict[str, Any]] = {
    "track": {
        "title": "Überfahrt",
        "artist": "Ada",
        "file_type": "mp3",
        "created_at": TIME,
        "audio_cid": documents.AUDIO_CID,
        "audio_mime": "audio/mpeg",
        "audio_bytes": 4096,
        "audio_url": "https://audio.example/a.mp3",
        "duration": 184,
        "album": "Wasser",
        "description": "Recorded on the ferry.",
        "image_cid": COVER_CID,
        "image_url": "https://images.example/a.png",
        "listening": "supporters",
        "downloads": "off",
        "visibility": "unlisted",
        "policy_origin": "album",
        "labels": ["explicit"],
        "rights": (
            '{"isrc":"DEABC2600001","iswc":"T-345.246.800-1",'
            '"masterOwner":{"name":"Ada Records","did":"did:web:ada.example"},"parties":['
            '{"name":"Ada","mechanicalShare":6000,"performanceShare":5000,'
            '"did":"did:plc:ewvi7nxzyoun6zhxrhs64oiz","ipi":"00052210040","role":"composer","society":"GEMA"},'
            '{"name":"Bo","mechanicalShare":4000,"performanceShare":5000}]}'
        ),
        "updated_at": TIME,
    },
    "like": {
        "pair": PAIR,
        "subject_key": SUBJECT_KEY,
        "subject_uri": documents.TRACK_URI,
        "created_at": TIME,
    },
    "comment": {
        "subject_key": SUBJECT_KEY,
        "subject_uri": documents.TRACK_URI,
        "body": "that drop",
        "timestamp_ms": 61_000,
        "created_at": TIME,
        "updated_at": TIME,
    },
    "list": {
        "name": "Wasser",
        "list_type": "album",
        "description": "Four crossings.",
        "image_cid": COVER_CID,
        "created_at": TIME,
        "updated_at": TIME,
    },
    "profile": {
        "display_name": "Ada",
        "bio": "Ferries and tape.",
        "avatar_cid": FACE_CID,
        "support_url": "https://ada.example/support",
        "created_at": TIME,
        "updated_at": TIME,
    },
}


@pytest.mark.parametrize("name", NAMES)
def test_a_full_record_fills_every_column(name: str) -> None:
    """Times lose their zone, blobs become CIDs, references gain keys."""
    columns, _ = project(name, documents.full(name))

    assert columns == COLUMNS[name]


def test_a_track_that_says_nothing_of_access_is_open_to_everybody() -> None:
    """Whatever else is absent is null, or an empty list."""
    columns, children = project("track", documents.least("track"))

    given = {name: value for name, value in columns.items() if value is not None}
    assert given == {
        "title": "Überfahrt",
        "artist": "Ada",
        "file_type": "mp3",
        "created_at": TIME,
        "listening": "public",
        "downloads": "open",
        "visibility": "public",
        "labels": [],
    }
    assert children == {"track_tags": [], "track_features": []}


def test_tags_are_stored_in_one_spelling_and_once() -> None:
    """In the order of the record; what is empty once normalised is left out."""
    tags = ["#Ambient", "# ", "field  recording", "AMBIENT"]

    _, children = project("track", {**documents.least("track"), "tags": tags})

    assert children["track_tags"] == [
        {"track_key": TRACK_KEY, "position": 0, "tag": "ambient"},
        {"track_key": TRACK_KEY, "position": 1, "tag": "field recording"},
    ]


def test_a_featured_artist_is_stored_once() -> None:
    """In the order of the record."""
    dids = ["did:web:bo.example", "did:plc:asdf123", "did:web:bo.example"]

    _, children = project("track", {**documents.least("track"), "features": [{"did": did} for did in dids]})

    assert children["track_features"] == [
        {"track_key": TRACK_KEY, "position": 0, "did": "did:web:bo.example"},
        {"track_key": TRACK_KEY, "position": 1, "did": "did:plc:asdf123"},
    ]


def test_a_list_keeps_its_order_and_its_repetitions() -> None:
    """The same track may come twice."""
    other = "at://did:web:bo.example/fm.svc.track/3kznmn7xqxl23"
    items = [
        {"subject": documents.strong_ref(uri)} for uri in (documents.TRACK_URI, other, documents.TRACK_URI)
    ]

    _, children = project("list", {**documents.least("list"), "items": items})

    rows = children["list_items"]
    assert [(row["position"], row["subject_uri"]) for row in rows] == [
        (0, documents.TRACK_URI),
        (1, other),
        (2, documents.TRACK_URI),
    ]
    assert rows[0] == {
        "list_key": LIST_KEY,
        "position": 0,
        "subject_key": SUBJECT_KEY,
        "subject_uri": documents.TRACK_URI,
        "subject_cid": documents.TRACK_CID,
    }


def test_two_likes_of_one_person_for_one_track_are_a_pair() -> None:
    """Two records, one person."""
    like = documents.least("like")

    first, _ = project("like", like, "3kznmn7xqxl22")
    second, _ = project("like", {**like, "createdAt": "2026-04-01T00:00:00Z"}, "3kznmn7xqxl23")

    assert first["pair"] == second["pair"]


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://audio.example/a.mp3", True),
        ("HTTP://audio.example:8000/ä.mp3?x=1", True),
        ("javascript:alert(1)", False),
        ("data:text/html,<script>alert(1)</script>", False),
        ("file:///etc/passwd", False),
        ("https:///a.mp3", False),
        ("https:audio.example", False),
        ("http://[::1", False),
        (None, False),
    ],
)
def test_only_addresses_of_the_web_are_stored(url: str | None, kept: bool) -> None:
    """A browser is never sent anywhere else."""
    assert web_address(url) == (url if kept else None)


def test_hostile_addresses_are_dropped_and_the_record_is_kept() -> None:
    """Of tracks and of profiles."""
    hostile = "javascript:alert(1)"

    track, _ = project("track", {**documents.least("track"), "audioUrl": hostile, "imageUrl": hostile})
    profile, _ = project("profile", {**documents.least("profile"), "supportUrl": hostile})

    assert (track["audio_url"], track["image_url"], profile["support_url"]) == (None, None, None)


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_those_of_the_table(name: str, catalogue: duckdb.DuckDBPyConnection) -> None:
    """All that follow `verified_at`, in any order, but the public id."""
    projection = OF[documents.collection(name)]
    columns, children = project(name, documents.full(name))
    described = columns_of(catalogue, projection.table)
    after_envelope = described[described.index("verified_at") + 1 :]

    assert projection.has_id is ("id" in after_envelope)
    assert set(columns) == set(after_envelope) - {"id"}
    assert set(children) == set(projection.child_tables)
    for table, rows in children.items():
        assert columns_of(catalogue, table)[0] == projection.child_key
        assert all(list(row) == columns_of(catalogue, table) for row in rows)


def test_every_collection_has_a_projection_in_any_namespace() -> None:
    """Nothing is listed twice."""
    elsewhere = Collections("dev.example")

    assert set(OF) >= COLLECTIONS.all
    assert set(projections.projections_of(elsewhere)) >= elsewhere.all
    assert len({projection.table for projection in projections.ALL}) == len(projections.ALL) == len(OF)


@pytest.mark.parametrize(
    "title",
    [
        "a\0b",
        "\u202egnp.exe",
        "<script>alert(1)</script>",
        "🏳️‍🌈",
        "\ufeff\u2066x\u2069",
        "'; drop table tracks; --",
    ],
)
@pytest.mark.parametrize("instant", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_hostile_strings_and_far_times_survive_the_catalogue(
    title: str, instant: str, catalogue: duckdb.DuckDBPyConnection
) -> None:
    """Through Arrow into DuckDB and back, unchanged; escaping is for those who present them."""
    columns, _ = project("track", {**documents.least("track"), "title": title, "createdAt": instant})
    catalogue.register("incoming", pa.Table.from_pylist([dict(columns)]))

    kept = catalogue.sql(
        "select title, created_at from incoming where title = $title", params={"title": title}
    )

    assert kept.fetchall() == [(title, columns["created_at"])]
    assert kept.to_arrow_table().to_pylist() == [{"title": title, "created_at": columns["created_at"]}]


@pytest.fixture
def catalogue() -> Any:
    """An empty catalogue."""
    with duckdb.connect() as connection:
        connection.execute(files("schemas").joinpath("tables.sql").read_text("utf-8"))
        yield connection


def columns_of(catalogue: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """The names of a table's columns."""
    return [name for name, *_ in catalogue.execute(f"describe {table}").fetchall()]


def project(name: str, document: documents.Document, rkey: str = "3kznmn7xqxl22") -> Any:
    """The columns and children of a record that Ada wrote."""
    collection = documents.collection(name)
    record = parse_record(collection, COLLECTIONS, documents.encode(document))
    assert not isinstance(record, Invalid)
    projection: Projection[Any] = OF[collection]
    uri = AtUri(ADA, collection, Rkey(rkey))
    return projection.columns(record, uri), projection.children(record, uri)
