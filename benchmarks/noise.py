"""Exact noise: nanoseconds of CPU a draw, one thread, batches of a million."""

from benchmarks.clock import cpu_seconds
from benchmarks.peers import ask_peers
from discreet import noise

N = 10**6
GOALS = {
    "laplace 2^40": 40,
    "laplace 10": 60,
    "gaussian 2^40": 90,
    "gaussian 10": 110,
    "choose 10^4": 1e6,
    "one laplace": 20_000,
}


def ours() -> dict[str, float]:
    scores = list(range(10_000))
    jobs = {
        "laplace 2^40": (lambda: noise.discrete_laplace(2**40, size=N), N),
        "laplace 10": (lambda: noise.discrete_laplace(10, size=N), N),
        "gaussian 2^40": (lambda: noise.discrete_gaussian(2**80, size=N), N),
        "gaussian 10": (lambda: noise.discrete_gaussian(100, size=N), N),
        "choose 10^4": (lambda: noise.choose(scores, 100), 1),
        "one laplace": (lambda: [noise.discrete_laplace(10) for _ in range(1000)], 1000),
    }
    return {name: cpu_seconds(job) / count * 1e9 for name, (job, count) in jobs.items()}


def main() -> None:
    mine, peers = ours(), ask_peers("peer_noise.py")
    print(f"{'ns a draw':<16}{'discreet':>12}{'goal':>12}{'OpenDP 0.16':>14}{'ratio':>8}")
    for name, goal in GOALS.items():
        ratio = peers[name] / mine[name]
        print(f"{name:<16}{mine[name]:>12,.0f}{goal:>12,.0f}{peers[name]:>14,.0f}{ratio:>7,.0f}x")
    unsafe = peers["numpy laplace (unsafe)"]
    print(f"numpy's floating-point Laplace, not private: {unsafe:,.0f} ns")
