"""Search documents say what the API promises, and follow from the rows alone."""

from typing import Any

import duckdb
import orjson
import pytest

from indexer.catalog.tables.images import ImageFact
from indexer.catalog.tables.outbox import NO_RECORD
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import IdentityFact
from indexer.search.documents import artist, lists, tag
from indexer.search.documents.artist import CataloguedWorks
from indexer.search.documents.fields import Fields
from indexer.search.documents.labels import IS_ADULT
from indexer.search.render import Refs, Rendering
from schemas import stored
from schemas.api.albums import AlbumMetadata
from schemas.api.artists import Artist
from schemas.api.playlists import Playlist
from schemas.api.tags import Tag
from schemas.api.tracks import Track
from schemas.ids import checked_id, list_id, record_id, record_key
from schemas.labels import Label
from schemas.search_index import COUNT_SHIFT
from tests import documents as records
from tests.indexer.changes import account, album, comment, did, instant, like, put, uri, write

BASE = "https://music.example"
PDS = "https://pds.example"
VIEWER = (
    b',"stream_url":"https://a.example","r2_url":null,"is_liked":false,"gated":false,"downloadable":true}'
)


@pytest.fixture
def known(writer: Writer) -> Writer:
    """A catalogue that knows who Ana and Ben are."""
    facts = [IdentityFact(did(name), f"{name}.example", PDS) for name in ("ana", "ben")]
    write(writer, put("ana", "profile", at=1, displayName="Ana Ray"), put("ben", "track", 9, at=1))
    writer.write(Batch(identities=facts))
    return writer


def rendered(writer: Writer, **refs: Any) -> dict[str, Fields]:
    """The documents of these references, by name."""
    with writer.reader() as con:
        wanted, rendering = Refs(**refs), Rendering(con, BASE, CataloguedWorks(con))
        both = rendering.catalogue(rendering.tracks(wanted.tracks), (), wanted)
        found = {documents.shown["doc"]: documents.shown for documents in (*both, *rendering.tags(wanted))}
        return found | {fields["doc"]: fields for fields in rendering.social(wanted)}


def words_of(writer: Writer, **refs: Any) -> dict[str, Fields]:
    """What those are found by that may be, by name."""
    with writer.reader() as con:
        wanted, rendering = Refs(**refs), Rendering(con, BASE, CataloguedWorks(con))
        both = rendering.catalogue(rendering.tracks(wanted.tracks), (), wanted)
        found = [documents.words for documents in (*both, *rendering.tags(wanted))]
    return {words["doc"]: words for words in found if words is not None}


def track_of(writer: Writer, person: str, number: int = 0) -> tuple[dict[str, Any], Fields]:
    """A track's card with a stranger's members, and its document."""
    key = record_key(str(uri(person, "track", number)))
    fields = rendered(writer, tracks={key})[f"track:{key}"]
    Track.model_validate_json(fields["card"] + VIEWER, strict=True)
    return orjson.loads(fields["card"] + b"}"), fields


def list_of(writer: Writer, person: str, number: int = 0) -> tuple[dict[str, Any], list[int]]:
    """A list's card, and the keys of its tracks."""
    key = record_key(str(uri(person, "list", number)))
    fields = rendered(writer, lists={key})[f"list:{key}"]
    return orjson.loads(fields["card"]), orjson.loads(fields["items"])


def key(person: str, number: int = 0) -> int:
    """A track's key."""
    return record_key(str(uri(person, "track", number)))


def access(**fields: str) -> dict[str, str]:
    """An access snapshot, open but for these."""
    return {"listening": "public", "downloads": "open", "visibility": "public"} | fields


