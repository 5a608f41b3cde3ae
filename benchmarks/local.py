"""The local model: reports a second of CPU, error over theory, heavy hitters, passwords, HTTP."""

import http.client
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import discreet as dp
from benchmarks.clock import cpu_seconds
from benchmarks.peers import LOCAL_PEERS, ask_peers
from discreet import local, noise
from discreet.local.goldwasser_micali import SecretKey
from discreet.local.popular_values import DeviceSession, PopularCounts, ServerSession, session_bytes

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import running_server

D, N, EPSILON = 10_000, 100_000, 1
RUNS = 5
GOALS = {
    "hadamard report": 5e6,
    "hadamard aggregate": 5e6,
    "hashing aggregate": 2e4,
    "unary report": 1e4,
    "unary aggregate": 5e4,
    "randomized response": 2e7,
}


def zipf(n=N):
    weights = 1 / np.arange(1, D + 1) ** 1.1
    return np.random.default_rng(1).choice(D, size=n, p=weights / weights.sum())


def protocols():
    yield "hadamard", local.HadamardResponse(epsilon=EPSILON, domain=D), N
    yield "hashing", local.LocalHashing(epsilon=EPSILON, domain=D), N
    yield "unary", local.UnaryEncoding(epsilon=EPSILON, domain=D), 20_000
    yield "symmetric", local.UnaryEncoding(epsilon=EPSILON, domain=D, form="symmetric"), 20_000
    yield "k-ary", local.KRandomizedResponse(epsilon=EPSILON, domain=D), N
    yield "subset", local.SubsetSelection(epsilon=EPSILON, domain=D), 1000
    yield "sketch", local.CountMeanSketch(epsilon=EPSILON), N
    yield "hadamard sketch", local.HadamardCountMeanSketch(epsilon=EPSILON), N


def speeds():
    found = {}
    for name, protocol, n in protocols():
        values = zipf()[:n].tolist() if "sketch" in name else zipf()[:n]
        made = []
        found[f"{name} report"] = n / cpu_seconds(
            lambda p=protocol, v=values, m=made: m.append(p.reporter().report(v)), 3
        )
        found[f"{name} aggregate"] = n / cpu_seconds(
            lambda p=protocol, m=made: p.aggregator().add(m[0]), 3
        )
    coin, bits = dp.RandomizedResponse(epsilon=1), np.zeros(10**7, dtype=bool)
    found["randomized response"] = 10**7 / cpu_seconds(lambda: coin.release(bits), 3)
    protocol, values = local.HadamardResponse(epsilon=EPSILON, domain=D), zipf()
    whole = cpu_seconds(
        lambda: protocol.aggregator().add(protocol.reporter().report(values)).estimate(), 5
    )
    return found, whole


def errors():
    """Mean squared error over theory, of some runs together."""
    for name, protocol, n in protocols():
        values = zipf()[:n]
        truth = np.bincount(values, minlength=D)
        if "sketch" in name:
            theory = protocol.variance(n, 0, float((truth.astype(float) ** 2).sum()))
            asked, sent = range(D), values.tolist()
        else:
            theory = protocol.variance(n, n / D)
            asked, sent = None, values
        runs = [
            protocol.aggregator().add(protocol.reporter().report(sent)).estimate(asked)
            for _ in range(RUNS)
        ]
        yield name, float(np.mean([(run.counts - truth) ** 2 for run in runs])) / theory


def heavy_hitters():
    """A million people, 32-byte strings: seconds, and whether all above the line were found."""
    protocol, n = local.HeavyHitters(epsilon=EPSILON, length=32), 10**6
    error = protocol.standard_error(n)
    threshold = 4 * error
    texts = [f"https://example.org/page/{i:06d}".encode() for i in range(4)]
    values = np.random.default_rng(2).integers(0, 256, size=(n, 32), dtype=np.uint8)
    people = values.reshape(-1).view("S32").copy()
    each = int((threshold + 3 * error) * n) + 1
    for i, text in enumerate(texts):
        people[i * each : (i + 1) * each] = text
    sent = people.tolist()
    found = []
    seconds = cpu_seconds(
        lambda: found.append(
            protocol.aggregator().add(protocol.reporter().report(sent)).heavy_hitters(threshold)
        ),
        1,
    )
    names = {one[0].encode() for one in found[0]}
    return seconds, sum(text in names for text in texts), len(names - set(texts)), threshold


def passwords(sessions=20):
    search, key = local.PopularValues(epsilon=1), SecretKey.generate()
    start, sent = time.process_time(), (0, 0)
    for _ in range(sessions):
        server, device = ServerSession(search, key), DeviceSession(search, "x", known=key.modulus)
        opening = server.open(device.choose(server.invitation))
        reply = device.reply(opening)
        server.receive(reply)
        sent = session_bytes(server.invitation, opening, reply)
    each = (time.process_time() - start) / sessions
    popular, n = search.hash("123456"), 10**6
    values = np.asarray(noise.below(1 << 16, size=n))
    values[:20_000] = popular
    vectors, flips = noise.below(1 << 16, size=n), noise.bernoulli(search.flip, size=n)
    bits = (np.bitwise_count(vectors & values) & 1) ^ flips
    return each, sent, PopularCounts(search).add(vectors, bits).popular(0.012) == [popular]


def over_http(uploads=20, each=25_000):
    """One worker, one connection: reports a second of the wall."""
    protocol = local.HadamardResponse(epsilon=1, domain=1000)
    bodies = []
    for _ in range(uploads):
        frame = protocol.reporter()
        bodies.append(b"".join(frame.report(i % 1000) for i in range(each)))
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as place:
        folder = Path(place) / "bench.discreet"
        dp.Curator(folder).close()
        with running_server.serving(folder) as server:
            said = {"name": "bench", "protocol": protocol.to_dict(), "ends": "2931-01-01T00:00:00Z"}
            server.post("/v1/campaigns", token=server.token(), json=said)
            wire = http.client.HTTPConnection("127.0.0.1", server.port)
            before = time.perf_counter()
            for body in bodies:
                wire.request("POST", "/v1/reports/bench", body=body)
                reply = wire.getresponse()
                if reply.status != 200 or b'"accepted":25000' not in reply.read():
                    raise SystemExit("reports were refused")
            return uploads * each / (time.perf_counter() - before)


def main():
    mine, whole = speeds()
    peers = ask_peers("peer_local.py", "local", LOCAL_PEERS)
    print(f"domain {D:,}, {N:,} people, epsilon {EPSILON}; reports a second of CPU")
    print(f"{'':<26}{'discreet':>14}{'goal':>12}{'pure-ldp, OpenDP':>18}")
    for name, speed in mine.items():
        goal, peer = GOALS.get(name), peers.get(name)
        cells = [f"{one:,.0f}" if one else "" for one in (goal, peer)]
        print(f"{name:<26}{speed:>14,.0f}{cells[0]:>12}{cells[1]:>18}")
    print(f"hadamard, report to estimates: {whole * 1e3:.1f} ms (goal 60)")
    for name, ratio in errors():
        print(f"{name:<26} mean squared error over theory {ratio:.3f}")
    seconds, found, more, threshold = heavy_hitters()
    print(
        f"heavy hitters: {seconds:.1f} s, {found} of 4 found above {threshold:.3f}, {more} others"
    )
    each, (session, once), is_found = passwords()
    print(
        f"passwords: {each * 1e3:.0f} ms and {session:,} bytes a device (+{once:,} once)", is_found
    )
    print(f"HTTP, one worker: {over_http():,.0f} reports a second")


if __name__ == "__main__":
    main()
