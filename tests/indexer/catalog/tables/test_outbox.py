"""Each change marks every search document that shows it, once per transaction."""

from indexer.catalog.tables.images import ImageFact
from indexer.catalog.tables.outbox import NO_RECORD, unpack_like
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import Account, IdentityFact
from indexer.repo.changes import RecordChange
from schemas.datetimes import to_utc
from schemas.ids import AtUri, record_key
from tests import documents
from tests.indexer.changes import account, album, comment, delete, did, instant, like, put, uri

TRACK, OTHER = uri("ana", "track", 0), uri("ana", "track", 1)
ALBUM = uri("ana", "list", 0)

Document = tuple[str, int | str]


def stale(writer: Writer, *changes: RecordChange | Account, **facts: object) -> set[Document]:
    """What a transaction marks, as (kind, key or name)."""
    before = writer.op
    batch = Batch(
        changes=[change for change in changes if isinstance(change, RecordChange)],
        accounts=[event for event in changes if isinstance(event, Account)],
        **facts,  # type: ignore[arg-type]
    )
    written = writer.write(batch)
    rows = (
        writer.reader()
        .execute("select op, kind, key, name from outbox where op > ? order by op", [before])
        .fetchall()
    )
    found = {(kind, name if key is None else key) for _, kind, key, name in rows}
    assert [op for op, *_ in rows] == list(range(before + 1, written.op + 1))
    assert len(found) == len(rows)
    return found


def doc(kind: str, where: AtUri) -> Document:
    """The document of a record."""
    return kind, record_key(str(where))


def pair(person: str, subject: AtUri) -> Document:
    """The document of a person's liking of a track."""
    return "like", record_key(f"{did(person)} {subject}")


def artist(person: str) -> Document:
    """The document of a person."""
    return "artist", did(person)


def person(name: str) -> Document:
    """That a person has a document."""
    return "person", did(name)


def test_a_track_marks_itself_its_artist_and_its_tags(writer: Writer) -> None:
    """Tags that it had, too."""
    first = stale(writer, put("ana", "track", at=1, tags=["old", "kept"]))
    second = stale(writer, put("ana", "track", at=2, tags=["kept", "new"]))

    assert first == {doc("track", TRACK), artist("ana"), ("tag", "old"), ("tag", "kept")}
    assert second == first | {("tag", "new")}


def test_a_track_marks_the_lists_that_hold_it(writer: Writer) -> None:
    """Anybody's; and its artist's albums if it names one or named one."""
    ben_list = uri("ben", "list")
    stale(writer, album("ben", [TRACK], at=1, listType="playlist"), album("ana", [], at=1, name="Wasser"))

    plain = stale(writer, put("ana", "track", at=2))
    named = stale(writer, put("ana", "track", at=3, album="Wasser"))
    unnamed = stale(writer, put("ana", "track", at=4))

    assert plain == {doc("track", TRACK), artist("ana"), doc("list", ben_list)}
    assert named == unnamed == plain | {doc("list", ALBUM)}


def test_a_like_marks_the_pair_the_track_and_the_person(writer: Writer) -> None:
    """And when it changes its subject, both pairs and both tracks, and the person twice."""
    liked = stale(writer, like("ben", TRACK, at=1))
    moved = stale(writer, like("ben", OTHER, at=2))
    deleted = stale(writer, delete("ben", "like", at=3))

    assert liked == {pair("ben", TRACK), doc("rank", TRACK), person("ben")}
    both = {pair("ben", TRACK), doc("rank", TRACK), pair("ben", OTHER), doc("rank", OTHER)}
    assert moved == both | {artist("ben"), person("ben")}
    assert deleted == {pair("ben", OTHER), doc("rank", OTHER), artist("ben")}


def like_record(writer: Writer, *changes: RecordChange) -> str | None:
    """What the outbox holds of Ben's like after these changes of it."""
    writer.write(Batch(changes=list(changes)))
    query = "select name from outbox where kind = 'like' order by op desc limit 1"
    found: tuple[str | None] = writer.reader().execute(query).fetchone() or ("",)
    return found[0]


def test_the_only_record_of_a_like_is_in_the_outbox(writer: Writer) -> None:
    """Of several, and of one that an earlier transaction wrote, it says that they are to be looked up."""
    first, second = like("ben", TRACK, 1, at=1), like("ben", TRACK, 2, at=2)

    only = like_record(writer, first)
    both = like_record(writer, second)
    left = like_record(writer, delete("ben", "like", 2, at=3))
    none = like_record(writer, delete("ben", "like", 1, at=4))
    again = like_record(writer, like("ben", TRACK, 3, at=5))

    assert only is not None
    assert unpack_like(only) == (did("ben"), record_key(str(TRACK)), to_utc(instant(1)), first.rkey)
    assert (both, left, none) == (None, None, NO_RECORD)
    assert again is not None
    assert unpack_like(again)[2:] == (to_utc(instant(3)), uri("ben", "like", 3).rkey)


def test_a_like_marks_no_more_than_the_count_when_a_search_knows_no_other(writer: Writer) -> None:
    """Four likes are told apart; from then on it knows the power of two below."""
    marked = [stale(writer, like(f"fan {number}", TRACK, at=number)) for number in range(1, 10)]

    _, key = doc("track", TRACK)
    kinds = [kind for found in marked for kind, name in found if name == key]
    assert kinds == [*["rank"] * 4, *["count"] * 3, "rank", "count"]


