"""Start-up of every command (settings, logging), and its exit codes."""

import gc
import os
import sys
from typing import Annotated, NoReturn

import cyclopts

from readapi import data_folder, logs
from readapi.parent_watch import follow_parent
from schemas.settings import Settings, SettingsError

FAILED = 1  # exit code when the command failed
UNUSABLE = 2  # exit code when the command line or the environment is invalid

Supervised = Annotated[bool, cyclopts.Parameter(show=False)]  # set by `serve` alone, for its parts


def begin(program: str, supervised: bool = False, *, restores: bool = False) -> Settings:
    """Read the settings and set up logging. `supervised`: the process ends with its parent.

    `restores`: the command may run in a data folder whose restore was interrupted; others may not.
    """
    gc.freeze()  # imported modules stay
    gc.enable()
    os.umask(data_folder.OWNER_ONLY)
    try:
        settings = Settings.from_environment(os.environ)
    except SettingsError as error:
        stop(UNUSABLE, str(error))
    logs.configure_logs(settings, program)
    data_folder.close_to_others(settings.data_dir)
    if not restores and data_folder.is_half_restored(settings.data_dir):
        stop(FAILED, f"{settings.data_dir} was not restored to the end; run fmsvc-server restore again.")
    if supervised:
        follow_parent()
    return settings


def publish_url(settings: Settings) -> str:
    """Where indexers publish; exits when FMSVC_PUBLISH_URL is not set."""
    if settings.publish_url is None:
        stop(UNUSABLE, "FMSVC_PUBLISH_URL is not set, so there is nothing to follow.")
    return settings.publish_url


def stop(code: int, sentence: str) -> NoReturn:
    """Exit with a code, and print the reason."""
    print(f"fmsvc-server: {sentence}", file=sys.stderr)
    sys.exit(code)
