"""x."""
from discreet.local.k_randomized_response import KRandomizedResponse
from discreet.local.unary_encoding import UnaryEncoding, SubsetSelection
from discreet.local.local_hashing import LocalHashing, HadamardResponse
from discreet.local.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from discreet.local.mean import *
from discreet.local.unit_vector_mean import UnitVectorMean
