"""Popular values: the two-party protocol, and those who break it."""

import dataclasses
from functools import cache

import gmpy2
import numpy as np
import pytest

from discreet import noise
from discreet.errors import BudgetError, InputError
from discreet.local import DeviceLedger, popular_values
from discreet.local.goldwasser_micali import (
    Modulus,
    SecretKey,
    Span,
    _challenges,
    encrypt,
    prove_span,
    unit,
)
from discreet.local.popular_values import (
    DeviceSession,
    Opening,
    PopularCounts,
    PopularValues,
    Reply,
    ServerSession,
    session_bytes,
    subtraction,
)
from discreet.noise.bits import Keystream, replaced

SEARCH = PopularValues(epsilon=1)


@cache
def key():
    return SecretKey.generate()


def begun(value="hunter2"):
    server, device = ServerSession(SEARCH, key()), DeviceSession(SEARCH, value, known=key().modulus)
    return server, device, server.open(device.choose(server.invitation))


def test_the_server_learns_the_inner_product_with_a_flip_from_the_table():
    for i in range(6):
        server, device, opening = begun()
        with replaced(lambda i=i: Keystream(bytes([i] * 32))):
            which = noise.below(SEARCH.length)
            reply = device.reply(opening)
        vector, bit = server.receive(reply)
        flips = [key().decrypt(one) for one in opening.table]
        truth = (vector & SEARCH.hash("hunter2")).bit_count() & 1
        assert (len(flips), sum(flips)) == (SEARCH.length, SEARCH.ones)
        assert bit == truth ^ flips[which]


def test_a_session_is_small_and_its_guarantee_says_what_it_rests_on():
    server, device, opening = begun()
    each, once = session_bytes(server.invitation, opening, device.reply(opening))

    assert each < 30_000
    assert each + once < 50_000
    assert float(SEARCH.guarantee.kept.epsilon0) <= 1
    assert SEARCH.guarantee.unnoticed == 1 / 64
    assert "quadratic residuosity (for the server)" in SEARCH.guarantee.assumptions


def test_a_device_that_flips_its_bit_has_no_proof():
    """Times -1 the bit is the other one; the proof for the honest product does not fit it."""
    server, device, opening = begun()
    reply = device.reply(opening)
    turned = Reply(key().modulus.n - reply.product, reply.proof)
    with pytest.raises(InputError, match="without a proof"):
        server.receive(turned)


def test_a_device_that_proves_a_false_product_is_refused():
    """With the prover run on a product of -1, which is no product of the elements."""
    server, device, opening = begun()
    n = gmpy2.mpz(key().modulus.n)
    told = server.invitation
    span = Span([*told.vector, *opening.table], n)
    root = unit(n, b"x")
    turned = n - span.product(5, root)
    about = told.session + told.digests[device._choice]
    proof = prove_span(span, turned, 5, root, about)
    with pytest.raises(InputError, match="without a proof"):
        server.receive(Reply(int(turned), proof))


def test_proofs_are_of_one_session_and_of_whole_length():
    first, device, opening = begun()
    reply = device.reply(opening)
    second, other, more = begun()
    with pytest.raises(InputError, match="without a proof"):
        second.receive(reply)
    short = dataclasses.replace(reply.proof, answers=reply.proof.answers[:-1])
    with pytest.raises(InputError, match="without a proof"):
        first.receive(Reply(reply.product, short))
    with pytest.raises(InputError, match="out of turn"):
        first.receive(reply)
    with pytest.raises(InputError, match="second choice"):
        first.open(0)
    assert other.reply(more).product != reply.product


def test_a_session_is_paid_for_by_the_device_before_it_replies(tmp_path):
    with DeviceLedger(tmp_path / "told.jsonl", limit=1) as ledger:
        for spent in (SEARCH.guarantee.kept.epsilon0, None):
            server = ServerSession(SEARCH, key())
            device = DeviceSession(SEARCH, "hunter2", known=key().modulus, ledger=ledger)
            opening = server.open(device.choose(server.invitation))
            if spent is None:
                with pytest.raises(BudgetError):
                    device.reply(opening)
            else:
                server.receive(device.reply(opening))
                assert ledger.spent == spent
    with DeviceLedger(tmp_path / "told.jsonl", limit=1) as ledger:
        assert ledger.spent == SEARCH.guarantee.kept.epsilon0


def test_a_server_with_another_table_is_noticed():
    _, device, opening = begun()
    plain = Opening((opening.table[0],) * SEARCH.length, opening.seeds)
    wrong_seed = Opening(opening.table, (bytes(32), *opening.seeds[1:]))
    for cheat in (plain, wrong_seed, Opening(opening.table[:-1], opening.seeds)):
        with pytest.raises(InputError, match="broke the protocol"):
            device.reply(cheat)


