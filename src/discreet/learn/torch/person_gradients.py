"""Listen to one forward and one backward pass, and give each person's gradient of every parameter.

Parameters do not ask for gradients meanwhile, so torch computes the slopes of layers' outputs and
no sum over a batch. A layer with a rule (`layers`) turns slopes into gradients at once; any other
module that owns parameters is run again for each person under `torch.vmap`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from discreet.errors import InputError, InvariantBroken
from discreet.learn.torch.layers import Found, PersonGradient, PersonMatrix, Rule, rule_of


@contextmanager
def changed(attributes: Iterable[tuple[object, str, Any]]) -> Iterator[None]:
    """Objects with other values of some attributes for a while."""
    with ExitStack() as undo:
        for one, name, value in attributes:
            undo.callback(setattr, one, name, getattr(one, name))
            setattr(one, name, value)
        yield


class _Joined(torch.autograd.Function):
    """An output that no trainable input led to, as part of the graph: its slope is asked for."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, anchor: Tensor) -> Tensor:
        """The output itself."""
        del anchor
        ctx.mark_dirty(out)
        return out

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        """Stop the gradient here."""
        del ctx, slopes
        return None, None


@dataclass(slots=True)
class LayerCall:
    """One call of a unit: what went in, and the slopes of what came out, once they are known.

    With a `rule`, it is a layer's, which knows gradients from input and slope alone.
    """

    name: str
    unit: nn.Module
    rule: Rule | None
    inputs: dict[Any, Any]
    versions: list[int] = field(default_factory=list)
    length: int = 0
    """The first dimension of what came out."""

    slopes: dict[int, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.versions = [one._version for one in self.tensors.values()]  # noqa: SLF001 - torch has no public name

    @property
    def tensors(self) -> dict[Any, Tensor]:
        """The inputs that are tensors."""
        return {at: one for at, one in self.inputs.items() if torch.is_tensor(one)}

    @property
    def lengths(self) -> dict[Any, int]:
        """The first dimension of each tensor that went in."""
        return {at: (*one.shape, 0)[0] for at, one in self.tensors.items()}

    def check_unchanged(self) -> None:
        """Refuse an input that was changed in place since."""
        if [one._version for one in self.tensors.values()] != self.versions:  # noqa: SLF001 - likewise
            raise InputError(
                f"the input of {self.name} ({type(self.unit).__name__}) is changed in place",
                why="a person's gradient is made of what went in",
                fix="use operations that are not in place (inplace=False) before it",
            )


class PersonGradients:
    """Gradients of the trainable parameters of a model, person by person.

    `parameters` are those of one dimension, then the others; sums have them in this order.
    `batched` says of each call of a unit, in their order, which of its inputs have rows first, as
    an inspection found.
    """

    def __init__(self, model: nn.Module, units: Mapping[str, nn.Module]) -> None:
        self.model, self.units = model, units
        trained = [one for one in model.named_parameters() if one[1].requires_grad]
        self.parameters = dict(sorted(trained, key=lambda one: one[1].dim() > 1))
        self.batched: list[set[Any]] = []
        self.expanded: set[str] = set()
        self.calls: list[LayerCall] = []
        self._names = {id(p): n for n, p in self.parameters.items()}
        self._found: dict[str, PersonGradient] = {}
        device = next(model.parameters()).device
        self._anchor = torch.zeros((), device=device, requires_grad=True)
        self._open, self._people, self._rows = False, 0, 0

    def of(
        self,
        loss: Callable[[], Tensor],
        people: int,
        rows: int,
        precision: Callable[[], AbstractContextManager[Any]],
    ) -> dict[str, PersonGradient]:
        """Gradients of a scalar loss whose model ran on `people` times `rows` slots."""
        self._found, self.calls = {}, []
        self._people, self._rows = people, people * rows
        with self._listening():
            with precision():
                total = loss()
            self._open = False
            total.backward()  # type: ignore[no-untyped-call] # torch's own
        for at, call in enumerate(self.calls):
            if call.rule is None and call.slopes:
                with precision():
                    self._add(call, self._by_person(at, call))
        found, self._found = self._found, {}
        return found

    def placed(self, found: Found) -> list[tuple[slice, PersonGradient]]:
        """Gradients by their place in a sum; the many of one dimension are one matrix together."""
        small, at = [], 0
        places: list[tuple[slice, PersonGradient]] = []
        for name, one in self.parameters.items():
            if one.dim() < 2:
                none = one.new_zeros(self._people, one.numel())
                small.append(found[name].instantiated().grads.flatten(1) if name in found else none)
            elif name in found:
                places.append((slice(at, at + one.numel()), found[name]))
            at += one.numel()
        if small:
            joined = PersonMatrix(torch.cat(small, 1))
            places.insert(0, (slice(0, joined.grads.shape[1]), joined))
        return places

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Hear every call of a unit; parameters ask for no gradient meanwhile."""
        quiet = [(one, "requires_grad", False) for one in self.parameters.values()]
        with torch.enable_grad(), changed(quiet), ExitStack() as hooks:
            for name, unit in self.units.items():
                if name in self.expanded:
                    hooks.enter_context(unit.register_forward_pre_hook(self._expand))
                if type(unit) is nn.MultiheadAttention and _has_own_projections(unit):
                    unit.forward = self._attention(name, unit)  # type: ignore[method-assign]
                    hooks.callback(delattr, unit, "forward")
                else:
                    heard = partial(self._heard, name)
                    hooks.enter_context(unit.register_forward_hook(heard, with_kwargs=True))
            hooks.callback(setattr, self, "_open", False)  # noqa: FBT003 - its third argument
            self._open = True
            yield

    def _expand(self, unit: nn.Module, args: tuple[Any, ...]) -> Any:
        """Places that all rows share (positions, say), written down for each row."""
        places = args[0]
        lead = places if places.dim() > 1 and places.shape[0] == 1 else places[None]
        return (lead.expand(self._rows, *lead.shape[1:]), *args[1:])

    def _heard(
        self, name: str, unit: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> Any:
        if not self._open:
            return out
        given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        return self._follow(LayerCall(name, unit, rule_of(unit), given), out)

    def _follow(self, call: LayerCall, out: Any) -> Any:
        """Ask for the slopes of what came out of a call."""
        several = list(out) if isinstance(out, (tuple, list)) else [out]
        call.length = (*getattr(several[0], "shape", ()), 0)[0]
        self.calls.append(call)
        for at, one in enumerate(several):
            if torch.is_tensor(one) and one.is_floating_point():
                joined = one if one.requires_grad else _Joined.apply(one, self._anchor)  # type: ignore[no-untyped-call] # torch's own
                joined.register_hook(self._arrived(call, at))
                several[at] = joined
        whole = getattr(type(out), "_make", type(out))  # of a named tuple, from its parts
        return whole(several) if isinstance(out, (tuple, list)) else several[0]

    def _arrived(self, call: LayerCall, at: int) -> Callable[[Tensor], None]:
        def hook(slope: Tensor) -> None:
            call.slopes[at] = slope
            if call.rule is not None:
                (x,) = call.tensors.values()
                call.check_unchanged()
                if len(slope) != self._rows:  # rows that were chosen by their values, say
                    raise _other_calls()
                self._add(call, call.rule(call.unit, x.detach(), slope, self._people))
                call.inputs, call.slopes = {}, {}

        return hook

    def _attention(self, name: str, unit: nn.MultiheadAttention) -> Callable[..., Any]:
        """Self-attention as two linear layers that are heard; any other kind as it is."""
        usual, out_proj = unit.forward, unit.out_proj
        first = _linear(unit.in_proj_weight, unit.in_proj_bias)
        last = _linear(out_proj.weight, out_proj.bias)

        def called(layer: nn.Linear, x: Tensor) -> Any:
            return self._heard(name, layer, (x,), {}, layer(x))

        def forward(query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Any:
            told = dict(zip(_ATTENTION, args, strict=False)) | kwargs
            plain = query is key is value and query.dim() == 3 and unit.bias_k is None
            if not (plain and self._open) or told.get("need_weights", True) or unit.add_zero_attn:
                given = query, key, value, *args
                return self._heard(name, unit, given, kwargs, usual(*given, **kwargs))
            rows, places, width = query.shape
            shape = rows, places, 3, unit.num_heads, unit.head_dim
            q, k, v = called(first, query).view(shape).permute(2, 0, 3, 1, 4)
            drop = unit.dropout if unit.training else 0.0
            mask = _mask(told, rows, unit.num_heads, query)
            out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=drop)
            return called(last, out.transpose(1, 2).reshape(rows, places, width)), None

        return forward

    def _add(self, call: LayerCall, found: Found) -> None:
        owned = dict(call.unit.named_parameters())
        for name, gradient in found.items():
            whole = self._names.get(id(owned[name]))
            if whole in self._found:  # gradients of a shared parameter add up before their norm
                some, more = self._found[whole].instantiated(), gradient.instantiated()
                self._found[whole] = PersonMatrix(some.grads + more.grads)
            elif whole is not None:
                self._found[whole] = gradient

    def _by_person(self, number: int, call: LayerCall) -> Found:
        """Run a unit again for each person, and differentiate."""
        call.check_unchanged()
        unit, people = call.unit, self._people
        rest = {n: p.detach() for n, p in unit.named_parameters()}
        mine = {n: rest.pop(n) for n, p in unit.named_parameters() if id(p) in self._names}

        def blocks(one: Tensor) -> Tensor:
            return one.detach().reshape(people, -1, *one.shape[1:])

        if number >= len(self.batched):
            raise _other_calls()
        first = self.batched[number]
        batched = {at: blocks(one) for at, one in call.tensors.items() if at in first}
        slopes = {at: blocks(one) for at, one in call.slopes.items()}

        def value(ours: Any, inputs: Any, slopes: Any) -> Tensor:
            given = {**call.inputs, **inputs}
            args = tuple(given[at] for at in given if isinstance(at, int))
            kwargs = {at: one for at, one in given.items() if isinstance(at, str)}
            out = torch.func.functional_call(unit, {**rest, **ours}, args, kwargs)
            several = out if isinstance(out, (tuple, list)) else [out]
            return torch.stack([(several[at] * g).sum() for at, g in slopes.items()]).sum()

        gradient = torch.func.grad(value)

        def one_by_one(ours: Any, *parts: dict[Any, Tensor]) -> dict[str, Tensor]:
            inner = unit.num_layers - 1 if isinstance(unit, nn.RNNBase) else 0
            if inner and unit.training and unit.dropout:
                raise RuntimeError("randomness")
            each = [
                gradient(ours, *({k: v[at] for k, v in one.items()} for one in parts))
                for at in range(people)
            ]
            return {name: torch.stack([one[name] for one in each]) for name in mine}

        together = torch.vmap(gradient, in_dims=(None, 0, 0), randomness="error")
        try:
            with sdpa_kernel(SDPBackend.MATH):
                run = one_by_one if type(unit) in _RECURRENT else together
                grads = run(mine, batched, slopes)
        except (RuntimeError, NotImplementedError, ValueError) as wrong:
            random = "randomness" in str(wrong)
            raise InputError(
                f"{call.name or 'the model'} ({type(unit).__name__}) cannot run person by person",
                why="it draws random numbers inside" if random else type(wrong).__name__,
                fix="set its dropout to 0" if random else "build it of layers that have a rule",
            ) from None
        return {n: PersonMatrix(one if one.dim() > 1 else one[:, None]) for n, one in grads.items()}


_RECURRENT: Final = nn.RNN, nn.LSTM, nn.GRU, nn.RNNCell, nn.LSTMCell, nn.GRUCell
"""Layers that vmap has no rule for and that treat rows alike: they run once for each person.

Any other module that vmap refuses may decide by values, over all rows, how it treats each row.
"""

_ATTENTION: Final = "key_padding_mask", "need_weights", "attn_mask", "average_attn_weights"
"""Arguments of attention by their place, after query, key and value."""


def _has_own_projections(unit: nn.MultiheadAttention) -> bool:
    """Whether weights are parameters as they are, in and out, and torch's code runs on them."""
    plain = all(isinstance(p, nn.Parameter) for p in (unit.in_proj_weight, unit.out_proj.weight))
    return plain and "forward" not in vars(unit)


def _linear(weight: Any, bias: Any) -> nn.Linear:
    """A layer of parameters that another module owns."""
    layer = nn.Linear(1, 1, device="meta")
    layer.weight, layer.bias = weight, bias
    return layer


def _mask(told: Mapping[str, Any], rows: int, heads: int, like: Tensor) -> Tensor | None:
    """Both masks of an attention as one that is added."""
    attended, padding = (told.get(name) for name in ("attn_mask", "key_padding_mask"))
    if attended is not None and attended.dim() == 3:
        attended = attended.view(rows, heads, *attended.shape[1:])
    found = [attended, None if padding is None else padding[:, None, None, :]]
    added = [
        torch.zeros_like(one, dtype=like.dtype).masked_fill_(one, float("-inf"))
        if one.dtype is torch.bool
        else one
        for one in found
        if one is not None
    ]
    return sum(added[1:], added[0]) if added else None


def _other_calls() -> InvariantBroken:
    return InvariantBroken(
        "the model calls other layers than when it was inspected",
        why="which tensors have rows first was found out then",
        fix="use a model that calls the same layers for every input",
    )
