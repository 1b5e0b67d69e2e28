"""Log lines: key-value on a terminal, JSON elsewhere; both programs of the service write the same way."""

import logging
import sys

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from schemas.settings import Settings

LONGEST_VALUE = 500


def configure_logs(settings: Settings, program: str) -> None:
    """Send every log line to standard error, stamped with the program's name and a UTC time."""
    terminal = is_console(settings)
    renderer: Processor = (
        structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(sort_keys=False)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _bounded,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(settings.log_level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(program=program)
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )


def is_console(settings: Settings) -> bool:
    """True when log lines are for people: by setting, or because standard error is a terminal."""
    return settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())


def _bounded(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Cut long values: untrusted input must not fill the disk."""
    for name, value in event.items():
        if isinstance(value, str) and len(value) > LONGEST_VALUE and name != "exception":
            event[name] = value[:LONGEST_VALUE] + "…"
    return event