def test_a_card_is_the_track_of_the_api(known):
    """Field by field, for a record that has every one of them."""
    full = records.full("track") | {"features": [{"did": did("ben")}]}
    write(known, put("ana", "track", at=60, document=full), like("ben", uri("ana", "track"), at=61))

    card, _ = track_of(known, "ana")

    track_id = record_id(str(uri("ana", "track")))
    assert card["id"] == track_id
    assert (card["artist"], card["artist_handle"]) == ("Ana Ray", "ana.example")
    assert card["tags"] == ["ambient", "field recording"]
    assert card["features"] == [
        {"did": did("ben"), "handle": "ben.example", "display_name": "ben.example", "avatar_url": None}
    ]
    assert card["publishing"] == {
        "access": {"listening": "supporters", "downloads": "off", "visibility": "unlisted"},
        "attach_rights": True,
    }
    assert (card["unlisted"], card["policy_origin"]) == (True, "album")
    assert card["support_gate"] == {"type": "listening"}
    assert (card["created_at"], card["indexed_at"]) == ("2026-03-01T12:30:00.250000Z", "2026-03-01T00:00:00Z")
    assert (card["like_count"], card["comment_count"], card["play_count"]) == (1, 0, 0)
    assert card["atproto_record_url"].startswith(f"{PDS}/xrpc/com.atproto.repo.getRecord?repo={did('ana')}&")
    assert card["updated_at"] == "2026-03-01T12:30:00.250000Z"
    assert card["labels"] == ["explicit"]
    assert card["rights"]["isrc"] == "DEABC2600001"


def test_a_least_record_has_a_whole_card(known):
    """Nothing but the required fields, by somebody of whom nothing is known."""
    write(known, put("cid", "track", at=60))

    card, fields = track_of(known, "cid")

    assert (card["artist"], card["artist_handle"]) == ("Ada", "handle.invalid")
    assert (card["album"], card["image_url"], card["duration"], card["rights"]) == (None, None, None, None)
    assert (card["audio_storage"], card["file_id"], card["updated_at"]) == ("none", "", None)
    assert fields["address"] == checked_id(card["uri"]).encode()
    assert BASE.encode() not in fields["card"]
    assert fields["access"] == b"public open public none"


def test_audio_is_asked_of_us_and_its_blob_told_where_everybody_may_have_it(known):
    """Who may only listen is not told where the original is, nor what it is called there."""
    public = put("ana", "track", 1, at=60, audioBlob=records.blob())
    heard = put("ana", "track", 2, at=60, audioBlob=records.blob(), access=access(downloads="off"))
    gated = put("ana", "track", 3, at=60, audioBlob=records.blob(), access=access(listening="signed_in"))
    write(known, public, heard, gated)

    found = [track_of(known, "ana", number) for number in (1, 2, 3)]

    for card, fields in found:
        assert (card["audio_storage"], card["file_id"]) == ("pds", fields["file"])
        assert b"getBlob" not in fields["card"]
    hidden = "c73c55a376594007102a5ff924b795123635725e8536b02bd874db9643f20231"
    assert [card["file_id"] for card, _ in found] == [records.AUDIO_CID, hidden, hidden]
    assert [card["pds_blob_cid"] for card, _ in found] == [records.AUDIO_CID, None, None]


def test_managed_audio_goes_by_its_own_hash(known):
    """And audio at any other address by the hash of that."""
    ours = put("ana", "track", 1, at=60, audioUrl=f"{BASE}/audio/{'ab' * 32}")
    theirs = put("ana", "track", 2, at=60, audioUrl="https://other.example/song.mp3")
    write(known, ours, theirs)

    (managed, fields), (foreign, _) = track_of(known, "ana", 1), track_of(known, "ana", 2)

    assert managed["file_id"] == fields["file"] == "ab" * 32
    assert foreign["file_id"] == "ae37fec02854c016bade1420cd96d8a08e73570731c6bd6a19a303eccb56b35e"
    assert (managed["audio_storage"], foreign["audio_storage"]) == ("managed", "managed")
    assert b"other.example" not in track_of(known, "ana", 2)[1]["card"]
    assert orjson.loads(track_of(known, "ana", 2)[1]["audio"])["url"] == "https://other.example/song.mp3"


def test_an_album_that_holds_a_track_comes_before_one_that_it_names(known):
    """And of two that hold it, the one that is named first in time."""
    write(known, put("ana", "track", at=60, album="Named"), album("ana", [], 1, at=61, name=" NAMED "))
    by_name, _ = track_of(known, "ana")
    write(
        known,
        album("ana", [uri("ana", "track")], 2, at=62, name="Later", createdAt="2026-03-03T00:00:00Z"),
        album("ana", [uri("ana", "track")], 3, at=63, name="Earlier", createdAt="2026-03-02T00:00:00Z"),
        album("ben", [uri("ana", "track")], 4, at=64, name="Somebody else's"),
    )

    held, _ = track_of(known, "ana")

    assert (by_name["album"]["title"], by_name["album"]["slug"]) == ("NAMED", "named")
    assert held["album"]["id"] == str(list_id(str(uri("ana", "list", 3))))


