"""CPU time as it would be on a quiet machine: the least of several tries."""

import time


def quickest(job, tries=5):
    """Seconds of CPU of the quickest of some runs."""
    best = float("inf")
    for _ in range(tries):
        start = time.process_time()
        job()
        best = min(best, time.process_time() - start)
    return best