def test_a_comment_marks_itself_the_count_and_the_person(writer: Writer) -> None:
    """A tombstone of a comment that nobody ever saw marks nothing."""
    written = stale(writer, comment("ben", TRACK, at=1))
    unseen = stale(writer, delete("ben", "comment", 7, at=1))

    assert written == {doc("comment", uri("ben", "comment")), doc("count", TRACK), person("ben")}
    assert unseen == set()


def test_a_list_marks_what_it_holds_and_held(writer: Writer) -> None:
    """Tracks show their album; of playlists they know nothing."""
    stale(writer, album("ana", [TRACK], at=1))

    changed = stale(writer, album("ana", [OTHER], at=2))
    ended = stale(writer, album("ana", [OTHER], at=3, listType="playlist"))
    playlist = stale(writer, album("ana", [TRACK], at=4, listType="playlist"))

    assert changed == {doc("list", ALBUM), doc("track", TRACK), doc("track", OTHER), artist("ana")}
    assert ended == changed - {doc("track", TRACK)}
    assert playlist == {doc("list", ALBUM), artist("ana")}


def test_an_album_marks_its_artists_other_albums_and_their_tracks(writer: Writer) -> None:
    """One album more can change the slugs of the others; and tracks may name it."""
    third = uri("ana", "track", 2)
    stale(writer, album("ana", [TRACK], 0, at=1), put("ana", "track", 2, at=1, album="Another"))

    added = stale(writer, album("ana", [OTHER], 1, at=2, name="Another"))

    assert added == {
        doc("list", ALBUM),
        doc("list", uri("ana", "list", 1)),
        doc("track", TRACK),
        doc("track", OTHER),
        doc("track", third),
        artist("ana"),
    }


def test_a_new_name_marks_what_shows_it(writer: Writer) -> None:
    """Own tracks and lists, and tracks that feature the artist; not the likes, nor others' playlists."""
    stale(
        writer,
        put("ana", "track", at=1),
        album("ana", [], at=1),
        album("ben", [TRACK], at=1, listType="playlist"),
        put("ben", "track", at=1, features=[{"did": did("ana")}]),
        like("ana", OTHER, at=1),
    )

    profile = stale(writer, put("ana", "profile", at=2, displayName="Ana"))
    identity = stale(writer, identities=[IdentityFact(did("ana"), "ana.example", "https://pds.example")])
    same = stale(writer, identities=[IdentityFact(did("ana"), "ana.example", "https://pds.example")])

    assert profile == {
        artist("ana"),
        doc("track", TRACK),
        doc("list", ALBUM),
        doc("track", uri("ben", "track")),
    }
    assert identity == profile
    assert same == set()


def test_a_profile_marks_tracks_only_when_they_show_the_change(writer: Writer) -> None:
    """They show the name and the picture, also those of a profile that goes and comes back."""
    stale(writer, put("ana", "track", at=1), put("ana", "profile", at=1, displayName="Ana"))
    named = {artist("ana"), doc("track", TRACK)}

    words = stale(writer, put("ana", "profile", at=2, displayName="Ana", bio="Of the sea."))
    gone = stale(writer, delete("ana", "profile", at=3))
    back = stale(writer, put("ana", "profile", at=4, displayName="Ana"))
    nameless = stale(writer, put("ben", "track", at=1), put("ben", "profile", at=1, bio="Of the hills."))
    invalid = stale(writer, put("ana", "profile", at=5, displayName=7))

    assert words == {artist("ana")}
    assert [gone, back, invalid] == [named] * 3
    assert nameless == {artist("ben"), doc("track", uri("ben", "track"))}


def test_a_hidden_account_marks_everything_that_it_wrote_and_touched(writer: Writer) -> None:
    """Also when it comes back, and when it is removed; a status that changes nothing marks nothing."""
    stale(
        writer,
        put("ana", "track", at=1, tags=["tag"]),
        like("ana", uri("ben", "track", 3), at=1),
        comment("ana", uri("ben", "track", 4), at=1),
        album("ben", [TRACK], at=1, listType="playlist"),
    )
    everything = {
        artist("ana"),
        doc("track", TRACK),
        ("tag", "tag"),
        doc("rank", uri("ben", "track", 3)),
        doc("count", uri("ben", "track", 4)),
        pair("ana", uri("ben", "track", 3)),
        doc("comment", uri("ana", "comment")),
        doc("list", uri("ben", "list")),
    }

    assert stale(writer, account("ana", "deactivated", at=2)) == everything
    assert stale(writer, account("ana", "takendown", at=3)) == set()
    assert stale(writer, account("ana", "active", at=4)) == everything
    assert stale(writer, account("ana", "active", at=5)) == set()
    assert stale(writer, account("ana", "deleted", at=6)) == everything


def test_a_measured_image_marks_what_shows_it(writer: Writer) -> None:
    """Tracks and lists carry the size of their picture."""
    stale(writer, put("ana", "track", at=1, document=documents.full("track")), put("ana", "track", 1, at=1))
    ((cid,),) = writer.reader().execute("select image_cid from tracks where image_cid is not null").fetchall()

    measured = stale(writer, images=[ImageFact(cid, 640, 480), ImageFact("bafyother", 1, 1)])

    assert measured == {doc("track", TRACK)}
    assert writer.reader().execute("select width, height from images where cid = ?", [cid]).fetchall() == [
        (640, 480)
    ]
