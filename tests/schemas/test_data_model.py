"""JSON becomes the very record that was signed, or is refused."""

import base64
import contextlib
from typing import Any

import libipld
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.repo import car
from schemas import data_model
from schemas.data_model import DataModelError
from tests import interop

CID = "bafkreiccldh766hwcnuxnf2wh6jgzepf2nlu2lvcllt63eww5p6chi4ity"


def test_the_public_records_become_their_blocks() -> None:
    """Byte for byte, and so with the same CID."""
    for case in interop.cases("data-model/data-model-fixtures.json"):
        block = libipld.encode_dag_cbor(data_model.read_record(case["json"]))
        expected = case["cbor_base64"]

        assert block == base64.b64decode(expected + "=" * (-len(expected) % 4))
        assert libipld.encode_multibase("b", car.cid_of(block)) == case["cid"]


def test_valid_data_of_the_public_vectors_is_read() -> None:
    """Every one."""
    for case in interop.cases("data-model/data-model-valid.json"):
        assert data_model.read_record(case["json"]).keys() == case["json"].keys(), case["note"]


def test_invalid_data_of_the_public_vectors_is_refused() -> None:
    """Every one."""
    cases = interop.cases("data-model/data-model-invalid.json")

    assert [case["note"] for case in cases if reads(case["json"])] == []


def reads(document: object) -> bool:
    with contextlib.suppress(DataModelError):
        data_model.read_record(document)
        return True
    return False


def test_a_whole_number_with_a_point_is_an_integer() -> None:
    assert libipld.encode_dag_cbor(data_model.read_record({"a": 123.0})) == b"\xa1\x61a\x18\x7b"


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "not a map"),
        ({"$bytes": "AAEC"}, "not a map"),
        ({"a": {"$link": None}}, "a CID is not text"),
        ({"a": {"$link": ""}}, "a CID is malformed"),
        ({"a": {"$link": "bafy!"}}, "a CID is malformed"),
        ({"a": {"$link": CID[:-8]}}, "a CID is malformed"),
        ({"a": {"$bytes": "§"}}, "not base64"),
        ({"a": {"$bytes": "A"}}, "not base64"),
        ({"a": {"$bytes": None}}, "not base64"),
        ({"a": {"$link": CID, "$bytes": ""}}, "other fields"),
        ({"a": [{"b": 0.5}]}, "not an integer"),
        ({"a": float("inf")}, "not an integer"),
        ({"a": float("nan")}, "not an integer"),
        ({"a": {"$type": "blob", "ref": CID, "mimeType": "a/b", "size": 1}}, "a blob lacks"),
        ({"a": {"$type": "blob", "ref": {"$link": CID}, "mimeType": None, "size": 1}}, "a blob lacks"),
        ({"a": {"$type": "blob", "ref": {"$link": CID}, "mimeType": "a/b", "size": True}}, "a blob lacks"),
    ],
)
def test_what_no_record_can_hold_is_refused(document: object, why: str) -> None:
    with pytest.raises(DataModelError, match=why):
        data_model.read_record(document)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats()
    | st.text(max_size=5)
    | st.just(CID),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$link", "$bytes", "$type", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON)
def test_whatever_the_json_the_answer_is_a_record_or_a_reason(document: Any) -> None:
    with contextlib.suppress(DataModelError):
        assert isinstance(data_model.read_record(document), dict)
