"""schemathesis over the running service: no failure, no status and no shape that is not described.

`FMSVC_TEST_SCHEMATHESIS` is how many requests of each kind every operation gets.
"""

import pytest
import requests
from schemathesis.generation import GenerationMode

from tests.promises.fuzzing import ask, can_be_wrong, operations
from tests.readapi.threaded import threaded

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def threaded_music(tmp_path_factory):
    with threaded(tmp_path_factory.mktemp("music")) as served:
        yield served


@pytest.mark.parametrize("mode", GenerationMode)
def test_every_answer_is_one_that_is_described(threaded_music, mode):
    """Requests as described, and requests that are wrong."""
    asked = [
        operation
        for operation in operations(threaded_music.address)
        if mode is GenerationMode.POSITIVE or (operation.method == "get" and can_be_wrong(operation))
    ]
    with requests.Session() as session:
        for operation in asked:
            ask(operation, mode, session)

    assert len(asked) > 10
