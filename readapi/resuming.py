"""Headers by which a client takes something up again that it has begun before."""


class LastEventId(str):
    """The last event of a stream that the client has seen. Empty: it has seen none."""

    __slots__ = ()

    @property
    def version(self) -> int:
        """As a number, which ours are."""
        return int(self) if self.isascii() and self.isdecimal() and len(self) < 10 else 0


class IdempotencyKey(str):
    """What the client calls its request, so that it can send it again. Empty: nothing."""

    __slots__ = ()
