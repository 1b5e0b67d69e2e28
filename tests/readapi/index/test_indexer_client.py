"""What the worker knows of the indexer, over a real Unix socket."""

from aiohttp import web

from readapi.index.indexer_client import IndexerStatus
from schemas import data_folder

REPORT = {
    "source": {"name": "wss://relay.example", "connected": False, "error": "refused", "retry_in": 3.0},
    "lag_seconds": 1.5,
    "cursor": 7,
}


async def answering(data_dir, report):
    """An indexer's control socket that says one thing."""

    async def health(_request):
        return web.json_response(report)

    app = web.Application()
    app.router.add_get("/health", health)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.UnixSite(runner, str(data_dir / data_folder.CONTROL_SOCKET)).start()
    return runner


async def test_nothing_is_known_of_an_indexer_that_never_answered(tmp_path):
    """No socket: unreachable, no lag, no header."""
    status = IndexerStatus(tmp_path)

    await status.refresh()

    assert not status.reachable
    assert status.lag_seconds is None
    assert status.lag_text() is None
    assert status.source is None


async def test_the_last_report_is_told(tmp_path):
    """Lag and source as the indexer says; members that are not ours do not matter."""
    runner = await answering(tmp_path, REPORT)
    status = IndexerStatus(tmp_path)

    await status.refresh()
    await runner.cleanup()

    assert status.reachable
    assert status.lag_text() == "1.500"
    assert status.source.error == "refused"


async def test_lag_grows_while_the_indexer_is_silent(tmp_path):
    """What was known stays, and gets older; the source is not vouched for any more."""
    runner = await answering(tmp_path, REPORT)
    status = IndexerStatus(tmp_path)
    await status.refresh()
    await runner.cleanup()

    await status.refresh()

    assert not status.reachable
    assert status.source is None
    assert status.lag_seconds > 1.5


async def test_a_report_that_makes_no_sense_counts_as_silence(tmp_path):
    """Wrong shape or no JSON: the worker goes on without."""
    runner = await answering(tmp_path, {"lag_seconds": "soon"})
    status = IndexerStatus(tmp_path)

    await status.refresh()
    await runner.cleanup()

    assert not status.reachable