def test_a_server_with_numbers_that_are_no_ciphertexts_is_noticed():
    server, device, _ = begun()
    n = key().modulus.n
    strange = next(x for x in range(2, 100) if gmpy2.jacobi(x, n) == -1)
    told = dataclasses.replace(server.invitation, vector=(strange, *server.invitation.vector[1:]))
    with pytest.raises(InputError, match="no ciphertext"):
        device.choose(told)


def test_a_modulus_of_three_primes_has_no_proof():
    """Half of the challenges are neither plus nor minus a square."""
    primes = [gmpy2.next_prime(gmpy2.mpz(3) << 681)]
    while len(primes) < 3:
        primes.append(gmpy2.next_prime(primes[-1]))
    three = gmpy2.mpz(primes[0] * primes[1] * primes[2])
    provable = [
        x
        for x in _challenges(three)
        if any(all(gmpy2.legendre(sign * x % p, p) == 1 for p in primes) for sign in (1, -1))
    ]

    assert three.bit_length() == 2048
    assert len(provable) < 60  # of 80


def test_a_modulus_is_taken_with_a_whole_proof_alone():
    sound = key().modulus
    sound.check()
    for modulus in (
        Modulus(sound.n + 4, sound.roots),
        Modulus(sound.n, sound.roots[1:]),
        Modulus(sound.n, (sound.roots[0] + 1, *sound.roots[1:])),
    ):
        with pytest.raises(InputError, match="without a proof"):
            modulus.check()


def voted(values, malicious=0, subtract=0):
    """What sessions end with, in bulk: vectors and bits by the law that the protocol enforces.

    `malicious` devices hold `subtract` and combine flips in the way that takes most from it.
    """
    n = len(values)
    vectors = noise.below(1 << 16, size=n)
    flips = noise.bernoulli(SEARCH.flip, size=n)
    counts = PopularCounts(SEARCH).add(vectors, (np.bitwise_count(vectors & values) & 1) ^ flips)
    most = (1 + subtraction(SEARCH.length, SEARCH.ones)) / 2
    vectors = noise.below(1 << 16, size=malicious)
    turned = noise.bernoulli(most, size=malicious)
    return counts.add(vectors, (np.bitwise_count(vectors & subtract) & 1) ^ turned)


def test_a_popular_password_is_found_and_malicious_devices_cannot_hide_it():
    popular = SEARCH.hash("123456")
    values = np.asarray(noise.below(1 << 16, size=1_000_000))
    values[:20_000] = popular
    share = 0.012  # 5.4 standard errors: nothing unpopular reaches it

    assert voted(values).popular(share) == [popular]
    hidden = voted(values[:980_000], malicious=20_000, subtract=popular)
    assert hidden.popular(share) == [popular]


def test_the_most_that_a_device_can_subtract_is_computed():
    assert 0 < SEARCH.largest_subtraction < 0.03
    assert subtraction(4, 2) > 0.3  # small tables give much away


@pytest.mark.parametrize("wrong", [{"epsilon": 0.01}, {"epsilon": 1, "hash_bits": 30}])
def test_parameters_without_a_fair_table_are_refused(wrong):
    with pytest.raises(InputError):
        PopularValues(**wrong)


def test_tables_of_one_seed_are_one_table():
    n = gmpy2.mpz(key().modulus.n)
    one, flips = popular_values._table(SEARCH, n, bytes(32))

    assert popular_values._table(SEARCH, n, bytes(32)) == (one, flips)
    assert [key().decrypt(element) for element in one] == flips


def test_a_product_of_no_elements_takes_as_long_as_one_of_many():
    """All factors are of full length, so the time does not tell how many of them are 1."""
    n = gmpy2.mpz(key().modulus.n)
    span = Span([encrypt(i & 1, n, bytes([i])) for i in range(20)], n)

    assert min(one.bit_length() for table in span._tables for one in table) > 2000
    assert span.product(0, gmpy2.mpz(3)) == 9


@pytest.mark.parametrize("wrong", [1 << 5000, -1, 0, "1"])
def test_what_is_no_number_of_the_modulus_is_refused_by_both_sides(wrong):
    server, device = ServerSession(SEARCH, key()), DeviceSession(SEARCH, "x", known=key().modulus)
    opening = server.open(device.choose(server.invitation))
    table = (wrong, *opening.table[1:])
    with pytest.raises(InputError):
        device.reply(dataclasses.replace(opening, table=table))
    reply = device.reply(opening)
    with pytest.raises(InputError):
        server.receive(dataclasses.replace(reply, product=wrong))
