"""The door to the index: every way to look something up, and what is seen of what is written."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from indexer.catalog.writing.writer import Writer
from indexer.search.index import SearchIndex
from indexer.search.rebuild import rebuild_index
from readapi.errors import IndexNotReady
from readapi.index import lookups
from readapi.index.lookups import Index
from schemas import data_folder, search_index
from schemas.access import Viewer
from schemas.ids import Did, list_id, record_id, record_key
from schemas.takedowns import Takedown, Takedowns
from tests.indexer.changes import album, comment, delete, did, like, put, settings, uri, write
from tests.readapi.indexed import BASE

PRIVATE = {"listening": "space", "downloads": "off", "visibility": "private"}
UNLISTED = {"listening": "public", "downloads": "open", "visibility": "unlisted"}


class Stored:
    """A catalogue, the index that follows it, and the door to that."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = Writer.open(settings(folder))
        self.search = SearchIndex.open(folder / data_folder.SEARCH, BASE)
        self.index = Index(folder, BASE)

    def write(self, *changes: object) -> None:
        """Write, follow, see."""
        write(self.writer, *changes)  # type: ignore[arg-type]
        with self.writer.reader() as con:
            while self.search.follow(con) < self.writer.op:
                pass
        self.index.refresh()

    def close(self) -> None:
        self.search.close()
        self.writer.close()


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Stored]:
    """Nothing so far."""
    opened = Stored(tmp_path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    """Ana's tracks 1 to 6, of which 5 is unlisted and 6 private; an album, likes and comments."""
    opened = Stored(tmp_path_factory.mktemp("library"))
    access = {5: {"access": UNLISTED}, 6: {"access": PRIVATE}}
    takes = [{"title": f"Take {n}", "tags": ["dub"], **access.get(n, {})} for n in range(1, 7)]
    opened.write(
        *(put("ana", "track", n, at=n, **take) for n, take in enumerate(takes, 1)),
        put("ben", "track", 1, at=20, tags=["jazz"]),
        album("ana", [uri("ana", "track", n) for n in (3, 1)], at=30, name="First Light"),
        album("ben", [uri("ana", "track", 2)], at=31, name="Mix", listType="playlist"),
        *(like("ben", uri("ana", "track", n), 40 + n, at=40 + n) for n in (1, 2, 5, 6, 9)),
        like("cid", uri("ana", "track", 2), 50, at=50),
        comment("ben", uri("ana", "track", 2), 1, at=60, timestampMs=9000),
        comment("cid", uri("ana", "track", 2), 2, at=61, timestampMs=1000),
    )  # fmt: skip
    yield opened
    opened.close()


def track(number: int, person: str = "ana") -> int:
    """A track's key."""
    return record_key(str(uri(person, "track", number)))


def test_a_track_is_found_by_id_uri_and_key(library):
    """The same card each time; nothing for what is not there."""
    index, address = library.index, str(uri("ana", "track", 3))

    card = index.track(record_id(address))

    assert card.card == index.track_at(address).card == index.tracks([track(3)])[0].card
    assert orjson.loads(card.card + b"}")["title"] == "Take 3"
    assert (card.did, card.access.visibility) == (did("ana"), "public")
    assert index.track(1) is index.track_at("at://nobody") is None


def test_many_tracks_come_in_the_order_that_was_asked_for(library):
    """Twice when asked for twice; those that are not there are left out."""
    cards = library.index.tracks([track(4), track(99), track(1), track(4)])

    assert [card.key for card in cards] == [track(4), track(1), track(4)]
    assert library.index.tracks([]) == []


def test_people_lists_and_tags_are_found(library):
    """By DID, UUID, at-uri and name; what is another kind is not."""
    index, held = library.index, str(uri("ana", "list"))

    assert index.artist(did("ana")).did == did("ana")
    assert set(index.people([did("ana"), did("cid"), did("nobody")])) == {did("ana"), did("cid")}
    assert index.people([]) == {}
    found = index.find_list("album", str(list_id(held)))
    assert found.card == index.find_list("album", held).card
    assert found.items == (track(3), track(1))
    assert index.find_list("playlist", held) is None
    assert orjson.loads(index.tag("#DUB").card)["track_count"] == 4
    assert index.tag("never") is None


def test_strangers_list_what_they_may_meet_there(library):
    """Unlisted tracks on profiles, private ones nowhere but with their owner."""
    index, owner = library.index, Viewer(did("ana"))

    def numbers(**asked):
        page = index.track_page(asked.pop("place"), "recent", None, 50, **asked)
        return [orjson.loads(card.card + b"}")["title"] for card in page.items if card.did == did("ana")]

    public = ["Take 4", "Take 3", "Take 2", "Take 1"]
    assert numbers(place="discovery") == public
    assert numbers(place="profile", artist_did=did("ana")) == ["Take 5", *public]
    assert numbers(place="profile", artist_did=did("ana"), viewer=owner) == ["Take 6", "Take 5", *public]
    assert numbers(place="discovery", tags=["Dub", "rock"]) == public
    assert numbers(place="discovery", tags=["rock"]) == []
    assert index.track_count("discovery", tags=["dub"]) == 4


def test_popular_tracks_come_by_likes(library):
    """Ties by id."""
    page = library.index.track_page("discovery", "popular", None, 2)

    likes = [orjson.loads(card.card + b"}")["like_count"] for card in page.items]
    assert likes == [2, 1]
    rest = library.index.track_page("discovery", "popular", page.after, 50)
    assert len(rest.items) == 3
    assert rest.after is None


def test_a_takedown_holds_for_first_pages_and_tracks_that_are_remembered(stored, monkeypatch):
    """At once; an undone one, too. A new state of the index is read anew."""
    monkeypatch.setattr(lookups, "MANY", 0)
    stored.write(*(put("ana", "track", n, at=n) for n in (1, 2)))
    index, ids = stored.index, [record_id(str(uri("ana", "track", n))) for n in (2, 1)]

    def listed():
        pages = index.track_page("discovery", "recent", None, 5).items, index.tracks_by_id(ids)
        return [[card.key for card in cards] for cards in pages]

    assert listed() == listed() == [[track(2), track(1)]] * 2
    index.takedowns.now = Takedowns([Takedown(str(uri("ana", "track", 2)), "Why.", datetime.now(UTC))])
    assert listed() == [[track(1)]] * 2
    index.takedowns.now = Takedowns([])
    assert listed() == [[track(2), track(1)]] * 2
    stored.write(put("ana", "track", 3, at=3))
    assert not index._remembered.first_pages  # which would keep files of the former state open
    assert listed() == [[track(3), track(2), track(1)], [track(2), track(1)]]


def test_likes_of_a_track_and_of_a_person(library):
    """A person's are told as far as anybody may see the tracks, wherever the page ends."""
    index = library.index

    likers = index.likers_page(track(2), None, 10)
    pages = [index.liked_page(did("ben"), None, 1)]
    pages.append(index.liked_page(did("ben"), pages[0].after, 1))

    assert [(liker.did, liker.liked_at) for liker in likers.items] == [
        (did("cid"), "2026-03-01T00:00:50Z"),
        (did("ben"), "2026-03-01T00:00:42Z"),
    ]
    assert index.like_count(track(2)) == 2
    assert [card.key for page in pages for card in page.items] == [track(2), track(1)]
    assert pages[1].after is None
    assert index.liked_count(did("ben")) == 2


def test_comments_come_by_the_moment_they_stand_at(library):
    """Page by page."""
    first = library.index.comment_page(track(2), None, 1)
    second = library.index.comment_page(track(2), first.after, 1)

    moments = [orjson.loads(card)["timestamp_ms"] for card in (*first.items, *second.items)]
    assert moments == [1000, 9000]
    assert library.index.comment_count(track(2)) == 2


def test_without_an_index_every_question_says_so(tmp_path):
    """Until the indexer has made one."""
    index = Index(tmp_path, BASE)
    index.refresh()

    assert not index.is_open
    for question in (lambda: index.track(1), lambda: index.artist("did:plc:x"), lambda: index.like_count(1)):
        with pytest.raises(IndexNotReady):
            question()
    with pytest.raises(IndexNotReady):
        index.track_page("discovery", "recent", None, 5)


def test_what_is_committed_is_seen_and_counted(stored):
    """The generation moves with the content, and only with it."""
    stored.write(put("ana", "track", 1, at=1))
    generation, op = stored.index.generation, stored.index.op
    stored.index.refresh()

    assert stored.index.generation == generation
    stored.write(delete("ana", "track", 1, at=2))

    assert stored.index.track_at(str(uri("ana", "track", 1))) is None
    assert stored.index.generation > generation
    assert stored.index.op > op


def test_a_rebuilt_index_is_noticed(stored):
    """Though its files are others in another folder, and nothing was written since."""
    stored.write(put("ana", "track", 1, at=1))
    stored.search.close()
    generation = stored.index.generation
    with stored.writer.reader() as con:
        rebuild_index(con, stored.folder / data_folder.SEARCH, BASE, lambda done, total: None)

    stored.index.refresh()

    assert stored.index.generation > generation
    assert stored.index.track_at(str(uri("ana", "track", 1))) is not None
    stored.search = SearchIndex.open(stored.folder / data_folder.SEARCH, BASE)
    stored.write(put("ana", "track", 2, at=2))
    assert stored.index.track_at(str(uri("ana", "track", 2))) is not None


def test_a_damaged_index_leaves_what_was_read_before(stored):
    """A reader that cannot read what is new goes on with what it has."""
    stored.write(put("ana", "track", 1, at=1))
    meta = stored.folder / data_folder.SEARCH / "catalog" / "meta.json"
    sound = meta.read_bytes()

    meta.write_bytes(b"{")
    stored.index.refresh()

    assert stored.index.track_at(str(uri("ana", "track", 1))) is not None
    meta.write_bytes(sound)
    stored.index.refresh()
    assert stored.index.is_open


def test_files_of_another_version_in_the_same_folder_are_not_read(stored):
    """As a replica of a newer indexer puts them there; what was read before stays."""
    stored.write(put("ana", "track", 1, at=1))
    files = [path / search_index.VERSION_FILE for path in (stored.folder / data_folder.SEARCH).iterdir()]
    for file in files:
        file.write_text(str(search_index.VERSION + 1))

    stored.write(put("ana", "track", 2, at=2))

    assert stored.index.track_at(str(uri("ana", "track", 1))) is not None
    assert stored.index.track_at(str(uri("ana", "track", 2))) is None
    for file in files:
        file.write_text(str(search_index.VERSION))
    stored.index.refresh()
    assert stored.index.track_at(str(uri("ana", "track", 2))) is not None


def test_owners_of_nothing_see_what_strangers_see(library):
    """A viewer who is somebody else changes nothing."""
    stranger = Viewer(Did("did:plc:somebody"))

    seen = library.index.track_page("profile", "recent", None, 50, artist_did=did("ana"), viewer=stranger)

    assert len(seen.items) == 5


def test_deleted_documents_are_not_counted(stored: Stored) -> None:
    """Search weighs words by how many names hold them; an index made anew has no deleted documents."""
    stored.write(*(put("ana", "track", n, at=n, title="Harbour") for n in range(1, 5)))
    assert stored.index.words.count_term("names", "harbour") == 4

    stored.write(*(delete("ana", "track", n, at=10 + n) for n in (1, 2)))

    assert stored.index.words.count_term("names", "harbour") == 2
    assert stored.index.words.count_term("names", "quay") == 0
