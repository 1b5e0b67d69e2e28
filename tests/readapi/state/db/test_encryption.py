"""What is sealed opens with its key, in its row, and nowhere else."""

import base64
import secrets
import stat
import traceback
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from readapi.oauth.grant import Tokens
from readapi.state.db.encryption import KEY_FILE, Encryption, Undecryptable, open_vault, read_unsealed
from schemas.settings import Settings

OLD, NEW = b"o" * 32, b"n" * 32


def test_a_sealed_text_opens_in_its_own_row_only() -> None:
    """Moved to another row it is worthless."""
    vault = Encryption([OLD])

    sealed = vault.seal(b"token", "grants/1")

    assert vault.open(sealed, "grants/1") == b"token"
    assert b"token" not in sealed
    with pytest.raises(Undecryptable):
        vault.open(sealed, "grants/2")


def test_a_sealed_text_with_any_byte_changed_does_not_open() -> None:
    """Key name, nonce, text and tag alike; nor does a part of it."""
    vault = Encryption([OLD])
    sealed = vault.seal(b"token", "grants/1")

    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(Undecryptable):
            vault.open(bytes(changed), "grants/1")
        with pytest.raises(Undecryptable):
            vault.open(sealed[:place], "grants/1")


def test_the_first_key_seals_and_every_key_opens() -> None:
    """A new key is put before the old one, which is taken away once nothing needs it."""
    old, both, new = Encryption([OLD]), Encryption([NEW, OLD]), Encryption([NEW])

    before, after = old.seal(b"token", "grants/1"), both.seal(b"token", "grants/1")

    assert both.open(before, "grants/1") == b"token"
    assert new.open(after, "grants/1") == b"token"
    with pytest.raises(Undecryptable, match="FMSVC_SECRET_KEYS"):
        new.open(before, "grants/1")


def test_without_a_configured_key_one_is_made_that_only_we_may_read(tmp_path: Path) -> None:
    """The next start uses the same."""
    settings = Settings(data_dir=tmp_path / "data")

    sealed = open_vault(settings).seal(b"token", "grants/1")

    assert open_vault(settings).open(sealed, "grants/1") == b"token"
    assert stat.S_IMODE((tmp_path / "data" / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == [KEY_FILE]


def test_a_configured_key_follows_a_made_one_without_loss(tmp_path: Path) -> None:
    """What the data folder's key sealed still opens."""
    sealed = open_vault(Settings(data_dir=tmp_path)).seal(b"token", "grants/1")
    key = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()

    vault = open_vault(Settings(data_dir=tmp_path, secret_keys=(key,)))

    assert vault.open(sealed, "grants/1") == b"token"
    assert vault.seal(b"token", "grants/1")[:4] != sealed[:4]


def test_a_damaged_key_file_is_told(tmp_path: Path) -> None:
    """It is not silently made anew: everything sealed with it would be lost."""
    (tmp_path / KEY_FILE).write_text("nonsense")

    with pytest.raises(Undecryptable, match="does not hold a key"):
        open_vault(Settings(data_dir=tmp_path))


def test_what_another_version_sealed_is_not_shown() -> None:
    """Neither in the error nor in what is logged of it."""
    written = b'{"access_token":"a-secret-token","refresh_token":7}'

    with pytest.raises(Undecryptable) as refused:
        read_unsealed(TypeAdapter(Tokens), written)

    assert "a-secret" not in "".join(traceback.format_exception(refused.value))