def test_albums_of_one_name_have_addresses_of_their_own(known):
    """The earliest keeps the plain one."""
    write(
        known,
        album("ana", [], 1, at=61, name="Été", createdAt="2026-03-03T00:00:00Z"),
        album("ana", [], 2, at=62, name="été!", createdAt="2026-03-02T00:00:00Z"),
        album("ben", [], 3, at=63, name="Été"),
    )

    later, earlier, bens = (list_of(known, *which)[0] for which in (("ana", 1), ("ana", 2), ("ben", 3)))

    assert (earlier["slug"], bens["slug"]) == ("été", "été")
    assert later["slug"] == f"été-{list_id(str(uri('ana', 'list', 1))).hex[:8]}"


def test_an_album_holds_its_items_and_then_what_names_it(known):
    """Each once, where the list has it; private tracks stand there for their owner but do not count."""
    write(
        known,
        put("ana", "track", 1, at=60, album="Wasser", createdAt="2026-02-02T00:00:00Z"),
        put("ana", "track", 2, at=60, album="wasser", createdAt="2026-02-01T00:00:00Z"),
        put("ana", "track", 3, at=60, album="Wasser", createdAt="2026-01-31T00:00:00Z"),
        put("ana", "track", 4, at=60, access=access(visibility="private", listening="space")),
        put("ana", "track", 5, at=60, access=access(visibility="unlisted")),
        album("ana", [uri("ana", "track", n) for n in (5, 3, 8, 3, 4)], at=61, name="Wasser"),
    )

    card, items = list_of(known, "ana")

    AlbumMetadata.model_validate_json(orjson.dumps(card), strict=True)
    assert items == [key("ana", 5), key("ana", 3), key("ana", 4), key("ana", 2), key("ana", 1)]
    assert card["track_count"] == 4


def test_a_playlist_counts_what_anybody_may_see_in_it(known):
    """A track may stand in it twice; a list that is neither is shown nowhere."""
    hidden = access(visibility="unlisted")
    write(
        known,
        put("ana", "track", 1, at=60),
        put("ana", "track", 2, at=60, access=hidden),
        put(
            "ben", "list", 1, at=61, items=[{"subject": records.strong_ref(str(uri("ana", "track", 1)))}] * 2
        ),
        album("ben", [uri("ana", "track", n) for n in (1, 2)], 2, at=62, listType="playlist", name=" "),
        album("ben", [], 3, at=63, listType="liked"),
    )

    twice, items = list_of(known, "ben", 1)
    unnamed, _ = list_of(known, "ben", 2)

    Playlist.model_validate_json(orjson.dumps(twice), strict=True)
    assert (twice["track_count"], items) == (2, [key("ana", 1)] * 2)
    assert (unnamed["name"], unnamed["track_count"]) == ("Untitled", 1)
    assert rendered(known, lists={record_key(str(uri("ben", "list", 3)))}) == {}


def test_tags_count_public_tracks_only(known):
    """A tag that no public track carries is not known."""
    write(
        known,
        put("ana", "track", 1, at=60, tags=["Jazz", "dub"]),
        put("ana", "track", 2, at=60, tags=["#jazz"]),
        put("ana", "track", 3, at=60, tags=["jazz", "secret"], access=access(visibility="unlisted")),
    )

    found = rendered(known, tags={"jazz", "dub", "secret", "never"})

    assert set(found) == {"tag:jazz", "tag:dub"}
    card = Tag.model_validate_json(found["tag:jazz"]["card"], strict=True)
    assert (card.name, card.track_count) == ("jazz", 2)


def test_strangers_meet_tracks_where_they_may(known):
    """Unlisted ones on profiles and in searches; of private ones nothing can be searched for."""
    write(
        known,
        put("ana", "track", 1, at=60, access=access(visibility="unlisted")),
        put("ana", "track", 2, at=60, access=access(visibility="private", listening="space")),
    )

    unlisted, private = track_of(known, "ana", 1)[1], track_of(known, "ana", 2)[1]
    words = words_of(known, tracks={key("ana", 1), key("ana", 2)})

    assert unlisted["place"] == ["track@profile", "track@search", "track@direct"]
    assert private["place"] == []
    assert set(words) == {f"track:{key('ana', 1)}"}


