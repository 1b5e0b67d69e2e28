"""The data folder: its permissions, whether a running service uses it, whether a restore is incomplete."""

import os
from pathlib import Path
from typing import Final

from schemas.control_socket import is_listening

OWNER_ONLY: Final = 0o077  # the umask: no permissions for group and others
RESTORING: Final = ".restoring"  # stands in the folder until a restore is done


def close_to_others(folder: Path) -> None:
    """Remove other users' permissions on the data folder, which an older version may have given."""
    try:
        status = folder.stat()
        if status.st_uid == os.geteuid() and status.st_mode & OWNER_ONLY:
            folder.chmod(status.st_mode & 0o7777 & ~OWNER_ONLY)
    except OSError:
        return  # the command itself says what it cannot do there


def is_used(folder: Path) -> bool:
    """Does a process of the service answer on a socket in the folder?"""
    return any(is_listening(path) for path in folder.glob("*.sock"))


def is_half_restored(folder: Path) -> bool:
    """Was a restore interrupted, or is it running?"""
    try:
        return (folder / RESTORING).exists()
    except OSError:
        return False
