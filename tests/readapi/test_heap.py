"""What is free belongs to the system."""

import os
import platform

import pytest

from readapi import heap
from tests.bench.machine import Memory


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc holds what is free")
def test_what_lies_free_between_what_is_used_is_given_back() -> None:
    """As in a cache of answers that was emptied while others had been kept."""
    answers: list[bytes | None] = [bytes(1000) for _ in range(100_000)]
    for number in range(len(answers)):
        if number % 1000 != 999:
            answers[number] = None
    before = Memory.of(os.getpid()).private

    heap.give_back()

    assert before - Memory.of(os.getpid()).private > 50
