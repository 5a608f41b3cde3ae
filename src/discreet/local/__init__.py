"""The local model: reports that nobody has to be trusted with.

A protocol is a frozen object of public parameters. Its reporter runs on a person's device and its
aggregator on any server (`LocalHashing` is OLH, `UnaryEncoding` OUE, `KRandomizedResponse` GRR):

>>> from discreet import local
>>> poll = local.HadamardResponse(epsilon=1, domain=["tea", "coffee", "water", "none"])
>>> report = poll.reporter().report("tea")
>>> poll.aggregator().add(report).n
1
"""

from discreet.argument_names import exports

__getattr__, __all__ = exports(__name__)
