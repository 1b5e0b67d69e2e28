"""The state opens, or says in a sentence why not."""

from pathlib import Path

import pytest

from readapi.state.state import StateError, open_state
from schemas import data_folder
from schemas.settings import Settings

NOWHERE = "postgresql://fmsvc:hunter2@127.0.0.1:9/state"  # the discard port: nothing listens there


async def refusal(settings: Settings) -> str:
    with pytest.raises(StateError) as refused:
        async with open_state(settings):
            pass
    return str(refused.value)


async def test_a_database_that_cannot_be_reached_is_told(tmp_path: Path) -> None:
    """Without the password."""
    said = await refusal(Settings(data_dir=tmp_path, state_url=NOWHERE))

    assert said.startswith("The state database cannot be opened: ")
    assert "hunter2" not in said


async def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    """It is left as it is."""
    file = tmp_path / data_folder.STATE_DATABASE
    file.parent.mkdir()
    file.write_text("something else " * 100)

    assert "file is not a database" in await refusal(Settings(data_dir=tmp_path))
    assert file.read_text().startswith("something else")


async def test_a_damaged_key_is_told(tmp_path: Path) -> None:
    """Everything sealed with it would be lost if one were made anew."""
    (tmp_path / "secret.key").write_text("nonsense")

    assert "does not hold a key" in await refusal(Settings(data_dir=tmp_path))
