"""The stored heads of repos."""

from indexer.catalog.writing.writer import Writer
from indexer.sync.states import Repos
from tests.indexer.changes import put, settings, write


def test_the_did_of_an_account_is_in_memory_once(writer: Writer, tmp_path) -> None:
    """Half a million accounts have two tables in memory: the writer's, and the state of their repos."""
    write(writer, *(put(f"artist {number}", "track", at=1) for number in range(20)))
    writer.close()

    with Writer.open(settings(tmp_path)) as reopened:
        repos = Repos(reopened.repos())

        assert len(repos) == 20
        assert {id(did) for did in repos} == {id(did) for did in reopened.tracked}
