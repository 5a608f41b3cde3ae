"""dp-accounting, prv-accountant and OpenDP on the same tasks, timed in the peers' environment."""

import json
import math
import time

import opendp.prelude as dp
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from prv_accountant import LaplaceMechanism, PoissonSubsampledGaussianMechanism, PRVAccountant

dp.enable_features("contrib", "idealized-numerics")
STEPS = 200
answers = {}


def timed(name, job):
    before = time.process_time()
    answers[f"{name}: epsilon"] = float(job())
    answers[f"{name}: ms"] = (time.process_time() - before) * 1e3


def laplace_pld():
    one = pld.from_laplace_mechanism(100.0, value_discretization_interval=1e-3)
    return one.self_compose(1000).get_epsilon_for_delta(1e-6)


def laplace_prv():
    prv = LaplaceMechanism(mu=0.01)
    accountant = PRVAccountant(
        prvs=[prv], max_self_compositions=[1000], eps_error=0.01, delta_error=1e-9
    )
    return accountant.compute_epsilon(1e-6, [1000])[2]


def laplace_opendp():
    """By zCDP, its tightest for many queries: Gaussian noise of the same rho."""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    noise = dp.m.make_gaussian(*space, scale=1 / math.sqrt(2 * 1000 * 0.01**2 / 2))
    return dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(1e-6)


def interactive_pld():
    spent = pld.identity()
    for step in range(STEPS):
        one = pld.from_laplace_mechanism(200.0 + step, value_discretization_interval=1e-4)
        spent = spent.compose(one)
        epsilon = spent.get_epsilon_for_delta(1e-9)
    return epsilon


def interactive_rdp():
    spent = RdpAccountant()
    for step in range(STEPS):
        spent.compose(dp_event.LaplaceDpEvent(200.0 + step))
        epsilon = spent.get_epsilon(1e-9)
    return epsilon


def sampled_pld():
    one = pld.from_gaussian_mechanism(1.0, sampling_prob=0.01, value_discretization_interval=1e-4)
    return one.self_compose(10**4).get_epsilon_for_delta(1e-6)


def sampled_prv():
    prv = PoissonSubsampledGaussianMechanism(sampling_probability=0.01, noise_multiplier=1.0)
    accountant = PRVAccountant(
        prvs=[prv], max_self_compositions=[10**4], eps_error=0.01, delta_error=1e-9
    )
    return accountant.compute_epsilon(1e-6, [10**4])[2]


def unsound_pld():
    one = pld.from_gaussian_mechanism(100.0)
    return one.self_compose(10**4).get_epsilon_for_delta(1e-12)


JOBS = {
    "dp-accounting 1000 x Laplace(0.01)": laplace_pld,
    "prv-accountant 1000 x Laplace(0.01)": laplace_prv,
    "OpenDP 1000 x Laplace(0.01)": laplace_opendp,
    f"dp-accounting PLD append + query, {STEPS} times": interactive_pld,
    f"dp-accounting RDP append + query, {STEPS} times": interactive_rdp,
    "dp-accounting Poisson Gaussian": sampled_pld,
    "prv-accountant Poisson Gaussian": sampled_prv,
    "dp-accounting 10^4 x Gaussian(0.01) at 1e-12 (true 7.2385)": unsound_pld,
}

for name, job in JOBS.items():
    timed(name, job)
print(json.dumps(answers))
