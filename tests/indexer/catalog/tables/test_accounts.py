"""An account's status hides or removes what it wrote; its identity is learned and doubted."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import IdentityFact
from schemas.ids import Handle
from tests import documents
from tests.indexer.changes import (
    account,
    album,
    comment,
    contents,
    delete,
    did,
    like,
    put,
    remove,
    settings,
    uri,
    write,
)

TRACK = uri("ana", "track")


def status(writer: Writer, person: str = "ana") -> str:
    """What the catalogue says of an account."""
    ((found,),) = (
        writer.reader().execute("select status from accounts where did = ?", [did(person)]).fetchall()
    )
    return str(found)


def visible(writer: Writer, view: str = "visible_tracks") -> int:
    """Rows of a view."""
    ((count,),) = writer.reader().execute(f"select count(*) from {view}").fetchall()
    return int(count)


@pytest.mark.parametrize("reason", ["deactivated", "takendown", "suspended"])
def test_a_hidden_account_keeps_its_rows_and_shows_none(writer: Writer, reason: str) -> None:
    """Until it is active again."""
    write(writer, put("ana", "track", at=1))

    write(writer, account("ana", reason, at=2))
    hidden = visible(writer)
    write(writer, account("ana", "active", at=3))

    assert (hidden, visible(writer)) == (0, 1)


@pytest.mark.parametrize("reason", ["inactive", "something new"])
def test_a_reason_that_we_do_not_know_hides(writer: Writer, reason: str) -> None:
    """The account is not active: that much is said."""
    write(writer, put("ana", "track", at=1), account("ana", reason, at=2))

    assert (status(writer), visible(writer)) == (reason, 0)


@pytest.mark.parametrize("reason", ["throttled", "desynchronized"])
def test_other_statuses_hide_nothing(writer: Writer, reason: str) -> None:
    """They speak of the server, not of the person."""
    write(writer, put("ana", "track", at=1), account("ana", reason, at=2))

    assert (status(writer), visible(writer)) == (reason, 1)


def test_only_newer_events_are_obeyed(writer: Writer) -> None:
    """A relay may repeat or reorder them."""
    write(writer, put("ana", "track", at=1), account("ana", "active", at=5))

    write(writer, account("ana", "suspended", at=4))

    assert status(writer) == "active"


def test_events_of_strangers_are_ignored(writer: Writer) -> None:
    """Only accounts that wrote a record of ours are known."""
    write(writer, account("ana", "suspended", at=1))

    assert contents(writer.reader())["accounts"] == []


def test_a_deleted_account_leaves_only_its_rows(writer: Writer) -> None:
    """Records of every type, their children, what was invalid: all gone, derived from the list of types."""
    write(
        writer,
        put("ana", "track", at=1, document=documents.full("track")),
        put("ana", "track", 1, at=1, title=""),
        delete("ana", "track", 2, at=1),
        put("ana", "profile", at=1),
        album("ana", [TRACK], at=1),
        like("ana", TRACK, at=1),
        comment("ana", TRACK, at=1),
        like("ben", TRACK, at=1),
    )

    remove(writer, "ana", at=2)

    rows = {table: len(found) for table, found in contents(writer.reader()).items() if found}
    assert rows == {"accounts": 2, "repos": 1, "likes": 1, "meta": 1, "track_counts": 1}
    assert status(writer) == "deleted"


def test_nothing_up_to_a_removal_comes_back(writer: Writer, tmp_path: Path) -> None:
    """Old commits change nothing, after a restart either; what is written later is kept, and hidden."""
    write(writer, put("ana", "track", at=1))
    remove(writer, "ana", at=5)
    writer.close()
    reopened = Writer.open(settings(tmp_path))

    write(reopened, put("ana", "track", at=1), put("ana", "track", 1, at=5))
    replayed = len(contents(reopened.reader())["tracks"])
    write(reopened, put("ana", "track", at=6))

    assert (replayed, visible(reopened)) == (0, 0)
    assert len(contents(reopened.reader())["tracks"]) == 1
    reopened.close()


@pytest.mark.parametrize("refusal", [None, "deactivated", "takendown"])
def test_a_relay_alone_removes_nothing(writer: Writer, refusal: str | None) -> None:
    """What it calls deleted is hidden; what its server says counts, and that is something else or nothing."""
    write(writer, put("ana", "track", at=1))

    writer.write(
        Batch(
            accounts=[account("ana", "deleted", at=2)],
            refusals={} if refusal is None else {did("ana"): refusal},
        )
    )

    assert (status(writer), visible(writer)) == ("deleted", 0)
    assert len(contents(writer.reader())["tracks"]) == 1


def test_a_server_alone_removes_nothing(writer: Writer) -> None:
    """It may have lost the account for a while; until it gives it again, it is hidden."""
    write(writer, put("ana", "track", at=1), account("ana", "deleted", at=2), account("ana", "active", at=3))

    writer.write(Batch(refusals={did("ana"): "deleted"}))

    assert (status(writer), visible(writer)) == ("active", 0)
    assert len(contents(writer.reader())["tracks"]) == 1


def test_an_identity_is_learned_and_then_settled(writer: Writer) -> None:
    """A new account wants resolving; facts end that; a hint asks for it again."""
    write(writer, put("ana", "track", at=1))
    fact = IdentityFact(did("ana"), "ana.example", "https://pds.example")

    before = writer.unresolved()
    writer.write(Batch(identities=[fact, IdentityFact(did("ben"), "ben.example", None)]))
    settled = writer.unresolved()
    hinted = writer.write(Batch(stale={did("ana"), did("ben")})).unresolved

    assert (before, settled, hinted) == ([did("ana")], [], (did("ana"),))
    assert writer.reader().execute("select did, handle, pds, stale from accounts").fetchall() == [
        (did("ana"), "ana.example", "https://pds.example", True)
    ]


def test_a_handle_that_could_not_be_checked_stays_in_doubt(writer: Writer) -> None:
    """The known handle is kept, the server is taken over, and the identity wants resolving still."""
    write(writer, put("ana", "track", at=1))
    writer.write(Batch(identities=[IdentityFact(did("ana"), "ana.example", "https://old.example")]))

    writer.write(Batch(identities=[IdentityFact(did("ana"), None, "https://new.example")]))

    assert writer.reader().execute("select handle, pds, stale from accounts").fetchall() == [
        ("ana.example", "https://new.example", True)
    ]


def test_an_identity_is_kept_with_when_it_was_asked_for(writer: Writer) -> None:
    fact = IdentityFact(did("ana"), Handle("ana.example"), "https://pds.example", "zKey")
    write(writer, put("ana", "track", at=1))
    before = datetime.now(UTC)

    writer.write(Batch(identities=[fact]))

    [(kept, at)] = writer.resolved_since(before)
    assert kept == fact
    assert before <= at <= datetime.now(UTC)
    assert writer.resolved_since(at) == []
