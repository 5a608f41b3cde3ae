"""Eight analysts who try to keep a server from answering a ninth, each in a way of their own.

Run as a program with an address, seconds, and the tokens of each attacker (three a name).
"""

import contextlib
import http.client
import itertools
import json
import sys
import threading
import time

PLANNING = "SELECT {} FROM visits".format(  # noqa: S608 - numbers
    ", ".join(
        f"SUM(CASE WHEN amount < {i} THEN {' + '.join(['amount'] * 50)} ELSE 1 END) AS s{i}"
        for i in range(60)
    )
)
"""24 KB that take as long to plan as anything that is allowed."""

WORDS = "SELECT COUNT(*) AS n FROM visits WHERE amount IN ({})".format(  # noqa: S608 - numbers
    ", ".join(str(n) for n in range(9000))
)
"""40 KB that are read and not understood."""

LIKE = "SELECT COUNT(*) AS n FROM visits WHERE street || '{}' LIKE '%{}b%'"
JOINS = (
    "WITH b AS (SELECT person, amount FROM visits WHERE amount < {}) SELECT COUNT(*) AS n FROM b "
    "AS b1 JOIN b AS b2 ON b1.person = b2.person JOIN b AS b3 ON b2.person = b3.person"
)


def explains(_):
    return "POST", "/v1/explain", {"sql": PLANNING, "epsilon": "0.001"}, {}


def asks_words(_):
    return "POST", "/v1/queries", {"sql": WORDS, "epsilon": "0.001"}, {}


def asks_like(n):
    sql = LIKE.format("a" * (200 + n % 50), "_" * 9 + str(n))
    return "POST", "/v1/queries", {"sql": sql, "epsilon": "0.001"}, {"Prefer": "respond-async"}


def asks_joins(n):
    sql = JOINS.format(1 + n / 1000)
    return "POST", "/v1/queries", {"sql": sql, "epsilon": "0.001"}, {"Prefer": "respond-async"}


def asks_short(n):
    sql = f"SELECT COUNT(*) AS n FROM visits WHERE amount < {n / 1000}"  # noqa: S608 - numbers
    return "POST", "/v1/queries", {"sql": sql, "epsilon": "0.001"}, {}


def looks(_):
    return "GET", "/v1/me", None, {}


def uploads(_):
    return "POST", "/v1/uploads?name=x.csv", "a,b\n" * 100_000, {}


def guesses(n):
    return "GET", "/v1/me", None, {"Authorization": f"Bearer dpt_{n:016x}_{'x' * 43}"}


WAYS = (explains, asks_words, asks_like, asks_joins, asks_short, looks, uploads, guesses)
AT_ONCE = 8
"""Connections of each attacker."""


def attack(address, way, token, end, numbers, tally):
    """Send one request after the other, and begin anew when the server hangs up."""
    while time.monotonic() < end:
        connection = http.client.HTTPConnection(address, timeout=60)
        with contextlib.suppress(OSError, http.client.HTTPException):
            while time.monotonic() < end:
                method, path, body, more = way(next(numbers))
                sent = json.dumps(body) if isinstance(body, dict) else body
                headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
                connection.request(method, path, body=sent, headers={**headers, **more})
                reply = connection.getresponse()
                reply.read()
                key = f"{way.__name__} {reply.status}"
                tally[key] = tally.get(key, 0) + 1
                if reply.status == 429:
                    time.sleep(0.05)
        connection.close()


def main(address, seconds, tokens):
    """Attack from all sides."""
    numbers, tally = itertools.count(1), {}
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(
            target=attack,
            args=(address, way, tokens[3 * n + i % 3], end, numbers, tally),
            daemon=True,
        )
        for n, way in enumerate(WAYS)
        for i in range(AT_ONCE)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end + 5 - time.monotonic()))
    sys.stdout.write(json.dumps(tally))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
