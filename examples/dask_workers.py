"""32 workers on Dask. Needs `pip install 'eglearn[dask]'`.

Here the cluster is on this machine, with threads, since the simulation only waits. On real machines it would be
`Client("scheduler-address:8786")` or a cluster of dask-jobqueue, and nothing else would change. 32 evaluations are kept
in flight, and each value is used as soon as it is there.
"""

import time

import numpy as np
from dask.distributed import Client, LocalCluster

from eglearn import minimize


def simulate(x):
    time.sleep(0.1)
    return float(np.sum((x - 1) ** 2))


if __name__ == "__main__":
    with (
        LocalCluster(n_workers=1, threads_per_worker=32, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        result = minimize(simulate, bounds=[(-5, 5)] * 10, budget=400, workers=client)
    seconds = result.history.elapsed[-1]
    print(f"{result.nfev} evaluations of 0.1 s in {seconds:.1f} s, lowest value {result.fun:.2g}")
