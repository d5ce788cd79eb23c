"""A job queue: each call tells the values that have arrived, hands out the next points, and exits.

The state of the search is in one file between the calls, so nothing runs while the jobs do. On a cluster, the last job
of a batch would call this program again. Points may be told in any order and in several calls.

    python job_queue.py ask               prints the points to evaluate, one JSON list per line
    python job_queue.py tell VALUE ...    tells their values, in that order; nan: the evaluation has failed
    python job_queue.py                   plays the queue itself, with a bowl as the objective

`rm queue.state` starts over.
"""

import json
import subprocess
import sys
from pathlib import Path

from eglearn import AutoEGL
from eglearn.serialize import dumps, loads

STATE = Path("queue.state")


def load():
    if STATE.exists():
        return AutoEGL.from_state(loads(STATE.read_bytes()))
    return AutoEGL(bounds=[(-5, 5)] * 3, budget=40, seed=0, width=8)  # 8 jobs at a time


def save(opt):
    fresh = STATE.with_suffix(".new")
    fresh.write_bytes(dumps(opt.state()))
    fresh.replace(STATE)  # a crash leaves the old state or the new one, never half of it


def ask():
    opt = load()
    points = [] if opt.stop() else opt.ask()  # asking again gives the points that have no value yet
    save(opt)
    return [point.tolist() for point in points]


def tell(values):
    opt = load()
    points = [] if opt.stop() else opt.ask()
    if len(values) > len(points):
        sys.exit(f"{len(values)} values for {len(points)} open points: 'ask' prints these")
    opt.tell(points[: len(values)], values)
    save(opt)
    return opt


def play():
    """Two programs in turn, as a queue would call them."""
    calls = 0
    while True:
        done = subprocess.run([sys.executable, __file__, "ask"], capture_output=True, text=True, check=True)
        points = [json.loads(line) for line in done.stdout.splitlines()]
        if not points:
            break
        values = [repr(sum((v - 1) ** 2 for v in point)) for point in points]
        subprocess.run([sys.executable, __file__, "tell", *values], check=True)
        calls += 2
    opt = load()
    print(f"{opt.nfev} evaluations in {calls} calls, lowest value {opt.best_y:.1e} at {opt.best_x.round(4)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["ask"]:
        for point in ask():
            print(json.dumps(point))
    elif sys.argv[1:2] == ["tell"]:
        tell([float(word) for word in sys.argv[2:]])
    else:
        play()
