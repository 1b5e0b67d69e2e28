"""`python -m tests.bench [--write] [--only SECTION …]`: one JSON line for each figure.

`BENCH_TRACKS` and `BENCH_LIKES` choose the size of the catalogue. `--write` renews `RESULTS.md`; figures of a
size that is not the usual one are in a section of their own.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from tests.bench import machine, results
from tests.bench.corpus import Size
from tests.bench.load import ProgramMissing
from tests.bench.machine import ProgramFailed
from tests.bench.rows import Row
from tests.bench.run import SECTIONS, Bench
from tests.network.testnet import NetworkMissing

USUAL: Final = Size(tracks=100_000, likes=1_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="renew RESULTS.md, its plot and results.json")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="measure only these")
    chosen = parser.parse_args()
    tracks, likes = os.environ.get("BENCH_TRACKS", USUAL.tracks), os.environ.get("BENCH_LIKES", USUAL.likes)
    size = Size(int(tracks), int(likes))
    bench = Bench(size)
    rows = []
    try:
        for row in bench.rows(tuple(chosen.only)):
            print(row.line(), flush=True)
            rows.append(row)
    except (NetworkMissing, ProgramFailed, ProgramMissing) as error:
        sys.exit(f"bench: {error}")
    finally:
        if chosen.write and rows:
            _keep(bench, rows, chosen.only)


def _keep(bench: Bench, rows: list[Row], sections: Sequence[str]) -> None:
    """Figures of sections that were not measured this time stay. Those of another size are kept apart."""
    told = machine.described(bench.build) | {"measured": datetime.now(UTC).isoformat(timespec="minutes")}
    measured = {"machine": told, "size": bench.size.as_json()}
    known = results.kept() if bench.size == USUAL else results.kept().get(results.OTHER_SIZE, {})
    is_whole = set(sections) == set(SECTIONS) or known.get("size") != measured["size"]
    before = {} if is_whole else {row["name"]: row for row in known.get("rows", ())}
    measured["rows"] = list((before | {row.name: row.as_json() for row in rows}).values())
    if bench.size != USUAL:
        results.keep(**{results.OTHER_SIZE: measured})
    else:
        results.keep(**measured, **({"curves": bench.curves} if bench.curves else {}))


if __name__ == "__main__":
    main()
