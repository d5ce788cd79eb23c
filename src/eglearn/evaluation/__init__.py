"""Running the user's objective: in this process, in pools, on clusters, as an external program.

Whatever happens to a point, it gets exactly one `Outcome`: a value, NaN with the reason of the failure, or NaN with the
mark `lost`, if the workers and not the objective are to blame. Values never depend on how many workers there are or on
who finishes first. What else holds depends on who does the work:

| objective runs in | exception fails only its point | death of a worker is survived | timeout kills | a death costs no other point | Ctrl-C keeps what has finished | lambdas |
|---|---|---|---|---|---|---|
| this process: `workers=1` | yes | no, it is this process | yes, by `workers=1` in a child process | no | yes | yes |
| this process: `vectorized=True` | no, the call is one | no | no timeout | no | yes | yes |
| child processes: `workers=N` | yes | yes, it is replaced | yes | yes | yes | yes |
| an executor | yes | only if the executor does; if not, the run ends and can be resumed | yes, in a child of its worker | yes, they are lost and not failed | yes | if the executor can send them |
| Dask | yes | yes, if the cluster replaces workers | yes, in a child of its worker | yes, suspects run again alone | yes | yes |
| a map, `joblib.Parallel` | yes | only if the map does; if not, the run ends and can be resumed | yes, in a child of its worker | yes, they are lost and not failed | what the map has handed over | if the map can send them |
| an external `Command` | yes, it answers `{"error": ...}` | yes, it is started anew | yes | yes | yes | - |

- A value is one real number: also a `Fraction`, a `Decimal`, or an array of one element. NaN, infinite and masked values
  and everything else are failures. The text of a failure is kept up to 2,000 characters.
- With a `timeout`, the objective always runs in a child process that can be killed: of this process, or of
  each worker of the executor, cluster or map. Deaths then cost only that child, so that the row of
  `workers=N` holds everywhere. A `Command` is such a child too, wherever it runs.
- A point that fails, by an exception, a wrong value, a death or the timeout, is tried `retries` more times.
  Only then is it reported as failed, with the number of attempts. A point that was merely near when
  another killed a worker is not charged for that.
- A point that is lost is neither told to the algorithm nor stored: an executor is broken or shut down, a Dask client is
  closed or its scheduler gone, a map ends early, a worker or a program cannot be started. `minimize` tries lost points
  again. If all points are lost twice in a row, it returns what it has found, with status WORKERS. With a `store` the
  same call with working workers goes on.
- Ctrl-C and SIGTERM end a run with status INTERRUPTED, after everything that has finished was told and stored. That
  holds if `minimize` runs in the main thread and the program has no handler of its own; ours are removed at the end. A
  signal during the objective interrupts it. One during learning waits for its end; a second one, a second later, does
  not.
- Loading the objective in a worker is not part of the time of a point; starting a `Command` is.
- Dask does not restart workers without a nanny; if none is left, it waits for new ones, and so do we. Before
  Dask reports a death, it has tried the point `distributed.scheduler.allowed-failures` more times itself.
- Children on workers that belong to others end with `close`, except in the processes of an executor or map,
  which cannot be reached: there they end with the worker. An executor, a client or a map is never shut down.
- If this process is killed, even by SIGKILL, child processes and what they have started end within about a second: a
  guard, one small process for each process that has such children, kills them.
- Child processes need Linux or macOS, and for a Python function the extra `parallel`:
  `pip install 'eglearn[parallel]'`. They inherit the environment, also the number of threads for BLAS.
- An objective that starts processes in sessions of their own has to end them itself, and so has one that starts
  processes with `workers=1`.
"""  # noqa: E501

from .base import Evaluator, ObjectiveError, Outcome
from .command import Command
from .factory import load_objective, make_evaluator
from .once import is_template

__all__ = ["Command", "Evaluator", "ObjectiveError", "Outcome", "is_template", "load_objective", "make_evaluator"]
