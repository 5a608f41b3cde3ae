"""pure-ldp's protocols and OpenDP's coin, timed in an environment of their own."""

import json

import numpy as np
import opendp.prelude as dp
from pure_ldp.frequency_oracles.hadamard_response import (
    HadamardResponseClient,
    HadamardResponseServer,
)
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

from benchmarks.clock import cpu_seconds

D, EPSILON = 10_000, 1
values = np.random.default_rng(0).integers(1, D + 1, size=2000).tolist()


def timed(client, server, users, aggregated):
    made = []
    report = cpu_seconds(lambda: made.extend(client(v) for v in values[:users]), 1) / users
    some = made[:aggregated]
    add = cpu_seconds(lambda: [server.aggregate(one) for one in some], 1) / aggregated
    return 1 / report, 1 / add


found = {}
hadamard = HadamardResponseServer(EPSILON, D)
client = HadamardResponseClient(EPSILON, D, hash_funcs=hadamard.get_hash_funcs())
for name, one, server, users, aggregated in (
    ("hadamard", client.privatise, hadamard, 2000, 2000),
    (
        "hashing",
        LHClient(EPSILON, D, use_olh=True).privatise,
        LHServer(EPSILON, D, use_olh=True),
        2000,
        20,
    ),
    (
        "unary",
        UEClient(EPSILON, D, use_oue=True).privatise,
        UEServer(EPSILON, D, use_oue=True),
        300,
        300,
    ),
):
    found[f"{name} report"], found[f"{name} aggregate"] = timed(one, server, users, aggregated)
dp.enable_features("contrib")
coin = dp.m.make_randomized_response_bool(prob=np.e / (1 + np.e))
bits = [True] * 2000
found["randomized response"] = 2000 / cpu_seconds(lambda: [coin(bit) for bit in bits], 1)
print(json.dumps(found))
