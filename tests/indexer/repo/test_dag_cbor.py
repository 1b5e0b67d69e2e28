"""A block is decoded when it is written as it must be, and refused when it is written otherwise."""

import base64
import contextlib
import os
import random
from typing import Any

import cbrrr
import libipld
import pytest

from indexer.repo import car, dag_cbor
from indexer.repo.dag_cbor import CborError
from tests import interop

CASES = int(os.environ.get("CBOR_CASES", "5000"))
LINK = bytes.fromhex("01711220") + bytes(32)


def hexadecimal(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


@pytest.mark.parametrize(
    "written",
    [
        "18 01",  # 1, in two bytes
        "1b 0000000000000001",
        "38 01",  # -2
        "78 01 61",  # "a"
        "58 01 61",
        "98 01 01",  # [1]
        "b8 01 6161 01",  # {"a": 1}
        "a1 6161 19 00ff",
        "82 01 18 17",
        "d9 002a 5825 00 01711220" + "00" * 32,  # a link
        "d82a 590025 00 01711220" + "00" * 32,
        "fa 3f800000",  # a float of 32 bits
        "f9 3c00",
        "fb 7ff8000000000000",  # not a number
        "fb 7ff0000000000000",
        "9f 01 ff",  # without a length
        "7f 6161 ff",
        "a2 6162 01 6161 02",  # keys out of order
        "a2 626161 01 6162 02",
        "a2 6161 01 6161 02",
        "a1 01 02",
        "c1 01",
        "f7",
        "f8 14",
        "61 ff",
        "01 01",
        "",
        "fb 8000000000000000",  # -0.0
        "d82a 43 00 1220",  # links cut short
        "d82a 5824 00 01711220" + "00" * 31,
        "d82a 5824 01711220" + "00" * 32,
    ],
)
def test_what_can_be_written_otherwise_is_refused(written: str) -> None:
    with pytest.raises(CborError, match=r"is not (canonical )?DAG-CBOR"):
        dag_cbor.decode_block(hexadecimal(written))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("17", 23),
        ("18 18", 24),
        ("19 0100", 256),
        ("1a 00010000", 65536),
        ("1b 0000000100000000", 1 << 32),
        ("1b ffffffffffffffff", (1 << 64) - 1),
        ("fb 3ff8000000000000", 1.5),
        ("d82a 5825 00 01711220" + "00" * 32, LINK),
        ("5824 01711220" + "00" * 32, LINK),  # bytes that look like a link
        ("44 01710000", b"\x01\x71\x00\x00"),
        ("82 5824 01711220" + "00" * 32 + "fb 3ff8000000000000", [LINK, 1.5]),
        ("a3 6161 f6 6162 f5 626161 80", {"a": None, "b": True, "aa": []}),
    ],
)
def test_the_one_form_of_each_value_is_read(written: str, value: object) -> None:
    assert dag_cbor.decode_block(hexadecimal(written)) == value


@pytest.mark.parametrize(
    ("whole", "longer"),
    [
        ("5825 00 01711220" + "00" * 32, "5826 00 01711220" + "00" * 33),
        ("5825 00 01551220" + "00" * 32, "5826 00 01551220" + "00" * 33),
        ("5823 00 1220" + "00" * 32, "5824 00 1220" + "00" * 33),  # version 0
        ("46 00 0171000100", "47 00 017100010000"),  # a hash of one byte
    ],
)
def test_a_link_ends_with_its_cid(whole: str, longer: str) -> None:
    """Servers refuse bytes behind it. Of other CIDs than ours they take any, as the data model does."""
    dag_cbor.decode_block(hexadecimal(f"82 01 d82a {whole}"))

    with pytest.raises(CborError):
        dag_cbor.decode_block(hexadecimal(f"82 01 d82a {longer}"))


def test_a_text_that_looks_like_a_long_link_is_a_text() -> None:
    """Heads are looked at, not what lies between them."""
    looks = hexadecimal("d82a 5826 00 01711220" + "00" * 33)

    assert dag_cbor.decode_block(cbrrr.encode_dag_cbor({"bytes": looks})) == {"bytes": looks}


