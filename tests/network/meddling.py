"""What happens to events on their way through a relay: nothing, or loss, repetition, disorder, damage."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from cbrrr import decode_multi_dag_cbor_in_violation_of_the_spec

from tests.network import forge

Kind = Literal["#commit", "#sync", "#account", "#identity"]
Concerns = Callable[["Message"], bool]


@dataclass(frozen=True, slots=True)
class Message:
    """One event of a server's stream. `spoiled`: how its bytes differ from what they should be."""

    host: str
    kind: str
    body: dict[str, Any]
    spoiled: Callable[[bytes], bytes] | None = None

    @property
    def did(self) -> str:
        return str(self.body.get("repo") or self.body.get("did"))

    def frame(self, seq: int) -> bytes:
        """Its bytes under this number."""
        raw = forge.frame(self.kind, self.body | {"seq": seq})
        return self.spoiled(raw) if self.spoiled else raw


def read(host: str, raw: bytes) -> Message | None:
    """A frame of a server's stream; None for notes and errors."""
    parts: list[dict[str, Any]] = list(decode_multi_dag_cbor_in_violation_of_the_spec(raw))  # type: ignore[arg-type]
    header, body = parts
    return Message(host, header["t"], body) if header.get("op") == 1 and "seq" in body else None


class Meddler(Protocol):
    """Is given every event, and says what comes of it; at the end, what it still holds."""

    def take(self, message: Message) -> Iterable[Message]: ...
    def end(self) -> Iterable[Message]: ...


def of(*dids: str, kinds: Iterable[Kind] = ()) -> Concerns:
    """Events of these accounts and kinds; of all when none is named."""
    wanted = frozenset(kinds)
    return lambda message: (not dids or message.did in dids) and (not wanted or message.kind in wanted)


@dataclass(slots=True)
class Drop:
    """They never arrive."""

    concerns: Concerns
    dropped: int = 0

    def take(self, message: Message) -> Iterable[Message]:
        if not self.concerns(message):
            return (message,)
        self.dropped += 1
        return ()

    def end(self) -> Iterable[Message]:
        return ()


@dataclass(slots=True)
class Repeat:
    """They arrive so many times, under a number of their own each time."""

    concerns: Concerns
    times: int = 2

    def take(self, message: Message) -> Iterable[Message]:
        return (message,) * (self.times if self.concerns(message) else 1)

    def end(self) -> Iterable[Message]:
        return ()


class Shuffle:
    """They wait for one another, so many, and arrive in some other order."""

    def __init__(self, concerns: Concerns, size: int, dice: random.Random) -> None:
        self._concerns = concerns
        self._size = size
        self._dice = dice
        self._held: list[Message] = []

    def take(self, message: Message) -> Iterable[Message]:
        if not self._concerns(message):
            return (message,)
        self._held.append(message)
        return self.end() if len(self._held) == self._size else ()

    def end(self) -> Iterable[Message]:
        held, self._held = self._held, []
        at = self._dice.randrange(1, len(held)) if len(held) > 1 else 0
        return held[at:] + held[:at]


class Spoil:
    """Their bytes arrive changed."""

    def __init__(self, concerns: Concerns, how: Callable[[bytes], bytes]) -> None:
        self._concerns = concerns
        self._how = how

    def take(self, message: Message) -> Iterable[Message]:
        return (replace(message, spoiled=self._how) if self._concerns(message) else message,)

    def end(self) -> Iterable[Message]:
        return ()


class Rewrite:
    """Fields of their bodies arrive changed: a server that lies, or a relay that does."""

    def __init__(self, concerns: Concerns, how: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._concerns = concerns
        self._how = how

    def take(self, message: Message) -> Iterable[Message]:
        return (replace(message, body=self._how(message.body)) if self._concerns(message) else message,)

    def end(self) -> Iterable[Message]:
        return ()


def deleted(body: dict[str, Any]) -> dict[str, Any]:
    """What is said of an account, made into the news that it is gone."""
    return body | {"active": False, "status": "deleted"}


def truncated(raw: bytes) -> bytes:
    """The frame without its end."""
    return raw[: len(raw) * 2 // 3]


def flipped(raw: bytes) -> bytes:
    """The frame with one bit turned inside its blocks, so that a block is not what its CID says."""
    at = raw.index(b"\x01\x71\x12\x20", raw.index(b"fblocks")) + 60
    return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


def noise(raw: bytes) -> bytes:
    """As many bytes that mean nothing."""
    return bytes(byte ^ 0x5A for byte in raw)