def test_an_artist_is_somebody_with_something_to_show(known):
    """Who only likes is known by name but not found as an artist; who has no record left is not known."""
    write(known, put("ana", "track", at=60), like("cid", uri("ana", "track"), at=61))
    write(known, put("dan", "track", at=62), like("ana", uri("ben", "track", 9), at=63))
    write(known, account("dan", "deactivated", at=64))

    people = {did(name) for name in ("ana", "ben", "cid", "dan", "nobody")}
    found, words = rendered(known, artists=people), words_of(known, artists=people)

    assert set(found) == {f"artist:{did(name)}" for name in ("ana", "ben", "cid")}
    for fields in found.values():
        Artist.model_validate_json(fields["card"], strict=True)
    assert found[f"artist:{did('cid')}"]["place"] == []
    assert set(words) == {f"artist:{did(name)}" for name in ("ana", "ben")}
    assert words[f"artist:{did('ana')}"]["popular"] >> COUNT_SHIFT == 1


def test_one_person_likes_a_track_once(known):
    """Since the earliest of their likes."""
    pair = record_key(f"{did('ben')} {uri('ana', 'track')}")
    write(
        known,
        like("ben", uri("ana", "track"), 10, at=70),
        like("ben", uri("ana", "track"), 5, at=75),
        comment("ben", uri("ana", "track"), at=71),
    )

    found = rendered(known, likes={pair: None}, comments={record_key(str(uri("ben", "comment")))})

    assert orjson.loads(found[f"like:{pair}"]["card"]) == {
        "did": did("ben"),
        "liked_at": "2026-03-01T00:00:05Z",
        "rkeys": ["3mfxgnkzeu222", "3mfxgnprxo222"],
    }
    assert len(found) == 2


def test_a_like_is_rendered_from_the_outbox_as_from_its_row(known):
    """Of a hidden account in neither way; without a live record there is no document."""
    write(known, like("ben", uri("ana", "track"), 10, at=70), like("cid", uri("ana", "track"), 1, at=71))
    write(known, account("cid", "deactivated", at=72))
    with known.reader() as con:
        query = "select key, name from outbox where kind = 'like' and name is not null"
        held = dict(con.execute(query).fetchall())

    assert rendered(known, likes=held) == rendered(known, likes=dict.fromkeys(held))
    assert len(held) == 2
    assert len(rendered(known, likes=held)) == 1
    assert rendered(known, likes=dict.fromkeys(held, NO_RECORD)) == {}


def test_the_size_of_a_picture_is_told_when_it_is_measured(known):
    """Of pictures on the web, and of what is no picture, it is not known."""
    cover = records.blob("image/png", 900, b"cover")
    write(known, put("ana", "track", 1, at=60, image=cover), put("ana", "track", 2, at=60))

    before = track_of(known, "ana", 1)[1]["thumb"]
    with known.reader() as con:
        (stored,) = con.execute("select image_cid from tracks where image_cid is not null").fetchone()
    known.write(Batch(images=[ImageFact(stored, 640, 480)]))

    assert before == b""
    assert track_of(known, "ana", 1)[1]["thumb"] == b"640x480"


def test_hidden_people_have_no_documents(known):
    """Nor do their records; others' cards do not name them."""
    write(known, put("ana", "track", at=60, features=[{"did": did("ben")}]), album("ben", [], at=61))
    write(known, account("ben", "takendown", at=62))

    card, _ = track_of(known, "ana")
    bens = rendered(
        known,
        tracks={key("ben", 9)},
        lists={record_key(str(uri("ben", "list")))},
        artists={did("ben")},
    )

    assert bens == {}
    assert card["features"][0]["handle"] == "handle.invalid"


