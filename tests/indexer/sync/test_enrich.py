"""A picture's true size is read from the start of its blob; what is no picture measures nothing."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from indexer.catalog.tables.images import Picture
from indexer.catalog.writing.batch import Batch, BatchResult
from indexer.catalog.writing.intake import Intake
from indexer.network.http.client import Outbound, OutboundError
from indexer.network.identity.dns import Dns
from indexer.network.identity.handles import Handles
from indexer.network.identity.resolver import Resolver
from indexer.sync import enrich
from indexer.sync.states import Repos
from schemas.ids import Did
from tests.network.doubles import ALICE, Pages, document, service


def picture(kind: str, width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_common_kinds_are_measured(kind: str) -> None:
    assert enrich.picture_size(picture(kind, 640, 480)) == (640, 480)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"<html>",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"GIF89a\x00\x00\x00\x00",
        b"<svg width='1e400' height='-3'></svg>",
        picture("PNG", 10, 10)[:20],
        picture("PNG", 10, 10)[:16] + b"\xff\xff\xff\xff\xff\xff\xff\xff" + b"\x08\x02\x00\x00\x00",
    ],
)
def test_what_is_no_picture_measures_nothing(head: bytes) -> None:
    assert enrich.picture_size(head) == (0, 0)


@settings(max_examples=300)
@given(
    st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF", b"<svg ", b"II*\0"]),
    st.binary(),
)
def test_hostile_bytes_measure_something_sane(magic: bytes, rest: bytes) -> None:
    width, height = enrich.picture_size(magic + rest)

    assert 0 <= width <= 65_535
    assert 0 <= height <= 65_535


async def measured(status: int, body: bytes) -> tuple[int, int]:
    """What is measured when the owner's server answers so."""
    async with Pages() as server, Outbound(Dns(), allow_loopback=True) as outbound:
        server.answers[f"/{ALICE}"] = (200, document(alsoKnownAs=[], service=service(server.url)))
        server.answers[f"/xrpc/com.atproto.sync.getBlob?did={ALICE}&cid=bafy"] = (status, body)
        resolver = Resolver(outbound, Handles(outbound, Dns()), plc_url=server.url, allow_loopback=True)
        return await enrich.measure_picture(resolver, outbound, Picture(Did(ALICE), "bafy"))


async def test_the_blob_is_read_at_its_owners_server() -> None:
    assert await measured(200, picture("PNG", 300, 200)) == (300, 200)


async def test_only_the_start_of_a_large_blob_is_read() -> None:
    assert await measured(200, picture("PNG", 300, 200) + bytes(5_000_000)) == (300, 200)


async def test_a_missing_blob_measures_nothing() -> None:
    assert await measured(400, b"{}") == (0, 0)


async def test_a_server_that_is_down_is_to_be_asked_again() -> None:
    with pytest.raises(OutboundError) as failed:
        await measured(503, b"")

    assert failed.value.transient


class FullIntake(Intake):
    """Has room only after the account's identity was resolved anew."""

    def __init__(self, resolver: Resolver) -> None:
        super().__init__(_write, batch_rows=1, batch_seconds=1.0, buffer_bytes=1)
        self._resolver: Resolver | None = resolver

    async def room(self) -> None:
        resolver, self._resolver = self._resolver, None
        if resolver is not None:
            resolver.forget(ALICE)
            await resolver.resolve(ALICE)


async def _write(_: Batch) -> BatchResult:
    raise AssertionError("nothing is written")


async def test_an_identity_that_is_resolved_anew_meanwhile_is_not_lost() -> None:
    """As a resync may, or an event; whether it queues the account again does not matter."""
    async with Pages() as server, Outbound(Dns(), allow_loopback=True) as outbound:
        server.answers[f"/{ALICE}"] = (200, document(alsoKnownAs=[]))
        resolver = Resolver(outbound, Handles(outbound, Dns()), plc_url=server.url, allow_loopback=True)
        intake, resolved = FullIntake(resolver), list[Did]()
        enrichment = enrich.Enrichment(resolver, outbound, intake, Repos(), resolved.append)

        await enrichment.identity(ALICE)

    assert [facts.did for facts in intake.batch.identities] == resolved == [ALICE]