def test_what_is_nested_too_deep_is_said_to_be() -> None:
    """Beyond what Python goes down; a CID and a proof of it are good all the same."""
    with pytest.raises(CborError, match="nested too deep"):
        dag_cbor.decode_block(b"\x81" * 5000 + b"\x01")


def test_lengthened_bytes_beside_others_that_look_like_a_link_are_noticed() -> None:
    """Where writing again cannot tell, every head is looked at."""
    with pytest.raises(CborError, match="canonical"):
        dag_cbor.decode_block(hexadecimal("82 5824 01711220" + "00" * 32 + "18 01"))


def test_the_public_blocks_are_read() -> None:
    """And have the CIDs that the vectors say."""
    for case in interop.cases("data-model/data-model-fixtures.json"):
        text = case["cbor_base64"]
        block = base64.b64decode(text + "=" * (-len(text) % 4))

        assert dag_cbor.decode_block(block) == plain(case["json"])
        assert libipld.encode_multibase("b", car.cid_of(block)) == case["cid"]


def plain(value: Any) -> Any:
    """atproto's JSON as what its DAG-CBOR decodes to."""
    match value:
        case {"$link": str(text)}:
            return bytes(cbrrr.CID.decode(text))
        case {"$bytes": str(text)}:
            return base64.b64decode(text + "=" * (-len(text) % 4))
        case dict():
            return {name: plain(inner) for name, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
    return value


def test_two_decoders_agree_on_damaged_blocks() -> None:
    """Bits flipped and heads lengthened: another strict implementation takes exactly the same."""
    chance = random.Random(5)
    taken = 0
    for _ in range(CASES):
        block = damaged(chance, cbrrr.encode_dag_cbor(some_value(chance, 3)))
        is_taken = False
        with contextlib.suppress(CborError):
            dag_cbor.decode_block(block)
            is_taken = True
        taken += is_taken

        assert is_taken == is_taken_elsewhere(block), block.hex()
    assert CASES / 10 < taken < CASES * 0.9


def is_taken_elsewhere(block: bytes) -> bool:
    try:
        value = cbrrr.decode_dag_cbor(block)
    except (cbrrr.CbrrrDecodeError, ValueError):
        return False
    return not has_oddities(value)


def has_oddities(value: object) -> bool:
    """The one thing that the other decoder takes and ours does not: -0.0."""
    match value:
        case dict():
            return any(map(has_oddities, value.values()))
        case list():
            return any(map(has_oddities, value))
        case float():
            return value == 0 and str(value) == "-0.0"
    return False


def some_value(chance: random.Random, depth: int) -> Any:
    kinds = ["int", "text", "bytes", "bool", "float"] + (["list", "map"] * 2 if depth else [])
    match chance.choice(kinds):
        case "int":
            return chance.choice([-1, 1]) * chance.getrandbits(chance.choice([3, 5, 8, 16, 32, 60]))
        case "text":
            return "é" * chance.choice([0, 1, 3, 12, 130])
        case "bytes":
            return chance.choice([LINK, LINK[:35], chance.randbytes(chance.choice([0, 3, 23, 24, 300]))])
        case "bool":
            return chance.choice([True, False, None])
        case "float":
            return chance.uniform(-5, 5)
        case "list":
            return [some_value(chance, depth - 1) for _ in range(chance.choice([0, 1, 2, 5, 25]))]
        case _:
            names = [f"{number:x}" * chance.choice([1, 2]) for number in range(chance.choice([1, 3, 26]))]
            return {name: some_value(chance, depth - 1) for name in names}


def damaged(chance: random.Random, block: bytes) -> bytes:
    """As it was, or with a bit flipped, or with a byte's length head put before another byte."""
    at = chance.randrange(len(block))
    match chance.randrange(3):
        case 0:
            return block
        case 1:
            return block[:at] + bytes([block[at] ^ 1 << chance.randrange(8)]) + block[at + 1 :]
        case _:
            return block[:at] + bytes([block[at] & 0xE0 | 24, block[at] & 31]) + block[at + 1 :]
