"""Runs a program on a Ray cluster of a head and two workers, twice: the second time a worker is killed.

Its argument is the program. Runs in the environment of the engines, without this project.
"""

import os
import runpy
import sys
import threading
import time

import ray
from ray.cluster_utils import Cluster

KILL_SECONDS = 0.1  # after the beginning of a query that takes longer


def main() -> None:
    """Run the program, and run it again with a worker less."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    workers = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    os.environ |= {"RAY_ADDRESS": cluster.address, "DAFT_RUNNER": "ray"}
    ray.init(address=cluster.address, log_to_driver=False)
    run()
    killed = threading.Event()

    def kill() -> None:
        cluster.remove_node(workers[0], allow_graceful=False)
        killed.set()

    threading.Timer(KILL_SECONDS, kill).start()
    run()
    assert killed.is_set(), "the query ended before the worker did"
    cluster.wait_for_nodes()  # until the cluster knows, too
    print(f"{len(cluster.list_all_nodes())} of 3 nodes are left", file=sys.stderr)
    ray.shutdown()
    cluster.shutdown()


def run() -> None:
    """One query, with its time to stderr."""
    begun = time.monotonic()
    runpy.run_path(sys.argv[1])
    print(f"{time.monotonic() - begun:.1f} s", file=sys.stderr)


main()
