"""One protocol of each kind, small, with two values to report and a list to look up."""

from discreet import local

EVERY = {
    "k-randomized-response": (local.KRandomizedResponse(epsilon=1, domain=10), (3, 4)),
    "unary-encoding": (local.UnaryEncoding(epsilon=1, domain=10), (3, 4)),
    "symmetric": (local.UnaryEncoding(epsilon=1, domain=10, form="symmetric"), (3, 4)),
    "subset-selection": (local.SubsetSelection(epsilon=1, domain=10), (3, 4)),
    "local-hashing": (local.LocalHashing(epsilon=1, domain=10), (3, 4)),
    "hadamard-response": (local.HadamardResponse(epsilon=1, domain=10), (3, 4)),
    "count-mean-sketch": (local.CountMeanSketch(epsilon=1, hashes=4, columns=16), ("a", "b")),
    "hadamard-sketch": (local.HadamardCountMeanSketch(epsilon=1, hashes=4, columns=16), ("a", "b")),
    "rappor": (local.Rappor(bits=16, cohorts=4), ("a", "b")),
    "mean-1bit": (local.Mean1Bit(epsilon=1), (-0.5, 0.5)),
    "piecewise-mean": (local.PiecewiseMean(epsilon=1), (-0.5, 0.5)),
    "hybrid-mean": (local.HybridMean(epsilon=1), (-0.5, 0.5)),
    "unit-vector-mean": (
        local.UnitVectorMean(epsilon=1, dimension=2, directions=4),
        ([1.0, 0.0], [0.0, 1.0]),
    ),
    "heavy-hitters": (local.HeavyHitters(epsilon=1, length=2), ("ab", "cd")),
}
