"""Counts of requests by route, method and class of status; nothing about data, nobody's name."""

import logging
import os
import threading
from collections import Counter

_LOG = logging.getLogger("discreet")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters of one worker's answers.

    Example:
        >>> metrics = Metrics(worker=7)
        >>> metrics.count("/v1/health", "GET", 200)
        >>> print(metrics.text().splitlines()[2])
        discreet_requests_total{route="/v1/health",method="GET",status="2xx",worker="7"} 1
    """

    def __init__(self, worker: int | None = None) -> None:
        self._worker = os.getpid() if worker is None else worker
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._overruns = 0
        self._lock = threading.Lock()

    def count(self, route: str, method: str, status: int) -> None:
        """One more reply."""
        with self._lock:
            self._counts[route, method, f"{status // 100}xx"] += 1

    def overrun(self) -> None:
        """One more question that took longer than was foreseen for it."""
        with self._lock:
            self._overruns += 1
        _LOG.warning("a question overran its step; its caller's next ones begin one step later")

    def text(self) -> str:
        """The counts in the format that Prometheus reads."""
        with self._lock:
            counts, overruns = sorted(self._counts.items()), self._overruns
        lines = [
            "# HELP discreet_requests_total Replies by route, method and class of status.",
            "# TYPE discreet_requests_total counter",
        ]
        for (route, method, status), count in counts:
            labels = f'route="{route}",method="{method}",status="{status}",worker="{self._worker}"'
            lines.append(f"discreet_requests_total{{{labels}}} {count}")
        lines += [
            "# HELP discreet_overruns_total Questions that took longer than was foreseen.",
            "# TYPE discreet_overruns_total counter",
            f'discreet_overruns_total{{worker="{self._worker}"}} {overruns}',
        ]
        return "\n".join(lines) + "\n"
