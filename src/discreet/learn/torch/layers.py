"""The gradient of every person in a layer, from what went in and the slope of what came out.

A person has `rows` slots in a batch, so a batch of P people is P x rows long and every tensor of it
can be read as P blocks. Three forms of the same thing, whichever is cheapest:

* `PersonMatrix`: instantiated, P gradients one under another. Norms and sums read them once each.
* `OuterProducts`: a sum over positions of slope times input. Its norm needs the inner products of
  positions alone (ghost norm), and its weighted sum one matrix product (book-keeping), so no
  person's gradient is ever written down. Cheaper where positions are few.
* `LookupSlopes`: the same for an embedding, whose input is a number of a row.

Each tells the squared l2 norm of every person's gradient (never below it, but for the last digits),
the sum over people of weight times gradient (in float32 at least), and the gradients themselves.

References: Goodfellow 2015 (norms without gradients); Li, Tramer, Liang, Hashimoto 2022 (ghost
norms); Bu, Wang, Zha, Karypis 2023 (book-keeping: one backward pass).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

_FEW: Final = 8
"""Ghost norms where positions are fewer than the root of a layer's size over this, on a CPU."""

_PRODUCTS: Final = {2: 60, 4: 6}
"""Products of numbers of so many bytes that a GPU adds up while it moves one byte."""

_LOST: Final = 2.0**-17
"""What rounding may hide of a ghost norm's square, as a share of the largest it could be."""

_TINY: Final = 2.0**-80
"""Squares of float32 that sum up to less may have vanished: the largest norm is taken."""

_SHORT: Final = torch.float16, torch.bfloat16
_ALIGNED: Final = 8  # numbers of 16 bits in what a GPU's matrix units read at once
_SMALL_CONVOLUTION: Final = 1 << 22
"""Products of one person below which a convolution is batched rather than looped on a CPU."""


@dataclass(frozen=True)
class PersonMatrix:
    """Gradients one under another: P x the parameter's shape."""

    grads: Tensor

    def norm_squares(self) -> Tensor:
        """Read off."""
        flat = self.grads.flatten(1)
        kind = torch.promote_types(flat.dtype, torch.float32)
        return torch.linalg.vector_norm(flat, dim=1, dtype=kind).square()

    def weighted_sum(self, weights: Tensor) -> Tensor:
        """A vector times a matrix."""
        flat, shape = self.grads.flatten(1), self.grads.shape[1:]
        if flat.dtype in _SHORT:
            return _product(weights[None].to(flat.dtype), flat).view(shape)
        return torch.mv(flat.T, weights.to(flat.dtype)).view(shape)

    def instantiated(self) -> "PersonMatrix":
        """Itself."""
        return self


@dataclass(frozen=True)
class OuterProducts:
    """Slopes (P x T x p) times inputs (P x T x d), summed over T: a linear layer's gradient."""

    inputs: Tensor
    slopes: Tensor
    size: int
    """p; the slopes may have some columns more, of zeros."""

    def norm_squares(self) -> Tensor:
        """Inner products of positions, and a share of the largest they could cancel from."""
        a, g = self.inputs, self.slopes
        inputs, slopes = _product(a, a.transpose(1, 2)), _product(g, g.transpose(1, 2))
        least = torch.minimum(_trace(inputs), _trace(slopes))
        largest = torch.where(least < _TINY, _bound(a) * _bound(g), _trace(inputs) * _trace(slopes))
        norms = inputs.mul_(slopes).sum((1, 2)).clamp(min=0) + _LOST * largest
        return torch.where(least < _TINY, largest, norms)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        """One matrix product over all people and positions."""
        inputs, slopes = self.inputs, self.slopes
        each = weights.to(slopes.dtype)[:, None, None]
        if inputs.shape[-1] < slopes.shape[-1]:
            inputs = inputs * each
        else:
            slopes = slopes * each
        return _product(slopes.flatten(0, 1).T, inputs.flatten(0, 1))[: self.size]

    def instantiated(self) -> PersonMatrix:
        """One matrix product a person."""
        grads = torch.bmm(self.slopes.transpose(1, 2), self.inputs)
        return PersonMatrix(grads[:, : self.size])


