"""A file of frames is a source like any other; a cut tail costs only what was cut."""

from datetime import UTC, datetime, timedelta

import pytest

from indexer.events import Frame
from indexer.network.websockets import WebSocketClient
from indexer.stream.firehose import Firehose
from indexer.stream.recording import Recorded, Recorder, RecordingError, record_frames
from schemas.backoff import Backoff
from tests.indexer.stream.test_firehose import frames_of
from tests.network.relay import Close, Relay

RELAY = "wss://relay.example"
NOW = datetime(2025, 1, 1, 12, 0, 0, 123457, tzinfo=UTC)
FRAMES = [Frame(RELAY, raw, NOW + timedelta(microseconds=at)) for at, raw in enumerate([*frames_of(3), b""])]


def recording(path, frames):
    with Recorder(path, RELAY) as recorder:
        for frame in frames:
            recorder.write(frame)
    return path


async def frames_in(path):
    return [frame async for frame in Recorded(path).frames(None)]


async def test_frames_come_back_as_they_were(tmp_path):
    """Bytes, source and the microsecond of receipt."""
    path = recording(tmp_path / "a", FRAMES)

    assert Recorded(path).name == RELAY
    assert await frames_in(path) == FRAMES


async def test_a_recording_is_continued(tmp_path):
    """Opening it again appends."""
    path = recording(tmp_path / "a", FRAMES[:2])

    recording(path, FRAMES[2:])

    assert await frames_in(path) == FRAMES


async def test_a_cut_tail_costs_only_the_frame_that_was_cut(tmp_path):
    """At any byte of the last frame; reading ends cleanly, and writing goes on after the last whole frame."""
    whole = recording(tmp_path / "a", FRAMES[:2]).read_bytes()
    first = recording(tmp_path / "b", FRAMES[:1]).stat().st_size
    cut = tmp_path / "c"

    for length in (first, first + 1, first + 11, first + 12, first + 13, len(whole) - 1):
        cut.write_bytes(whole[:length])
        assert await frames_in(cut) == FRAMES[:1]
        assert await frames_in(recording(cut, FRAMES[1:])) == FRAMES


async def test_an_absurd_length_ends_the_recording(tmp_path):
    """Damage is not followed into four gigabytes of memory."""
    path = recording(tmp_path / "a", FRAMES[:1])
    path.write_bytes(path.read_bytes() + b"\xff" * 12 + b"more")

    assert await frames_in(path) == FRAMES[:1]


@pytest.mark.parametrize("content", [b"", b"fmsvc", b"something else entirely\n", b"\x82" * 100])
def test_another_file_is_refused_with_a_sentence(tmp_path, content):
    """It is neither read nor overwritten."""
    path = tmp_path / "a"
    path.write_bytes(content)

    with pytest.raises(RecordingError, match="is not a recording of frames"):
        Recorded(path)
    if content:
        with pytest.raises(RecordingError, match="is not a recording of frames"):
            Recorder(path, RELAY)
        assert path.read_bytes() == content


@pytest.mark.parametrize("line", [b"", b"wss://relay.exa", b"x" * 5000, b"\xff\n"])
def test_a_recording_must_name_its_source(tmp_path, line):
    """Without it the sequence numbers mean nothing."""
    path = tmp_path / "a"
    path.write_bytes(b"fmsvc frames 1\n" + line)

    with pytest.raises(RecordingError, match="does not say which source"):
        Recorded(path)


def test_sources_are_not_mixed(tmp_path):
    """One file, one sequence space."""
    path = recording(tmp_path / "a", FRAMES)

    with pytest.raises(RecordingError, match=r"is a recording of wss://relay.example, not of ws://other."):
        Recorder(path, "ws://other")


async def test_a_stream_is_recorded_across_reconnections(tmp_path):
    """So many frames and no more, none twice although the relay hung up in between."""
    sent = frames_of(5)
    async with Relay(sent, faults=[Close(1001, after=2)]) as relay:
        source = Firehose(relay.url, WebSocketClient(), backoff=Backoff(first_seconds=0.01))

        written = await record_frames(source, tmp_path / "a", frames=4)

    assert written == 4
    assert [frame.raw for frame in await frames_in(tmp_path / "a")] == sent[:4]


async def test_recording_ends_with_its_time(tmp_path):
    """A quiet stream does not keep it waiting."""
    async with Relay(frames_of(1)) as relay:
        written = await record_frames(Firehose(relay.url, WebSocketClient()), tmp_path / "a", seconds=0.3)

    assert written == 1
    assert len(await frames_in(tmp_path / "a")) == 1
