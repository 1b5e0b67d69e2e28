"""The operator's labels: decided by command, logged for ever, followed by the indexer."""

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from readapi.state.label_decisions import NewLabel
from readapi.state.state import open_state
from readapi.state.takedown_decisions import NotDecided
from schemas.labels import open_labels
from tests.empty_states import EmptyStates
from tests.indexer.changes import did, uri

TRACK = str(uri("mara", "track", 1))


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `fmsvc-server label …`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FMSVC_")}
    return subprocess.run(
        [sys.executable, "-m", "readapi", "label", *arguments],
        env={**inherited, "FMSVC_DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_labels_are_given_negated_listed_and_logged(tmp_path: Path) -> None:
    why = ("--reason", "Notice of 3 May.", "--by", "eve")
    given = command(tmp_path, TRACK, "copyright", *why)
    again = command(tmp_path, TRACK, "copyright", *why)
    listed = command(tmp_path, "list")
    until_then = command(tmp_path, did("ben"), "spam", "--expires", "2020-01-01T00:00:00Z", *why)
    negated = command(tmp_path, TRACK, "copyright", "--negate", *why)
    log = [orjson.loads(line) for line in command(tmp_path, "log").stdout.splitlines()]

    assert given.stdout == f"{TRACK} has the label copyright (decision 1).\n"
    said = f"fmsvc-server: {TRACK} has the label copyright already.\n"
    assert (again.returncode, again.stderr) == (1, said)
    assert listed.stdout.startswith(f"{TRACK} copyright since ")
    assert until_then.returncode == negated.returncode == 0
    assert command(tmp_path, "list").stdout == ""
    assert [(one["number"], one["value"], one["negated"], one["decided_by"]) for one in log] == [
        (1, "copyright", False, "eve"),
        (2, "spam", False, "eve"),
        (3, "copyright", True, "eve"),
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("@mara.example", "porn"),
        (TRACK, "two words"),
        (TRACK, "x" * 129),
        (TRACK, "porn", "--expires", "tomorrow"),
    ],
)
@pytest.mark.slow
def test_what_is_no_label_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    refused = command(tmp_path, *arguments, "--reason", "Why.")
    assert refused.returncode == 2
    assert refused.stderr.startswith("fmsvc-server: The label is not understood: ")


async def test_decisions_are_never_changed(empty_states: EmptyStates, tmp_path: Path) -> None:
    settings = await empty_states.sqlite(tmp_path)
    async with open_state(settings) as state:
        new = NewLabel(TRACK, "porn", False, None, "Why.", "eve")
        await state.label_decisions.decide(new)
        with pytest.raises(NotDecided):
            await state.label_decisions.decide(new)
        for change in ("update label_decisions set value = 'x'", "delete from label_decisions"):
            with pytest.raises(DBAPIError, match="never changed"):
                async with state.database.writing() as connection:
                    await connection.execute(text(change))
        async with open_labels(settings, "did:web:here") as table:
            assert [label.value for label in await table.standing()] == ["porn"]
