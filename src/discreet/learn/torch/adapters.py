"""Low-rank adapters: train a small correction of each linear layer, and leave the layer alone."""

import copy
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from discreet.errors import InputError
from discreet.rationals import whole


class LowRankLinear(nn.Module):
    """A frozen linear layer plus `up` after `down`, which starts as nothing.

    Reference: Hu et al., LoRA: Low-Rank Adaptation of Large Language Models (2022).
    """

    def __init__(self, layer: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        weight = layer.weight
        self.layer, self.scale = layer, scale
        self.down = nn.Linear(layer.in_features, rank, bias=False).to(weight)
        self.up = nn.Linear(rank, layer.out_features, bias=False).to(weight)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Tensor) -> Tensor:
        """The layer's output, corrected."""
        fixed: Tensor = self.layer(x)
        return fixed + self.scale * cast("Tensor", self.up(self.down(x)))

    def merged(self) -> nn.Linear:
        """The layer with the correction added to its weights."""
        whole = copy.deepcopy(self.layer)  # its weights may be tied to others
        with torch.no_grad():
            whole.weight += self.scale * self.up.weight @ self.down.weight
        return whole


def add_adapters(
    model: nn.Module, *, rank: int = 8, scale: float = 2.0, targets: Sequence[str] = ()
) -> nn.Module:
    """Freeze a model, and give its linear layers low-rank adapters; changes and returns the model.

    `targets` are the ends of layers' names; none means all linear layers. Linear layers that a
    module uses without calling them, as `nn.MultiheadAttention` does, are left alone.
    """
    size = whole(rank, "rank", at_least=1)
    ends = tuple(f".{end}" for end in targets) or ""
    found = [
        (parent, name, layer)
        for path, parent in model.named_modules()
        if not isinstance(parent, nn.MultiheadAttention)
        for name, layer in parent.named_children()
        if type(layer) is nn.Linear and f"{path}.{name}".endswith(ends)
    ]
    if not found:
        what, why = "no linear layer to adapt", "none has such a name"
        raise InputError(what, why=why, fix="look at named_modules()")
    model.requires_grad_(requires_grad=False)
    for parent, name, layer in found:
        setattr(parent, name, LowRankLinear(layer, size, scale))
    return model


def merge_adapters(model: nn.Module) -> nn.Module:
    """Add all corrections to the weights, and remove the adapters."""
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, LowRankLinear):
                setattr(parent, name, layer.merged())
    return model