def test_counts_on_a_card_change_without_the_rest_being_read_again(known):
    """What comes of it is what rendering the track anew gives."""
    full = records.full("track") | {"features": [{"did": did("ben")}]}
    gated = access(visibility="unlisted", listening="signed_in")
    write(known, put("ana", "track", 1, at=60, document=full), put("ana", "track", 2, at=60, access=gated))
    keys = {key("ana", 1), key("ana", 2)}
    before = rendered(known, tracks=keys)

    write(known, like("ben", uri("ana", "track", 1), at=61), comment("ben", uri("ana", "track", 1), at=62))
    write(known, like("cid", uri("ana", "track", 1), at=63))

    with known.reader() as con:
        packed = {fields["key"]: stored.pack_document(fields) for fields in before.values()}
        rendering = Rendering(con, BASE, CataloguedWorks(con))
        recounted = {fields["doc"]: fields for fields in rendering.counts(packed)}
    assert recounted == rendered(known, tracks=keys) != before


def test_a_rank_changes_without_the_rest_being_read_again(known):
    """What comes of it is what rendering the track anew gives: with features, albums and labels."""
    full = records.full("track") | {"features": [{"did": did("ben")}, {"did": did("cid")}]}
    write(known, put("ben", "profile", at=2, displayName="ben.example"))
    public = {key: value for key, value in full.items() if key != "access"}
    adult = {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "porn"}]}
    tracks = [
        put("ana", "track", 1, at=60, document=full),
        put("ana", "track", 2, at=61, document=public, labels=adult, album="Wide"),
        put("ana", "track", 3, at=62, artist="Someone Else", album="Wide", tags=["Dub"]),
        put("cid", "track", 4, at=63, description="Field recordings", artist="Cid & friends"),
        put("dora", "track", 5, at=64, access=access(visibility="private")),
    ]
    write(known, *tracks, album("ana", [uri("ana", "track", 2)], 1, at=70, name="Other"))
    owners = ("ana", "ana", "ana", "cid", "dora")
    keys = {key(person, number) for number, person in enumerate(owners, 1)}
    before = rendered(known, tracks=keys)

    subjects = [uri(person, "track", number) for number, person in enumerate(owners, 1)]
    write(known, *(like("fan", subject, number, at=80) for number, subject in enumerate(subjects)))

    with known.reader() as con:
        rendering = Rendering(con, BASE, CataloguedWorks(con))
        packed = {fields["key"]: stored.pack_document(fields) for fields in before.values()}
        both = list(rendering.catalogue((), list(rendering.counts(packed)), Refs(ranks=keys)))
    assert {documents.shown["doc"]: documents.shown for documents in both} == rendered(known, tracks=keys)
    found = {documents.words["doc"]: documents.words for documents in both if documents.words is not None}
    assert found == words_of(known, tracks=keys)
    assert 0 < len(found) < len(keys)  # the private one is not found


def test_an_artist_becomes_popular_without_the_account_being_read_again(known: Writer) -> None:
    """What comes of it is what rendering the account anew gives: with names, without, and for adults."""
    owners = ("ana", "ben", "cid")
    write(known, put("ana", "profile", at=2, displayName="Ana Lúcia", bio="Field recordings"))
    write(known, *(put(owner, "track", at=60) for owner in owners))
    known.write(Batch(labels=[Label(did("labeler"), did("cid"), None, "nudity", instant(61))]))
    artists = {did(owner) for owner in owners}
    before = rendered(known, artists=artists)

    write(known, *(like("fan", uri(owner, "track"), number, at=80) for number, owner in enumerate(owners)))

    found = {
        doc: artist.ranked_words(stored.pack_document(shown), shown["recent"], popular=1)
        for doc, shown in before.items()
    }
    assert found == words_of(known, artists=artists)
    assert {words["popular"] >> COUNT_SHIFT for words in found.values()} == {1}
    assert [doc for doc, words in found.items() if "adult" in words["kind"]] == [f"artist:{did('cid')}"]


def test_an_album_holds_no_more_than_a_list_may(known: Writer) -> None:
    """However many tracks name it: all of it is shown at once."""
    held = [uri("ana", "track", number) for number in range(2)]
    named = [put("ana", "track", number, at=1000 + number, album="Wide") for number in range(510)]
    write(known, *named, album("ana", held, 1, at=2000, name="Wide"))

    card, items = list_of(known, "ana", 1)

    assert card["track_count"] == 500
    assert len(items) == 500


