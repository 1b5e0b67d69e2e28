"""The process that writes the Iceberg tables once. A line of JSON tells it where they are.

It ends with a traceback when it fails, whose last line is the reason.
"""

import os
import resource
import sys
from typing import Final

import orjson

from schemas import heap

MEMORY_BYTES: Final = 1 << 30  # of its data; docs/exports.md has what was measured
NICENESS: Final = 10


def main() -> None:
    """Follow the exports with little memory, one thread and what the service leaves of the processor."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    os.nice(NICENESS)
    os.environ |= {
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "PYICEBERG_MAX_WORKERS": "1",
        "OMP_NUM_THREADS": "1",
    }
    heap.bound_arenas()
    # The libraries read the variables above when they are imported.
    from indexer.catalog.published.iceberg.follow import follow_exports
    from indexer.catalog.published.iceberg.warehouse import Place

    follow_exports(Place(**orjson.loads(sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()
