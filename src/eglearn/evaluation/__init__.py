"""Running the user's objective: in this process, in pools, on clusters, as an external program.

Whatever happens to a point, it gets exactly one `Outcome`: a value, or NaN with the reason. Values never
depend on how many workers there are or on who finishes first. What else holds depends on who does the work:

| objective runs in | exception fails only its point | death of a worker is survived | timeout kills | a death costs no other point | lambdas |
|---|---|---|---|---|---|
| this process: `workers=1` | yes | no, it is this process | yes, by `workers=1` in a child process | no | yes |
| this process: `vectorized=True` | no, the call is one | no | no timeout | no | yes |
| child processes: `workers=N` | yes | yes, it is replaced | yes | yes | yes |
| an executor | yes | only if the executor does | yes, in a child of its worker | no, a broken executor fails all that follow | if the executor can send them |
| Dask | yes | yes, if the cluster replaces workers | yes, in a child of its worker | yes, suspects run again alone | yes |
| a map | yes | only if the map does | yes, in a child of its worker | no | if the map can send them |
| an external `Command` | yes, it answers `{"error": ...}` | yes, it is started anew | yes | yes | - |

- With a `timeout`, the objective always runs in a child process that can be killed: of this process, or of
  each worker of the executor, cluster or map. Deaths then cost only that child, so that the row of
  `workers=N` holds everywhere. A `Command` is such a child too, wherever it runs.
- A point that fails, by an exception, a wrong value, a death or the timeout, is tried `retries` more times.
  Only then is it reported as failed, with the number of attempts. A point that was merely near when
  another killed a worker is not charged for that.
- Loading the objective in a worker is not part of the time of a point; starting a `Command` is.
- Dask does not restart workers without a nanny; if none is left, it waits for new ones, and so do we. Before
  Dask reports a death, it has tried the point `distributed.scheduler.allowed-failures` more times itself.
- Children on workers that belong to others end with `close`, except in the processes of an executor or map,
  which cannot be reached: there they end with the worker. An executor, a client or a map is never shut down.
- Child processes need Linux or macOS, and for a Python function the extra `parallel`:
  `pip install 'eglearn[parallel]'`. They inherit the environment, also the number of threads for BLAS.
- An objective that starts processes in sessions of their own has to end them itself.
"""  # noqa: E501

from .base import Evaluator, ObjectiveError, Outcome
from .command import Command
from .factory import load_objective, make_evaluator

__all__ = ["Command", "Evaluator", "ObjectiveError", "Outcome", "load_objective", "make_evaluator"]
