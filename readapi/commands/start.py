"""How every command starts, and how it ends when that fails."""

import gc
import os
import sys
from typing import NoReturn

from readapi import logs
from readapi.lifeline import follow_parent
from schemas.settings import Settings, SettingsError

FAILED = 1  # exit code when what was asked for could not be done this time
UNUSABLE = 2  # exit code when what was given on the command line or in the environment is wrong


def begin(program: str, supervised: bool = False) -> Settings:
    """The settings, and logs that name the program. `supervised`: it ends with whoever started it."""
    gc.freeze()  # what was imported stays
    gc.enable()
    try:
        settings = Settings.from_environment(os.environ)
    except SettingsError as error:
        stop(UNUSABLE, str(error))
    logs.configure(settings, program)
    if supervised:
        follow_parent()
    return settings


def stop(code: int, sentence: str) -> NoReturn:
    """End the program, and say why."""
    print(f"fmsvc-server: {sentence}", file=sys.stderr)
    sys.exit(code)
