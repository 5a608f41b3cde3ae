"""Training torch models under differential privacy: `Trainer`, and adapters for large models."""

from discreet.errors import InputError

try:
    import torch  # noqa: F401 - to say in one sentence what is missing
except ImportError:  # pragma: no cover - the tests have it
    why = "it is an extra, so that the rest of the package stays small"
    what, fix = "discreet.learn.torch needs torch", "pip install 'discreet[torch]'"
    raise InputError(what, why=why, fix=fix) from None

from discreet.learn.torch.adapters import LowRankLinear, add_adapters, merge_adapters
from discreet.learn.torch.trainer import Trainer

__all__ = ["LowRankLinear", "Trainer", "add_adapters", "merge_adapters"]