def test_lists_and_tags_know_the_adult_tracks_of_the_view(known: Writer) -> None:
    """`IS_ADULT` says of narrowed rows what the view `adult_tracks` says of all: by each kind of label."""
    adult = {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "porn"}]}
    write(known, put("cid", "track", at=1, labels=adult), put("dan", "track", at=1))
    write(known, *(put("ana", "track", number, at=1) for number in range(4)))
    with known.reader() as con:
        [(cid,)] = con.execute(
            "select cid from tracks where uri = ?", [str(uri("ana", "track", 1))]
        ).fetchall()
    about = (did("dan"), None), (uri("ana", "track", 0), None), (uri("ana", "track", 1), cid)
    other_version = (uri("ana", "track", 2), "bafyrei-another")
    labels = [
        Label(did("labeler"), str(subject), version, "nudity", instant(1), None, False)
        for subject, version in (*about, other_version)
    ]
    known.write(Batch(labels=labels))

    with known.reader() as con:
        found = set(con.execute(f"select uri from tracks where {IS_ADULT}").fetchall())
        viewed = set(con.execute("select uri from tracks join adult_tracks using (key)").fetchall())

    expected = {
        uri("cid", "track"),
        uri("dan", "track"),
        uri("ana", "track", 0),
        uri("ana", "track", 1),
    }
    assert found == viewed == {(str(one),) for one in expected}


def test_lists_and_tags_count_what_everybody_may_see(known: Writer) -> None:
    """Of tracks that are listed and of those that name the album: none withheld, hidden or for adults."""
    tagged = [put("ana", "track", number, at=1 + number, tags=["rare"]) for number in range(3)]
    naming = [put("ana", "track", n, at=1 + n, tags=["rare"], album="Rare") for n in range(3, 6)]
    held = [*(uri("ana", "track", number) for number in range(3)), uri("ben", "track", 8)]
    write(
        known,
        *tagged,
        *naming,
        put("ben", "track", 8, at=1, tags=["rare"]),
        account("ben", "takendown", at=2),
    )
    write(known, album("ana", held, at=9, name="Rare"))
    given = {1: "!hide", 2: "nudity", 4: "!hide", 5: "nudity"}
    labels = [
        Label(did("labeler"), str(uri("ana", "track", number)), None, value, instant(10))
        for number, value in given.items()
    ]
    known.write(Batch(labels=labels))

    with known.reader() as con:
        listed = con.execute(
            "select uri from listed_tracks where key in (select track_key from track_tags where tag = 'rare')"
        ).fetchall()
    tag_card = orjson.loads(rendered(known, tags={"rare"})["tag:rare"]["card"])
    list_card, items = list_of(known, "ana")

    assert set(listed) == {(str(uri("ana", "track", number)),) for number in (0, 3)}
    assert tag_card["track_count"] == list_card["track_count"] == 2
    assert items == [key("ana", number) for number in range(6)]


def test_a_list_and_a_tag_cost_what_their_tracks_cost(known: Writer) -> None:
    """Of tracks that are not theirs only keys and DIDs are read, in whole vectors of 2,048 rows."""
    write(known, put("ana", "track", at=1, tags=["rare"], album="Rare"))
    write(known, album("ana", [uri("ana", "track")], at=1, name="Rare"))
    with known.reader() as con:
        con.execute(
            "insert into tracks select tracks.* replace "
            "(key + range as key, did || range as did, uri || range as uri) from tracks, range(1, 50000) "
            "where title is not null limit 50000"
        )
        ours = {"names": "rare"}
        track_key = record_key(str(uri("ana", "track")))
        read = [
            labels_read(con, tag.TAGS, ours),
            labels_read(con, lists.TRACKS.format(keys=track_key), {}),
            labels_read(con, lists.NAMING, {"dids": did("ana")}),
        ]

    assert all(0 < rows <= 2 * 2048 for rows in read)


def labels_read(con: duckdb.DuckDBPyConnection, query: str, values: dict[str, Any]) -> int:
    """The rows of tracks of which a query reads the labels."""
    [(_, plan)] = con.execute(f"explain (analyze, format json) {query}", values).fetchall()
    scans, found = [orjson.loads(plan)], 0
    while scans:
        node = scans.pop()
        scans += node["children"]
        if "labels" in str(node["extra_info"].get("Projections")):
            found += node["operator_cardinality"]
    return found
