"""A batch of points through an evaluator."""

from eglearn.evaluation.interrupts import check


def evaluate(evaluator, x):
    """Evaluate a whole batch: yield (row, outcome) for each row of ``x`` (m, n), in order of arrival.

    Whoever leaves early cancels the rest. After a KeyboardInterrupt, what has finished is yielded first.
    """
    left = len(x)
    try:
        for row, point in enumerate(x):
            evaluator.submit(row, point)
        while left:
            try:
                check()
                arrived = evaluator.wait()
            except KeyboardInterrupt:
                yield from evaluator.wait(block=False)
                raise
            left -= len(arrived)
            yield from arrived
    finally:
        evaluator.cancel()