@dataclass(frozen=True)
class LookupSlopes:
    """Slopes (P x T x d) of looked-up vectors, by their place (P x T) in a table of `size`."""

    places: Tensor
    slopes: Tensor
    size: int

    def norm_squares(self) -> Tensor:
        """Inner products of positions that looked up the same."""
        g = self.slopes
        same = self.places[:, :, None] == self.places[:, None, :]
        alike = _product(g, g.transpose(1, 2)).mul_(same)
        return alike.sum((1, 2)).clamp(min=0) + _LOST * _trace(alike)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        """Scattered into the table."""
        g = self.slopes.to(torch.promote_types(self.slopes.dtype, torch.float32))
        table = g.new_zeros(self.size, g.shape[-1])
        weighted = (g * weights[:, None, None]).flatten(0, 1)
        return table.index_add_(0, self.places.flatten(), weighted)

    def instantiated(self) -> PersonMatrix:
        """A table for each person."""
        people, _, width = self.slopes.shape
        tables = self.slopes.new_zeros(people, self.size, width)
        where = self.places[:, :, None].expand_as(self.slopes)
        return PersonMatrix(tables.scatter_add_(1, where, self.slopes))


PersonGradient: TypeAlias = PersonMatrix | OuterProducts | LookupSlopes
"""One parameter's gradient for every person of a batch."""


def without(one: PersonGradient, gone: Tensor) -> PersonGradient:
    """The same where some people's are nothing, finite or not."""
    parts: dict[str, Any] = {
        name: part.masked_fill(gone.view(-1, *[1] * (part.dim() - 1)), 0)
        for name, part in vars(one).items()
        if torch.is_tensor(part)
    }
    return replace(one, **parts)


def _product(left: Tensor, right: Tensor) -> Tensor:
    """A matrix product, or one of each of P pairs, that is not rounded below float32.

    A sum over people would lose digits otherwise, and inner products of positions cancel.
    """
    if left.dtype not in _SHORT:
        return left @ right
    if not left.is_cuda:
        return left.float() @ right.float()
    return (torch.bmm if left.dim() == 3 else torch.mm)(left, right, out_dtype=torch.float32)


def _aligned(one: Tensor) -> Tensor:
    """Pad columns to a multiple that GPU matrix units want: five times faster for odd ones."""
    missing = -one.shape[-1] % _ALIGNED if one.is_cuda and one.dtype in _SHORT else 0
    return functional.pad(one, (0, missing)) if missing else one


def _trace(products: Tensor) -> Tensor:
    """Sum of all squares, from inner products of positions."""
    return products.diagonal(dim1=1, dim2=2).sum(1, dtype=torch.float64)


def _bound(one: Tensor) -> Tensor:
    """Upper bound on a person's sum of squares, also where squares vanish in float32."""
    flat = one.flatten(1)
    return torch.linalg.vector_norm(flat, torch.inf, dim=1).double().square() * flat.shape[1]


# --- one rule a layer ---------------------------------------------------------------------------

Found = dict[str, PersonGradient]
"""What a layer's call gave, by the name of its parameter."""


def _linear(layer: Any, x: Tensor, g: Tensor, people: int) -> Found:
    """A weight and perhaps a bias, used on every position of every row."""
    inputs, slopes = (one.reshape(people, -1, one.shape[-1]) for one in (x.to(g.dtype), g))
    pairs = OuterProducts(inputs, _aligned(slopes), g.shape[-1])
    found: Found = {"weight": pairs if _is_cheap(pairs) else pairs.instantiated()}
    if layer.bias is not None:
        found["bias"] = PersonMatrix(slopes.sum(1))
    return found


