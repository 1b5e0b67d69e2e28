"""Whoever waits for work is told how it ended, and does not wait for ever."""

import dataclasses
from pathlib import Path

import pytest

from readapi.errors import ApiError, Conflict, PdsUnavailable, UnsupportedMediaType
from readapi.publishing.watching import STILL_AT_IT, completed
from readapi.state.state import open_state
from schemas.settings import Settings
from tests.readapi.state.publishing import upload


async def test_nobody_waits_for_ever(tmp_path: Path) -> None:
    """The work goes on, and they are told so."""
    async with open_state(Settings(data_dir=tmp_path)) as state:
        with pytest.raises(Conflict) as refused:
            await completed(state, await upload(state), patience_seconds=0.01)

    assert refused.value.message == STILL_AT_IT


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("pds_unavailable", PdsUnavailable),
        ("unsupported_media_type", UnsupportedMediaType),
        ("conflict", Conflict),
    ],
)
async def test_what_has_failed_is_refused_by_its_own_code(
    tmp_path: Path, code: str, kind: type[ApiError]
) -> None:
    """With its own sentence."""
    async with open_state(Settings(data_dir=tmp_path)) as state:
        failed = dataclasses.replace(await upload(state), status="failed", error=code, message="It failed.")
        with pytest.raises(kind) as refused:
            await completed(state, failed)

    assert (refused.value.code, refused.value.message) == (code, "It failed.")
