"""What a statement may take. The answers and the page tell them."""

from typing import Final

SECONDS: Final = 10.0  # of wall-clock time
CPU_SECONDS: Final = 10
MEMORY: Final = "512MB"  # of DuckDB; the process itself may have 1 GiB of addresses
MOST_ROWS: Final = 10_000
MOST_BYTES: Final = 8 << 20
AT_ONCE: Final = 2  # processes of one worker
WAITING: Final = 8  # requests that wait for a process, or have one
OF_ONE_CLIENT: Final = 2  # of these
LIMITS: Final = {"rows": MOST_ROWS, "bytes": MOST_BYTES, "seconds": SECONDS}  # as answers tell them
