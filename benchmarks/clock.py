"""CPU time of one thread, the least of several runs."""

import time
from collections.abc import Callable


def cpu_seconds(job: Callable[[], object], repeats: int = 7) -> float:
    """Process time, so that a busy machine does not count."""
    best = float("inf")
    for _ in range(repeats):
        before = time.process_time()
        job()
        best = min(best, time.process_time() - before)
    return best
