"""Output laws of mechanisms, computed a second time: plain floats, sums over all cases, no sharing.

Each function gives a dictionary from outcome to probability. Nothing here is quick or certified; it
has to be right to six digits and to be as unlike the shipped code as it can.
"""

import math
from collections import defaultdict
from itertools import permutations, product


def laplace(scale, reach=None):
    """Discrete Laplace noise."""
    reach = reach or math.ceil(30 * scale)
    weights = {k: math.exp(-abs(k) / scale) for k in range(-reach, reach + 1)}
    return normed(weights)


def gaussian(variance):
    """Discrete Gaussian noise."""
    reach = math.ceil(10 * math.sqrt(variance)) + 2
    return normed({k: math.exp(-k * k / (2 * variance)) for k in range(-reach, reach + 1)})


def rounded_gaussian(variance):
    """The integer nearest to a normal draw."""
    reach, root = math.ceil(10 * math.sqrt(variance)) + 2, math.sqrt(2 * variance)
    tails = {k: math.erfc((abs(k) - 0.5) / root) for k in range(reach + 2)}
    return normed({k: tails[abs(k)] - tails[abs(k) + 1] for k in range(-reach, reach + 1)})


def staircase(epsilon, width, first):
    """Flat for `first` places from 0 on, then for `width` at a time."""
    reach = range(-60 * width, 60 * width + 1)
    return normed({k: math.exp(-epsilon * math.ceil((abs(k) - first + 1) / width)) for k in reach})


def normed(weights):
    whole = math.fsum(weights.values())
    return {outcome: weight / whole for outcome, weight in weights.items()}


def added(*laws):
    """The sum of independent numbers."""
    law = {0: 1.0}
    for other in laws:
        joint = defaultdict(float)
        for (a, p), (b, q) in product(law.items(), other.items()):
            joint[a + b] += p * q
        law = dict(joint)
    return law


def at_least(law, bar):
    return math.fsum(p for k, p in law.items() if k >= bar)


def mixed(*parts):
    """A mixture: pairs of a share and a law."""
    law = defaultdict(float)
    for share, part in parts:
        for outcome, p in part.items():
            law[outcome] += share * p
    return dict(law)


def softmax(scores, scale):
    return normed({i: math.exp(score / scale) for i, score in enumerate(scores)})


def peeled(scores, scale, rounds):
    """Sequences of so many outputs, each drawn from those that are left."""
    law = {(): 1.0}
    for _ in range(rounds):
        law = {
            (*chosen, left[i]): p * q
            for chosen, p in law.items()
            for left in [[j for j in range(len(scores)) if j not in chosen]]
            for i, q in softmax([scores[j] for j in left], scale).items()
        }
    return law


def permuted_and_flipped(scores, scale):
    """Visit outputs in every order; stop at one with probability exp((score - best)/scale)."""
    law, best = defaultdict(float), max(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1 / len(orders)
        for i in order:
            stop = math.exp((scores[i] - best) / scale)
            law[i] += left * stop
            left *= 1 - stop
    return dict(law)


def noisy_max(scores, noise):
    """The position of the largest noisy score, ties at random."""
    law = defaultdict(float)
    laws = [{score + k: p for k, p in noise.items() if p > 1e-9} for score in scores]
    for case in product(*(one.items() for one in laws)):
        top = max(value for value, _ in case)
        tied = [i for i, (value, _) in enumerate(case) if value == top]
        for i in tied:
            law[i] += math.prod(p for _, p in case) / len(tied)
    return dict(law)


def marks(values, threshold, query, hits):
    """Rows of a sparse vector's marks: 1 hit, 0 below, -1 not asked."""
    law = defaultdict(float)
    for bent, p in threshold.items():
        if p < 1e-12:
            continue
        chances = [at_least(query, -value - bent) for value in values]
        rows = {(): p}
        for chance in chances:
            grown = {}
            for row, share in rows.items():
                if row.count(1) == hits:
                    grown[(*row, -1)] = share
                else:
                    grown[(*row, 1)], grown[(*row, 0)] = share * chance, share * (1 - chance)
            rows = grown
        for row, share in rows.items():
            law[row] += share
    return dict(law)


def first_hit(values, threshold, query):
    """The position of the first hit, or -1."""
    law = defaultdict(float)
    for row, p in marks(values, threshold, query, 1).items():
        law[row.index(1) if 1 in row else -1] += p
    return dict(law)


def thresholded(count, noise, bar):
    """A noisy count, 0 below the bar."""
    law = defaultdict(float)
    for k, p in noise.items():
        law[count + k if count + k >= bar else 0] += p
    return dict(law)


def tested(value, passing, noise):
    """Rows of whether a test was passed, and the noisy value or 0."""
    law = {(1, value + k): passing * p for k, p in noise.items()}
    return {**law, (0, 0): 1 - passing}


def quantile(values, points, q, scale):
    """Points by how many ranks they miss being the quantile."""
    scores = rank_scores(values, points, q)
    return normed({g: math.exp(s / scale) for g, s in zip(points, scores, strict=True)})


def rank_scores(values, points, q):
    """Minus how many ranks each point misses being the quantile by."""
    n = len(values)
    return [
        -max(0, q * n - sum(x <= g for x in values), sum(x < g for x in values) - q * n)
        for g in points
    ]


def three_quantiles(values, points, quantiles, epsilon):
    """Rows of three quantiles: the middle one first, the others on either side of it."""
    low, middle, high = quantiles

    def scale(q):
        return 2 * max(q, 1 - q) / (epsilon / 2)

    law = {}
    for m, p in quantile(values, points, middle, scale(middle)).items():
        on = values.count(m)
        left = [x for x in values if x < m] + [m] * math.floor(middle * on)
        right = [x for x in values if x > m] + [m] * (on - math.floor(middle * on))
        below, above = low / middle, (high - middle) / (1 - middle)
        lower = quantile(left, [g for g in points if g <= m], below, scale(below))
        upper = quantile(right, [g for g in points if g >= m], above, scale(above))
        for (a, r), (b, s) in product(lower.items(), upper.items()):
            law[a, m, b] = p * r * s
    return law


def outermost(counts, noise, bar, ends):
    """Both ends of the outermost bins that reach the bar; the whole range where none does."""
    law = defaultdict(float)
    chances = [at_least(noise, bar - count) for count in counts]
    for case in product((0, 1), repeat=len(counts)):
        p = math.prod(c if seen else 1 - c for c, seen in zip(chances, case, strict=True))
        occupied = [i for i, seen in enumerate(case) if seen] or [0, len(counts) - 1]
        law[ends[occupied[0]], ends[occupied[-1] + 1]] += p
    return dict(law)


def kept(count, epsilon, delta):
    """The probability that the optimal rule shows a key with so many people."""
    p = 0.0
    for _ in range(count):
        p = min(math.exp(epsilon) * p + delta, 1 - math.exp(-epsilon) * (1 - p - delta), 1.0)
    return p


def sum_tail(one, other, bar):
    """P(X + Y >= bar) for continuous Laplace X, Y of two scales, by small steps."""
    steps, width = 20_000, 40 * max(one, other)
    total = 0.0
    for i in range(steps):
        x = width * (2 * (i + 0.5) / steps - 1)
        rest = bar - x
        tail = math.exp(-rest / other) / 2 if rest > 0 else 1 - math.exp(rest / other) / 2
        total += math.exp(-abs(x) / one) / (2 * one) * tail * 2 * width / steps
    return total
