"""Where a token comes from and is kept: FMSVC_TOKEN, the keyring, or a file that only its owner reads.

Tokens are kept by the address of the service, so that none is sent to another.
"""

import json
import os
import stat
import tempfile
from pathlib import Path

from fmsvc.errors import FmsvcError

VARIABLE = "FMSVC_TOKEN"
_SERVICE = "fmsvc"


def find_token(api_url: str) -> str | None:
    """The token for a service: of the environment, else the kept one. Raises FmsvcError."""
    return os.environ.get(VARIABLE) or kept_token(api_url)


def kept_token(api_url: str) -> str | None:
    """The token that `keep_token` kept for a service. Raises FmsvcError."""
    return _of_keyring(api_url) or _read_file().get(api_url)


def keep_token(api_url: str, token: str) -> str:
    """Keep a token in the keyring, else in the file; returns where. Raises FmsvcError."""
    if _put_in_keyring(api_url, token):
        _forget_in_file(api_url)
        return "the keyring"
    _write_file(_read_file() | {api_url: token})
    return str(file_path())


def forget_token(api_url: str) -> None:
    """Forget the kept token of a service, if there is one. Raises FmsvcError."""
    if _of_keyring(api_url) is not None:
        _remove_from_keyring(api_url)
    _forget_in_file(api_url)


def file_path() -> Path:
    """The file of tokens, in the user's configuration folder."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA")
    return (Path(folder) if folder else Path.home() / ".config") / "fmsvc" / "tokens.json"


def _of_keyring(api_url: str) -> str | None:
    try:
        import keyring  # an extra, and slow to import
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        return keyring.get_password(_SERVICE, api_url)
    except KeyringError:  # none on this machine, or locked
        return None


def _put_in_keyring(api_url: str, token: str) -> bool:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return False
    try:
        keyring.set_password(_SERVICE, api_url, token)
    except KeyringError:
        return False
    return _of_keyring(api_url) == token  # a backend may keep nothing and say nothing


def _remove_from_keyring(api_url: str) -> None:
    import keyring
    from keyring.errors import KeyringError

    try:
        keyring.delete_password(_SERVICE, api_url)
    except KeyringError as error:
        raise FmsvcError("The keyring did not remove the token.") from error


def _read_file() -> dict[str, str]:
    path = file_path()
    try:
        with path.open(encoding="utf-8") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise FmsvcError(f"Other users may read {path}: run chmod 600 on it.")
            found = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise FmsvcError(f"{path} cannot be read.") from error
    if not isinstance(found, dict):
        raise FmsvcError(f"{path} cannot be read.")
    return {str(name): token for name, token in found.items() if isinstance(token, str)}


def _write_file(tokens: dict[str, str]) -> None:
    path = file_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent)  # of mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(tokens, file)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FmsvcError(f"{path} cannot be written.") from error


def _forget_in_file(api_url: str) -> None:
    tokens = _read_file()
    if tokens.pop(api_url, None) is not None:
        _write_file(tokens)
