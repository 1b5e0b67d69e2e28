"""The change log tells what everybody may see, and nothing else: each case as a short story."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import libipld

from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import IdentityFact
from schemas import change_log, data_folder
from schemas.change_log import Change
from schemas.ids import Handle
from schemas.labels import Label
from tests import documents
from tests.indexer.changes import (
    account,
    album,
    comment,
    delete,
    did,
    like,
    put,
    remove,
    uri,
    write,
)

TRACK = uri("ana", "track")
NAMES = {did(name): name for name in ("ana", "ben", "cleo")}


def logged(folder: Path) -> list[Change]:
    """All changes in the files of the log."""
    segments = change_log.list_segments(folder / data_folder.CHANGES)
    contents = [segment.path.read_bytes() for segment in segments]
    return [change for content in contents for change in change_log.read_changes(content, 0)]


def told(folder: Path, after: int = 0) -> list[str]:
    """Each change after so many, as `name operation type`."""
    lines = []
    for _, _, entry in logged(folder)[after:]:
        what = str(entry.fields[0]).rpartition(".")[2] if entry.operation != "identity" else ""
        lines.append(f"{NAMES[entry.did]} {entry.operation} {what}".strip())
    return lines


def hidden(visibility: str, *, at: int, **fields: Any) -> Any:
    """Ana's track with this visibility."""
    access = {"listening": "public", "downloads": "open", "visibility": visibility}
    return put("ana", "track", at=at, access=access, **fields)


def test_records_are_created_updated_and_deleted(writer: Writer, tmp_path: Path) -> None:
    write(writer, put("ana", "track", at=1, tags=["Drone"]), put("ana", "profile", at=1))
    write(writer, like("ben", TRACK, at=2), comment("ben", TRACK, at=2))
    write(writer, put("ana", "track", at=3, title="Other", tags=["ambient"]))
    write(writer, delete("ben", "like", at=4), delete("ana", "track", at=5))

    assert told(tmp_path) == [
        "ana create track",
        "ana create profile",
        "ben create like",
        "ben create comment",
        "ana update track",
        "ana delete track",  # and with it what others published about it
    ]
    changes = logged(tmp_path)
    positions = [change.position for change in changes]
    assert positions == sorted(set(positions))
    entries = [change.entry for change in changes]
    assert entries[0].fields[:3] == [TRACK.collection, TRACK.rkey, put("ana", "track", at=1).rev]
    assert libipld.decode_dag_cbor(entries[0].record)["tags"] == ["Drone"]
    assert sorted(entries[4].tags) == ["ambient", "drone"], "both before and after"
    assert {entry.artist for entry in entries} == {did("ana")}


def test_what_is_not_public_is_never_told(writer: Writer, tmp_path: Path) -> None:
    write(writer, hidden("unlisted", at=1, title="Secret"), like("ben", TRACK, at=2))
    write(writer, album("ben", [TRACK], at=3), hidden("private", at=4, title="Secret"))
    write(writer, comment("ben", uri("cleo", "track"), at=5))  # of a track that nobody published

    assert told(tmp_path) == ["ben create list"]
    assert not logged(tmp_path)[0].entry.record, "the list's record names the track"


def test_a_list_that_names_a_track_of_a_hidden_account_comes_without_its_record(
    writer: Writer, tmp_path: Path
) -> None:
    write(writer, put("ana", "track", at=1))
    writer.write(Batch(takedowns=frozenset({did("ana")})))
    write(writer, album("ben", [TRACK], at=2))
    assert told(tmp_path, 2) == ["ben create list"]
    assert not logged(tmp_path)[2].entry.record


def test_a_track_that_becomes_public_comes_with_what_was_said_of_it(writer: Writer, tmp_path: Path) -> None:
    write(writer, hidden("private", at=1), like("ben", TRACK, at=2), comment("cleo", TRACK, at=2))
    write(writer, hidden("public", at=3), like("cleo", TRACK, at=3))
    assert told(tmp_path) == ["ana show track", "cleo create like", "ben show like", "cleo show comment"]
    assert logged(tmp_path)[0].entry.record

    write(writer, hidden("unlisted", at=4), delete("ben", "like", at=4))
    assert told(tmp_path, 4) == ["ana hide track"]
    assert not logged(tmp_path)[4].entry.record


def test_likes_that_came_before_their_track_follow_it(writer: Writer, tmp_path: Path) -> None:
    write(writer, like("ben", TRACK, at=1))
    write(writer, put("ana", "track", at=2))
    assert told(tmp_path) == ["ana create track", "ben show like"]


