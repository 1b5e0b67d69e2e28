"""An interrupted delivery is repeated whole, or not at all."""

from readapi.live.filters import Filter
from readapi.live.subscriber import Wanted
from readapi.webhooks.inbox import MOST_WAITING, Inbox, Parcel

WANTED = Wanted(Filter(), chunked=False)


def event(position: int, change: bytes = b"{}") -> bytes:
    """A change as the feed sends it."""
    return b"id: %d\ndata: %b\n\n" % (position, change)


async def test_an_interrupted_delivery_is_not_repeated_in_part() -> None:
    """Its position would be stored as delivered, and the changes that had not arrived would be lost."""
    inbox = Inbox(WANTED, 100, sending_to=120)
    inbox.send(event(110), 110)
    inbox.end()

    assert await inbox.interrupted_parcel() is None


async def test_an_interrupted_delivery_is_repeated_however_large_it_is() -> None:
    large = b"x" * (MOST_WAITING + 1)
    inbox = Inbox(WANTED, 100, sending_to=120)
    inbox.send(event(110, large), 110)
    inbox.send(event(120), 120)
    inbox.send(event(130), 130)

    assert await inbox.interrupted_parcel() == Parcel(120, [large, b"{}"])
    assert await inbox.next_parcel() is None
