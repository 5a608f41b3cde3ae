"""OpenDP's exact samplers and numpy's unsafe ones, timed in the peers' environment."""

import json

import numpy as np
import opendp.prelude as dp

from benchmarks.clock import cpu_seconds

dp.enable_features("contrib")
N = 100_000


def vector(make, scale):
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    if make is dp.m.make_gaussian:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    return make(*space, scale)


zeros = [0] * N
rng = np.random.default_rng()
laplace = {s: vector(dp.m.make_laplace, float(s)) for s in (10, 2**40)}
gaussian = {s: vector(dp.m.make_gaussian, float(s)) for s in (10, 2**40)}
one = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), 10.0)
scores = list(range(10_000))
pick = dp.m.make_noisy_max(
    dp.vector_domain(dp.atom_domain(T="i64")),
    dp.linf_distance(T="i64", monotonic=False),
    dp.max_divergence(),
    100.0,
)
answers = {
    "laplace 2^40": cpu_seconds(lambda: laplace[2**40](zeros), 3) / N * 1e9,
    "laplace 10": cpu_seconds(lambda: laplace[10](zeros), 3) / N * 1e9,
    "gaussian 2^40": cpu_seconds(lambda: gaussian[2**40](zeros), 3) / N * 1e9,
    "gaussian 10": cpu_seconds(lambda: gaussian[10](zeros), 3) / N * 1e9,
    "choose 10^4": cpu_seconds(lambda: [pick(scores) for _ in range(3)], 3) / 3 * 1e9,
    "one laplace": cpu_seconds(lambda: [one(0) for _ in range(1000)], 3) / 1000 * 1e9,
    "numpy laplace (unsafe)": cpu_seconds(lambda: rng.laplace(0, 2.0**40, 10**6)) / 10**6 * 1e9,
}
print(json.dumps(answers))
