"""Records and accounts that are no longer public, by the log: a replay leaves their content out."""

from pathlib import Path

from readapi.live.event import Event
from readapi.live.log_reader import LogReader


class Withdrawn:
    """The last position at which each record or account ceased to be public. Calls block."""

    def __init__(self, folder: Path) -> None:
        self._reader = LogReader(folder, 0)
        self._records: dict[int, int] = {}
        self._accounts: dict[str, int] = {}

    def catch_up(self) -> None:
        """Read what was logged since the last call."""
        while changes := self._reader.read():
            for position, _, entry in changes:
                if entry.operation in ("delete", "hide"):
                    self._records[entry.key] = position
                elif entry.operation == "account" and not entry.fields[0]:
                    self._accounts[entry.did] = position

    def close(self) -> None:
        """Close the log."""
        self._reader.close()

    def covers(self, event: Event) -> bool:
        """Did the event's subject cease to be public after it? False for an event that `ends`."""
        if event.ends:
            return False
        keys = (event.change.entry.key, event.subject)
        return any(
            until > event.position
            for until in (
                *(self._records.get(key, 0) for key in keys if key is not None),
                self._accounts.get(event.did, 0),
                self._accounts.get(event.artist, 0),
            )
        )
