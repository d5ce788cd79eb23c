"""Running the user's objective: in this process, in pools, on clusters, or as an external program.

Every point gets exactly one `Outcome`: a value, NaN with the reason for the failure, or NaN marked `lost` if the
workers rather than the objective are to blame. All kinds of workers are used in the same way: a run hands over points,
takes outcomes as they arrive, and keeps `width` evaluations in flight. The other guarantees depend on where the
objective runs:

| objective runs in | exception fails only its point | worker death is survived | timeout kills | a death costs no other point | Ctrl-C keeps finished points | lambdas |
|---|---|---|---|---|---|---|
| this process: `workers=1` | yes | no, it is this process | yes, in a child process | no | yes | yes |
| this process: `vectorized=True` | no, it is a single call | no | no timeout | no | yes | yes |
| child processes: `workers=N` | yes | yes, it is replaced | yes | yes | yes | yes |
| an executor | yes | if the executor survives it; otherwise the run ends and can be resumed | yes, in a child of the worker | yes, they are lost, not failed | yes | if the executor can send them |
| Dask | yes | yes, if the cluster replaces workers | yes, in a child of the worker | yes, suspects are rerun alone | yes | yes |
| a map, `joblib.Parallel` | yes | if the map survives it; otherwise the run ends and can be resumed | yes, in a child of the worker | yes, they are lost, not failed | those the map has returned | if the map can send them |
| an external `Command` | yes, it answers `{"error": ...}` | yes, it is restarted | yes | yes | yes | - |

- A value is one real number, which includes a `Fraction`, a `Decimal`, or an array with one element. Anything else is a
  failure, and so is a NaN, infinite or masked value. The message of a failure is kept up to 2,000 characters.
- With a `timeout`, the objective always runs in a child process that can be killed: a child of this process, or of
  each worker of the executor, cluster or map. A death then costs only that child, so the guarantees of `workers=N`
  hold everywhere. A `Command` is such a child too, wherever it runs.
- A point that fails (an exception, an invalid value, a death, a timeout) is retried up to `retries` times. Only then is
  it reported as failed, with the number of attempts. A point that shared a worker with one that killed it is not
  charged.
- A lost point is neither told to the algorithm nor stored. Points are lost when an executor is broken or shut down, a
  Dask client is closed or its scheduler gone, a map ends early, or a worker or program cannot be started. `minimize`
  retries lost points. If all points in hand are lost twice and none is answered meanwhile, it returns its result so far
  with status WORKERS. With a `store`, the same call with working workers continues the run.
- Ctrl-C and SIGTERM end a run with status INTERRUPTED, after every finished point has been told and stored. Evaluations
  in flight are given up; they run again if the run is resumed. This needs `minimize` to run in the main thread of a
  program without signal handlers of its own; ours are removed at the end. A signal during the objective interrupts it.
  A signal during learning waits until learning is done; a second signal, at least a second later, does not wait.
- Loading the objective in a worker does not count towards the time of a point; starting a `Command` does.
- Dask does not restart workers without a nanny. If no worker is left, Dask waits for new ones, and so does the run.
  Before Dask reports a death, it has retried the point `distributed.scheduler.allowed-failures` times itself. Then the
  point is a suspect: it runs alone, when nothing else of the run is on the cluster, and no other point starts before.
- A map takes its points all at once: it gets those that are open, and new ones only after it has returned them.
- Children on the workers of others end with `close`, except in the processes of an executor or map, which cannot be
  reached: there they end with the worker. An executor, client or map is never shut down.
- If this process is killed, even by SIGKILL, its child processes and everything they started end within about a second:
  a guard kills them, one small process for each process that has such children.
- Child processes need Linux or macOS and, for a Python function, the extra `parallel`:
  `pip install 'eglearn[parallel]'`. They inherit the environment, including the number of BLAS threads.
- An objective that starts processes in sessions of their own must end them itself. So must an objective that starts
  processes with `workers=1`.
"""  # noqa: E501

from .base import Evaluator, ObjectiveError, Outcome
from .command import Command
from .factory import load_objective, make_evaluator
from .once import is_template

__all__ = [
    "Command",
    "Evaluator",
    "ObjectiveError",
    "Outcome",
    "is_template",
    "load_objective",
    "make_evaluator",
]
