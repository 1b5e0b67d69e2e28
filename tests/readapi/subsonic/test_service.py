"""An API key in an address is written down nowhere: not in the log, not in the metrics, not in an answer."""

import asyncio
import contextlib
import io
from pathlib import Path

import orjson
import pytest

from tests.readapi.audio.listening import Listening, listening

MALFORMED = (
    b"GET /rest/ping?apiKey=%b HTTP/9.x\r\nHost: x\r\n\r\n",
    b"GET /rest/ping?apiKey=%b HTTP/1.1\r\nHost x\r\n\r\n",
    b"GET /rest/ping?apiKey=%b&%b HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /rest/ping?apiKey=%b\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
)


async def sent_raw(stage: Listening, request: bytes) -> bytes:
    """What bytes that are hardly a request are answered."""
    host, port = stage.music.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    async with asyncio.timeout(10):
        answer = await reader.read(65536)
    writer.close()
    return answer


async def test_no_log_and_no_metric_has_a_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whether the request succeeds, is refused, or is hardly one; the log has the path alone."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said), caplog.at_level("DEBUG"):
        async with listening(tmp_path, log_level="debug", log_format="json") as stage:
            key = await stage.developer_token("ben")
            for path in ("ping", "getSong?id=nothing", "stream?id=tr-1", "no_method", "ping/beyond"):
                glue = "&" if "?" in path else "?"
                reply = await stage.music.get(f"/rest/{path}{glue}apiKey={key}")
                assert key not in reply.json
                assert key not in str(reply.headers)
            await stage.music.send("PUT", f"/rest/ping?apiKey={key}")
            for request in MALFORMED:
                count = request.count(b"%b")
                filler = (key.encode(), b"x" * 9000)[:count]
                assert key.encode() not in await sent_raw(stage, request % filler)
            metrics = (await stage.music.get("/metrics")).json
    lines = [orjson.loads(line) for line in said.getvalue().splitlines() if line.startswith("{")]

    paths = {line["path"] for line in lines if line["event"] == "request"}
    assert {"/rest/ping", "/rest/getSong", "/rest/stream", "/rest/no_method"} <= paths
    for text in (said.getvalue(), caplog.text, metrics):
        assert key not in text
        assert key[6:] not in text