def _is_cheap(pairs: OuterProducts) -> bool:
    """Whether ghost norms cost less than a gradient for each person, by shapes alone.

    A GPU pays for moving numbers: gradients are written once and read twice, where ghost norms
    multiply positions with positions, and slopes are read for their size, read and written scaled.
    """
    places, wide, high = *pairs.inputs.shape[1:], pairs.slopes.shape[2]
    if not pairs.slopes.is_cuda:
        return (_FEW * places) ** 2 <= wide * high
    size = pairs.slopes.element_size()
    ghost = places**2 * (wide + high) / _PRODUCTS.get(size, 6)
    return ghost + 3 * size * places * high < 3 * size * wide * high


def _embedding(layer: Any, x: Tensor, g: Tensor, people: int) -> Found:
    places, slopes = x.reshape(people, -1), g.reshape(people, -1, g.shape[-1])
    if layer.padding_idx is not None:
        slopes = slopes.masked_fill((places == layer.padding_idx)[:, :, None], 0)
    return {"weight": LookupSlopes(places, slopes, layer.num_embeddings)}


def _convolution(layer: Any, x: Tensor, g: Tensor, people: int) -> Found:
    ends = [0] * len(layer.stride)
    shape = layer.stride, layer.padding, layer.dilation, False, ends, layer.groups
    weight = layer.weight.to(g.dtype)

    def alone(inputs: Tensor, slopes: Tensor) -> Tensor:
        given, asked = (slopes, inputs, weight, None, *shape), [False, True, False]
        return cast("Tensor", torch.ops.aten.convolution_backward(*given, asked)[1])

    xs, gs = (one.reshape(people, -1, *one.shape[1:]) for one in (x.to(g.dtype), g))
    work = layer.weight.numel() * g.shape[2:].numel() * xs.shape[1]
    if g.is_cuda or work < _SMALL_CONVOLUTION:
        grads = torch.vmap(alone)(xs, gs)
    else:
        grads = torch.stack([alone(*one) for one in zip(xs, gs, strict=True)])
    found: Found = {"weight": PersonMatrix(grads)}
    if layer.bias is not None:
        found["bias"] = PersonMatrix(gs.flatten(3).sum((1, 3)))
    return found


def _normalisation(layer: Any, x: Tensor, g: Tensor, people: int) -> Found:
    """Layers that normalise each row by itself, then scale and shift."""
    plain = {  # what makes a scale and a shift nothing
        name: torch.full_like(own, float(name == "weight"), dtype=torch.float32)
        for name, own in layer.named_parameters()
    }
    x, g = x.float(), g.float()
    slopes = {"weight": g * torch.func.functional_call(layer, plain, x), "bias": g}
    if isinstance(layer, nn.GroupNorm):
        shape, spread = (layer.num_channels, g.shape[2:].numel()), [1, 3]
    else:
        shape, spread = layer.normalized_shape, [1]
    places = people, -1, *shape
    return {n: PersonMatrix(slopes[n].reshape(places).sum(spread)) for n in plain}


Rule = Callable[[Any, Tensor, Tensor, int], Found]

RULES: Final[dict[type[nn.Module], Rule]] = {
    nn.Linear: _linear,
    nn.Embedding: _embedding,
    **dict.fromkeys((nn.Conv1d, nn.Conv2d, nn.Conv3d), _convolution),
    **dict.fromkeys((nn.LayerNorm, nn.RMSNorm, nn.GroupNorm), _normalisation),
}
"""Layers with a rule of their own; subclasses may compute something else and have none."""


def rule_of(layer: nn.Module) -> Rule | None:
    """The rule of a layer, where it computes what the rule says."""
    plain = layer._parameters.get("weight") is not None  # noqa: SLF001 - a parametrised weight is no parameter
    if isinstance(layer, nn.modules.conv._ConvNd):  # noqa: SLF001 - torch names no public base
        plain = plain and layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
    if isinstance(layer, nn.Embedding):
        plain = plain and not (layer.max_norm or layer.scale_grad_by_freq or layer.sparse)
    return RULES.get(type(layer)) if plain else None
