"""How every command starts, and how it ends when that fails."""

import gc
import os
import sys
from pathlib import Path
from typing import NoReturn

from readapi import logs
from readapi.lifeline import follow_parent
from schemas.settings import Settings, SettingsError

FAILED = 1  # exit code when what was asked for could not be done this time
OWNER_ONLY = 0o077  # what new files and folders may not let the group and others do
UNUSABLE = 2  # exit code when what was given on the command line or in the environment is wrong


def begin(program: str, supervised: bool = False) -> Settings:
    """The settings, and logs that name the program. `supervised`: it ends with whoever started it."""
    gc.freeze()  # what was imported stays
    gc.enable()
    os.umask(OWNER_ONLY)
    try:
        settings = Settings.from_environment(os.environ)
    except SettingsError as error:
        stop(UNUSABLE, str(error))
    logs.configure(settings, program)
    _close_to_others(settings.data_dir)
    if supervised:
        follow_parent()
    return settings


def _close_to_others(folder: Path) -> None:
    """Shut a data folder that an older version, or a person, made readable for others."""
    try:
        status = folder.stat()
        if status.st_uid == os.geteuid() and status.st_mode & OWNER_ONLY:
            folder.chmod(status.st_mode & 0o7777 & ~OWNER_ONLY)
    except OSError:
        return  # the command itself says what it cannot do there


def stop(code: int, sentence: str) -> NoReturn:
    """End the program, and say why."""
    print(f"fmsvc-server: {sentence}", file=sys.stderr)
    sys.exit(code)
