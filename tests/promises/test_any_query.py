"""Any path and any query string gets an answer in the one error shape: never a failure.

`FMSVC_TEST_QUERIES` asks for more of them.
"""

import http.client
import os
from urllib.parse import quote

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readapi.processes.app import all_endpoints
from schemas.errors import ErrorBody
from tests.readapi.threaded import threaded

EXAMPLES = int(os.environ.get("FMSVC_TEST_QUERIES", "200"))

PATHS = sorted({endpoint.documented_path for endpoint in all_endpoints() if not endpoint.endless})
NAMES = sorted(
    {parameter.name for endpoint in all_endpoints() for parameter in endpoint.signature.parameters}
)
BYTES = st.binary(max_size=60).map(lambda raw: quote(raw, safe=""))
# What a request line may hold unquoted: visible characters but no fragment.
RAW = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="#"), max_size=60)
VALUES = st.one_of(
    BYTES, RAW, st.integers().map(str), st.sampled_from(["", "at://", "did:plc:x", "%", "%zz"])
)
# A format that does not exist; a server that cannot be asked; exports before the first one.
OF_THE_NETWORK = "/1/user/{user}/listens"  # asks the account's server
REFUSALS = (("/oembed", 501), ("/auth/start", 503), ("/exports/", 503), (OF_THE_NETWORK, 503))
PAIRS = st.builds("{}={}".format, st.one_of(st.sampled_from(NAMES), RAW), VALUES)
QUERIES = st.lists(PAIRS, max_size=5).map("&".join)


@pytest.fixture(scope="module")
def threaded_music(tmp_path_factory):
    with threaded(tmp_path_factory.mktemp("music")) as served:
        yield served


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PATHS), name=VALUES, query=QUERIES)
def test_any_address_gets_an_answer(threaded_music, path, name, query):
    """Whatever stands for a name in the path and whatever follows the question mark."""
    filled = "/".join(name if part.startswith("{") else part for part in path.split("/"))
    connection = http.client.HTTPConnection(threaded_music.address.removeprefix("http://"), timeout=20)

    connection.putrequest("GET", f"{filled}?{query}", skip_accept_encoding=True)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()

    assert answer.status < 500 or (path, answer.status) in REFUSALS, body
    if answer.status >= 400 and filled.startswith("/rest/"):
        assert b'status="failed"' in body  # as OpenSubsonic's clients read it
    elif answer.status >= 400 and filled.startswith("/xrpc/"):
        assert orjson.loads(body).keys() == {"error", "message"}
    elif answer.status >= 400:
        assert ErrorBody.model_validate(orjson.loads(body))
