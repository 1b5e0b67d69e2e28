"""Counts are of distinct people and of comments, over accounts that are not hidden."""

from indexer.catalog.tables import recount
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from schemas.ids import record_key
from tests.indexer.changes import account, comment, delete, did, like, put, remove, uri, write

TRACK, OTHER = uri("ana", "track", 0), uri("ana", "track", 1)


def counts(writer: Writer) -> dict[str, tuple[int, int]]:
    """(likes, comments) of the two tracks, whether they are there or not."""
    found = writer.reader().execute(
        """
        select subject_uri, any_value(track_counts.likes), any_value(track_counts.comments)
        from (select subject_key, subject_uri from likes union select subject_key, subject_uri from comments)
        join track_counts using (subject_key)
        group by subject_uri
        """
    )
    names = {str(TRACK): "track", str(OTHER): "other"}
    return {names[subject]: (likes, comments) for subject, likes, comments in found.fetchall()}


def test_a_like_may_come_before_its_track(writer: Writer) -> None:
    """It is stored and counted by uri."""
    write(writer, like("ben", TRACK, at=1))

    assert counts(writer) == {"track": (1, 0)}


def test_people_count_not_records(writer: Writer) -> None:
    """Two likes of one person are one; taking one back leaves it, taking both back ends it."""
    write(writer, like("ben", TRACK, 0, at=1), like("ben", TRACK, 1, at=1), like("cid", TRACK, at=1))
    write(writer, like("ben", TRACK, 2, at=1))
    liked = counts(writer)

    write(writer, delete("ben", "like", 0, at=2))
    still = counts(writer)
    write(writer, delete("ben", "like", 1, at=2), delete("ben", "like", 2, at=2))

    assert (liked, still) == ({"track": (2, 0)}, {"track": (2, 0)})
    assert counts(writer) == {"track": (1, 0)}


def test_a_like_that_changes_its_subject_moves_both_counts(writer: Writer) -> None:
    """A record may be put again with another subject."""
    write(writer, like("ben", TRACK, at=1), like("cid", TRACK, at=1))

    write(writer, like("ben", OTHER, at=2))

    assert counts(writer) == {"track": (1, 0), "other": (1, 0)}


def test_a_subject_that_nobody_likes_any_more_has_no_row(writer: Writer) -> None:
    """As if it never had been liked: rows do not depend on the way there."""
    write(writer, like("ben", TRACK, at=1), comment("ben", TRACK, at=1))

    write(writer, delete("ben", "like", at=2), delete("ben", "comment", at=2))

    assert writer.reader().execute("select * from track_counts").fetchall() == []


def test_a_hidden_person_does_not_count_until_back(writer: Writer) -> None:
    """Likes and comments that they write meanwhile count with the others when they are back."""
    write(writer, like("ben", TRACK, at=1), comment("ben", TRACK, at=1), like("cid", TRACK, at=1))

    write(writer, account("ben", "deactivated", at=2))
    hidden = counts(writer)
    write(writer, like("ben", OTHER, 1, at=3))
    write(writer, account("ben", "active", at=4))

    assert hidden == {"track": (1, 0)}
    assert counts(writer) == {"track": (2, 1), "other": (1, 0)}


def test_a_removed_person_may_like_again(writer: Writer) -> None:
    """Nothing of the removed likes is left in the counts."""
    write(writer, like("ben", TRACK, at=1))
    remove(writer, "ben", at=2)
    write(writer, account("ben", "active", at=3))

    write(writer, like("ben", TRACK, at=4))
    write(writer, delete("ben", "like", at=5))

    assert writer.reader().execute("select * from track_counts").fetchall() == []


def test_a_recount_notices_what_does_not_agree(writer: Writer) -> None:
    """`check` asks it."""
    write(writer, like("ben", TRACK, at=1), comment("cid", TRACK, at=1))
    agreed = len(recount.find_wrong_counts(writer.reader()))

    writer.reader().execute("update track_counts set likes = 5")
    writer.reader().execute("insert into track_counts values (77, 1, 0, 0)")

    assert (agreed, len(recount.find_wrong_counts(writer.reader()))) == (0, 2)


def test_after_a_recount_only_live_likes_count(writer: Writer) -> None:
    """A record that is taken down does not, so that another one of the same account does."""
    write(writer, like("ben", TRACK, 1, at=1))
    writer.write(Batch(takedowns=frozenset({str(uri("ben", "like", 1))})))
    writer.write(Batch(recount=frozenset({record_key(str(TRACK))})))

    write(writer, like("ben", TRACK, 2, at=2))

    assert counts(writer) == {"track": (1, 0)}


def test_an_invalid_comment_counts_no_more(writer: Writer) -> None:
    """An update that does not validate hides the record."""
    write(writer, comment("ben", TRACK, at=1))

    write(writer, comment("ben", TRACK, at=2, text=""))

    assert did("ben") in writer.tracked
    assert writer.reader().execute("select * from track_counts").fetchall() == []


def test_an_account_event_and_its_records_in_one_batch(writer: Writer) -> None:
    """Hiding applies to what comes with it."""
    write(writer, like("ben", TRACK, at=1), put("ben", "profile", at=1), account("ben", "takendown", at=2))

    assert writer.reader().execute("select * from track_counts").fetchall() == []


def test_plays_are_set_to_what_they_are_and_counted_besides(writer: Writer) -> None:
    """Told twice they do not add up; a recount of the rest agrees; likes that go leave them."""
    played = {record_key(str(TRACK)): 7}
    for _ in range(2):
        writer.write(Batch(plays=dict(played)))
    write(writer, like("ben", TRACK, at=1), put("ana", "track", 0, at=1))
    write(writer, delete("ben", "like", at=2))

    rows = writer.reader().execute("select * from track_counts").fetchall()

    assert rows == [(record_key(str(TRACK)), 0, 0, 7)]
    assert recount.find_wrong_counts(writer.reader()) == []