def test_accounts_are_hidden_and_shown_with_all_that_is_theirs(writer: Writer, tmp_path: Path) -> None:
    write(writer, put("ana", "track", at=1), put("ana", "profile", at=1), like("ben", TRACK, at=1))
    write(writer, like("ana", TRACK, at=1), put("ben", "track", at=1, tags=["drone"]))
    write(writer, account("ana", "deactivated", at=2))
    write(writer, like("ben", TRACK, 1, at=3), put("ana", "track", at=3, title="While away"))
    assert told(tmp_path, 5) == ["ana account False"]
    assert logged(tmp_path)[5].entry.fields == [False, "deactivated"]

    write(writer, account("ana", "active", at=4))
    assert told(tmp_path, 6)[0] == "ana account True"
    assert sorted(told(tmp_path, 7)) == [
        "ana show like",
        "ana show profile",
        "ana show track",
        "ben show like",
        "ben show like",
    ]


def test_takedowns_and_restorations_are_told(writer: Writer, tmp_path: Path) -> None:
    write(writer, put("ana", "track", at=1), like("ben", TRACK, at=1))
    writer.write(Batch(takedowns=frozenset({str(TRACK), did("ben")})))
    assert sorted(told(tmp_path, 2)) == ["ana hide track", "ben account False"]

    writer.write(Batch(takedowns=frozenset()))
    assert sorted(told(tmp_path, 4)) == ["ana show track", "ben account True", "ben show like"]


def test_nothing_is_told_of_a_record_that_is_only_read_again(writer: Writer, tmp_path: Path) -> None:
    write(writer, put("ana", "track", at=1))
    write(writer, put("ana", "track", at=2))
    assert told(tmp_path) == ["ana create track"]


def test_records_that_are_refused_are_not_published(writer: Writer, tmp_path: Path) -> None:
    write(writer, put("ana", "track", at=1, title=7))
    write(writer, put("ana", "track", at=2), like("ben", TRACK, at=2))
    write(writer, put("ana", "track", at=3, document={"$type": documents.collection("track")}))
    assert told(tmp_path) == ["ana create track", "ben create like", "ana hide track"]


def test_new_handles_are_told(writer: Writer, tmp_path: Path) -> None:
    write(writer, put("ana", "track", at=1))
    writer.write(
        Batch(identities=[IdentityFact(did("ana"), Handle("ana.example"), "https://pds.example", "z")])
    )
    assert told(tmp_path, 1) == ["ana identity"]
    assert logged(tmp_path)[1].entry.fields == ["ana.example"]


def test_a_like_of_a_removed_track_is_not_told(writer: Writer, tmp_path: Path) -> None:
    write(writer, put("ana", "track", at=1))
    remove(writer, "ana", at=2)
    writer.write(Batch(accounts=[account("ana", "active", at=3)], refusals={did("ana"): None}))
    write(writer, like("ben", TRACK, at=4))
    assert told(tmp_path) == ["ana create track", "ana account False", "ana account True"]


def test_what_labels_hide_or_say_is_for_adults_is_not_told(writer: Writer, tmp_path: Path) -> None:
    """Of a track, of its account, by itself; a withdrawn label shows it again, with its likes."""

    def label(subject: object, value: str, second: int, *, negated: bool = False) -> None:
        at = datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)
        given = Label("did:plc:labeler", str(subject), None, value, at, negated=negated)
        writer.write(Batch(labels=[given]))

    write(writer, put("ana", "track", at=1), like("ben", TRACK, at=2))
    before = len(told(tmp_path))
    for second, value in enumerate(("porn", "!hide")):
        label(TRACK, value, 2 * second)
        label(TRACK, value, 2 * second + 1, negated=True)
    of_track = told(tmp_path, before)
    label(did("ana"), "porn", 10)
    label(did("ana"), "porn", 11, negated=True)
    of_account = told(tmp_path, before + len(of_track))
    own = {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "nudity"}]}
    write(writer, put("ana", "track", at=20, labels=own))
    write(writer, put("ana", "track", at=21))
    of_itself = told(tmp_path, before + len(of_track) + len(of_account))

    hidden_and_shown = ["ana hide track", "ana show track", "ben show like"]
    assert of_track == 2 * hidden_and_shown
    assert of_account == hidden_and_shown
    assert of_itself == hidden_and_shown
