"""`python -m tests.bench [--write] [--only SECTION …]`: one JSON line for each figure.

`BENCH_TRACKS` and `BENCH_LIKES` choose the size of the catalogue. `--write` renews `RESULTS.md`.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from tests.bench import machine, results
from tests.bench.corpus import Size
from tests.bench.load import ProgramMissing
from tests.bench.machine import ProgramFailed
from tests.bench.rows import Row
from tests.bench.run import SECTIONS, Bench
from tests.network.testnet import NetworkMissing


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="renew RESULTS.md, its plot and results.json")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="measure only these")
    chosen = parser.parse_args()
    size = Size(int(os.environ.get("BENCH_TRACKS", "100000")), int(os.environ.get("BENCH_LIKES", "1000000")))
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
    """Figures of sections that were not measured this time stay."""
    is_whole = set(sections) == set(SECTIONS)
    before = {} if is_whole else {row["name"]: row for row in results.kept().get("rows", ())}
    known = before | {row.name: row.as_json() for row in rows}
    told = machine.described() | {"measured": datetime.now(UTC).isoformat(timespec="minutes")}
    sections = {"machine": told, "size": bench.size.as_json(), "rows": list(known.values())}
    results.keep(**sections, **({"curves": bench.curves} if bench.curves else {}))


if __name__ == "__main__":
    main()
