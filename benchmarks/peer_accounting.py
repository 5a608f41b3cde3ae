"""dp-accounting and prv-accountant on the same tasks, timed in the peers' environment."""

import json
import time

from dp_accounting.pld import privacy_loss_distribution as pld
from prv_accountant import LaplaceMechanism, PoissonSubsampledGaussianMechanism, PRVAccountant

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
    "dp-accounting Poisson Gaussian": sampled_pld,
    "prv-accountant Poisson Gaussian": sampled_prv,
    "dp-accounting 10^4 x Gaussian(0.01) at 1e-12 (true 7.2385)": unsound_pld,
}

for name, job in JOBS.items():
    timed(name, job)
print(json.dumps(answers))
