"""What machines serve together: requests to one API node and to three, behind a proxy, in turns."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from tests.bench import machine
from tests.bench.api import CONNECTIONS, Server, reader_of
from tests.bench.load import Loader, ProgramMissing
from tests.bench.rows import Row, rounded
from tests.bench.stores import BASE_URL, NOBODY_IS_REFUSED
from tests.network.server import free_port

NODES: Final = (1, 3)
ONE: Final = "one node, in the same turn"
BY_CPU: Final = "the same by the nodes' CPU time"
# Files of the indexer, and those that each node has for itself.
_LEFT_OUT: Final = ("catalog.duckdb*", "state*", "*.lock", "*.sock")

_PROXY: Final = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
worker_processes auto;
events {{ }}
http {{
    access_log off;
    proxy_temp_path {folder}/proxied;
    client_body_temp_path {folder}/bodies;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream nodes {{ {nodes} keepalive 64; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://nodes;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header X-Forwarded-For $remote_addr;
        }}
    }}
}}
"""


class _Turn(NamedTuple):
    per_second: float
    per_cpu_second: float


def rows(
    data_dir: Path, scratch: Path, loader: Loader, kinds: Mapping[str, Sequence[str]], turns: int
) -> Iterator[Row]:
    """For each kind of question. All nodes run all the time; those that are not asked have nothing to do."""
    folder = scratch / "nodes"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        nodes = [stack.enter_context(_node(data_dir, folder / f"{number}")) for number in range(max(NODES))]
        proxies = {
            count: stack.enter_context(_proxy(nodes[:count], folder / f"proxy-{count}")) for count in NODES
        }
        for kind, paths in kinds.items():
            yield from _compared(kind, loader, loader.paths(paths), nodes, proxies, turns)


def _compared(
    kind: str, loader: Loader, paths: Path, nodes: Sequence[Server], proxies: Mapping[int, str], turns: int
) -> Iterator[Row]:
    def turn(count: int) -> _Turn:
        before = sum(machine.cpu_seconds(node.pid) for node in nodes)
        load = loader.run(proxies[count], paths, CONNECTIONS)
        spent = max(sum(machine.cpu_seconds(node.pid) for node in nodes) - before, 0.01)
        return _Turn(load.per_second, load.requests / spent)

    turn(max(NODES))
    found = [{count: turn(count) for count in NODES} for _ in range(turns)]
    for count in NODES:
        ratios = {
            ONE: rounded(median(one[count].per_second / one[1].per_second for one in found)),
            BY_CPU: rounded(median(one[count].per_cpu_second / one[1].per_cpu_second for one in found)),
        }
        per_second = median(one[count].per_second for one in found)
        name = f"{kind} behind a proxy, {count} {'node' if count == 1 else 'nodes'}"
        yield Row(name, rounded(per_second), "requests/s", ratios if count > 1 else {})


@contextmanager
def _node(data_dir: Path, folder: Path) -> Iterator[Server]:
    """An API worker and its reader of snapshots, with the files of a machine that follows, on any core."""
    ignored = shutil.ignore_patterns(*_LEFT_OUT)
    shutil.copytree(data_dir, folder, symlinks=True, ignore=ignored, copy_function=os.link)
    port, log = free_port(), folder / "api.log"
    variables = {
        "FMSVC_DATA_DIR": str(folder),
        "FMSVC_PORT": str(port),
        "FMSVC_PUBLIC_URL": BASE_URL,
        "FMSVC_RATE_LIMIT": NOBODY_IS_REFUSED,
        "FMSVC_TRUSTED_PROXIES": "127.0.0.1",
    }
    with (
        reader_of(folder, folder),
        machine.program(["-m", "readapi", "api"], variables, None, log) as process,
    ):
        url = f"http://127.0.0.1:{port}"
        machine.until_answers(f"{url}/stats", process, log)
        yield Server(url, process.pid)


@contextmanager
def _proxy(nodes: Sequence[Server], folder: Path) -> Iterator[str]:
    """nginx, which asks these nodes in turn. Raises ProgramMissing."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        raise ProgramMissing("The benchmark needs nginx: apt-get install nginx-light.")
    folder.mkdir()
    port, text = free_port(), folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    servers = " ".join(f"server {node.url.removeprefix('http://')};" for node in nodes)
    text.write_text(user + _PROXY.format(folder=folder, nodes=servers, port=port))
    process = subprocess.Popen([program, "-c", str(text), "-e", f"{folder}/nginx-error.log"])
    try:
        url = f"http://127.0.0.1:{port}"
        machine.until_answers(f"{url}/stats", process, folder / "nginx-error.log")
        yield url
    finally:
        process.terminate()
        process.wait(machine.STOP_SECONDS)
