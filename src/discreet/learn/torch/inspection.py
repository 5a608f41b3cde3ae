"""Look at a model before any data: which layers are heard, and what is refused by name.

All questions are asked of made-up rows that have the shape of the real ones, so that every refusal
happens for public reasons.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor, nn

from discreet.errors import DiscreetError, InputError
from discreet.learn.torch.person_gradients import LayerCall, PersonGradients, changed

_CLOSE: Final = 1e-3  # how near to torch's own gradient ours must be on made-up rows, relatively
_MIXING: Final = (nn.modules.batchnorm._BatchNorm, nn.SyncBatchNorm)  # noqa: SLF001 - all sizes
_RANDOM: Final = (nn.RReLU, nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)
_DROPOUT: Final = nn.modules.dropout._DropoutNd  # noqa: SLF001 - the public ones share it

_DROP_INSIDE: Final = (nn.MultiheadAttention, nn.RNNBase)

Losses = Callable[..., Tensor]
"""One loss a row, from a model's inputs and targets."""


def inspect(
    model: nn.Module,
    losses: Losses,
    inputs: tuple[Tensor, ...],
    targets: Tensor | None,
    precision: Callable[[], AbstractContextManager[Any]] = nullcontext,
    *,
    people: int = 3,
    rows: int = 1,
) -> PersonGradients:
    """How to get each person's gradient; InputError for what mixes people, by the layer's name.

    Guarantee:
        On made-up rows, no row's loss depends on another row, no buffer changes, and each person's
        gradient is torch's own of their loss alone. It runs on as many rows as a batch has.
    Edge cases:
        A model whose parameters are used outside of its layers, or that hides rows from a layer, is
        run as a whole under vmap. Values of `inputs` are not read, only their shapes and types.
    """
    refuse_layers(model)
    device = next(model.parameters()).device
    probes = [_made_up(inputs, targets, rows, device) for rows in (2, 3)]
    with _no_dropout(model):
        try:
            _check_rows(model, losses, probes[1])
        except (RuntimeError, IndexError, TypeError, ValueError) as one:
            if isinstance(one, DiscreetError):
                raise
            raise InputError(
                "a model or a loss that fails on made-up rows of this shape and type",
                why=f"{type(one).__name__}: {one}",
                fix="compare the shapes and types of X and y with what the model takes",
            ) from None
        for units in (units_of(model), {"": model}):
            listener = PersonGradients(model, units)
            try:
                wrong = _learn_layout(listener, losses, probes)
                wrong = wrong or _differs_exactly(listener, losses, probes[1])
            except RuntimeError as one:  # layers that run again in the backward pass, say
                wrong = f"the model ({type(one).__name__})"
            if not wrong:
                break
    if not wrong:  # once more as in training, where nobody would hear that it fails
        probe = _made_up(inputs, targets, people * rows, device)
        listener.of(lambda: losses(*probe).sum(), people, rows, precision)
        return listener
    why = "a person's gradient is not that of their loss, even when the model is run by person"
    fix = "compute with rows as the first dimension, from layers that are called as modules"
    raise InputError(f"{wrong} cannot be trained person by person", why=why, fix=fix)


def units_of(module: nn.Module, name: str = "") -> dict[str, nn.Module]:
    """The modules that are heard: layers with a rule, and others that own parameters."""
    own = any(p.requires_grad for p in module.parameters(recurse=False))
    if own:
        return {name: module}
    found: dict[str, nn.Module] = {}
    for n, child in module.named_children():
        for key, unit in units_of(child, f"{name}.{n}" if name else n).items():
            if unit not in found.values():  # a module may have several homes
                found[key] = unit
    return found


def refuse_layers(model: nn.Module) -> None:
    """Refuse layers that mix people, draw what cannot be repeated, or keep what they saw."""
    for name, layer in model.named_modules():
        what = f"{name or 'the model'} ({type(layer).__name__})"
        if isinstance(layer, _MIXING):
            why = "a batch norm computes each row from all rows, so no person can be clipped"
            what, fix = f"{what} mixes people", "use GroupNorm, LayerNorm or RMSNorm"
            raise InputError(what, why=why, fix=fix)
        if getattr(layer, "track_running_stats", False):
            what, fix = f"{what} keeps statistics of the rows", "pass track_running_stats=False"
            raise InputError(what, why="they would be part of the model without any noise", fix=fix)
        if getattr(layer, "max_norm", None) is not None:
            why = "its table would tell without any noise which of it was looked up"
            raise InputError(f"{what} changes what rows look up", why=why, fix="pass max_norm=None")
        if isinstance(layer, _RANDOM):
            why = "a person's gradient could not be computed again with the same ones"
            what, fix = f"{what} draws random numbers", "use a layer without, or Dropout"
            raise InputError(what, why=why, fix=fix)
        if isinstance(layer, nn.MultiheadAttention) and not layer.batch_first:
            why, fix = "people are told apart by the first dimension", "pass batch_first=True"
            raise InputError(f"{what} takes positions before rows", why=why, fix=fix)
    trained = [p for p in model.parameters() if p.requires_grad]
    if any(p.dtype in (torch.float16, torch.bfloat16) for p in trained):
        fix = "pass model.float(), and precision=torch.bfloat16 to compute in 16 bits"
        what, why = "trainable parameters of 16 bits", "their steps would be rounded away"
        raise InputError(what, why=why, fix=fix)
    if not trained:
        what = "a model without trainable parameters"
        raise InputError(what, why="there is nothing to learn", fix="set requires_grad on some")


def _no_dropout(model: nn.Module) -> AbstractContextManager[None]:
    """Turn dropout off; layers that hide it inside are still refused, by name, as they are run."""
    kinds = (_DROPOUT, "training", False), (_DROP_INSIDE, "dropout", 0.0)
    return changed(
        (one, name, off)
        for kind, name, off in kinds
        for one in model.modules()
        if isinstance(one, kind)
    )


Probe = tuple[tuple[Tensor, ...], Tensor | None]


def _made_up(
    inputs: tuple[Tensor, ...], targets: Tensor | None, rows: int, device: torch.device
) -> Probe:
    def numbers(like: Tensor) -> Tensor:
        shape = torch.Size((rows, *like.shape[1:]))
        count = torch.arange(shape.numel())
        waves = torch.sin(1.7 * count.double() + 0.3)  # of no period, so that rows differ
        made = waves if like.is_floating_point() else waves > 0
        return made.to(device, like.dtype).reshape(shape)

    return _mapped(numbers, (inputs, targets))


def _second_row(one: Tensor, times: int) -> Tensor:
    other = one.clone()
    other[1] = one[1] * times if one.is_floating_point() else one[1] == 0
    return other


def _check_rows(model: nn.Module, losses: Losses, probe: Probe) -> None:
    """Refuse what a row of made-up numbers does to the losses of others, or to buffers."""
    before = {name: one.clone() for name, one in model.named_buffers()}
    mixed = _mixes(losses, probe, 0.0)
    if mixed and not _mixes(losses, probe, 1e-4):  # rounding, or a trace? In doubles it shows
        mixed = False
        with suppress(RuntimeError, TypeError, ValueError), _in_double(model):  # where it can run
            mixed = _mixes(losses, _mapped(_doubled, probe), 1e-10)
    if mixed:
        raise InputError(
            "a row's loss that depends on other rows, or on chance",
            why="a person's gradient must be their own",
            fix="look for operations over the first dimension, for outputs and targets of "
            "different shapes, which torch spreads over each other, and for random numbers",
        )
    for name, one in model.named_buffers():
        if not torch.equal(one, before[name]):
            why, fix = "it would keep what it saw without any noise", "remove it from the layer"
            raise InputError(f"the buffer {name} that changes", why=why, fix=fix)


def _mixes(losses: Losses, probe: Probe, close: float) -> bool:
    """Whether two of three rows' losses change with the third row, with their places, or by chance.

    As little as `close` of a loss is none.
    """

    def others(change: Callable[[Tensor], Tensor] = torch.clone) -> Tensor:
        with torch.no_grad():
            return losses(*_mapped(change, probe))[::2]

    first = others()
    told = [others(partial(_second_row, times=times)) for times in (0, 8, -8)]
    told += [others(), others(lambda one: one.flip(0)).flip(0)]
    return not all(
        torch.allclose(first, one, rtol=close, atol=close / 100, equal_nan=True) for one in told
    )


def _learn_layout(listener: PersonGradients, losses: Losses, probes: list[Probe]) -> str:
    """Find out which tensors have rows first; the name of a unit whose rows are not first."""
    seen: list[list[LayerCall]] = []
    for again in (False, True):
        seen = []
        for rows, (inputs, targets) in zip((2, 3), probes, strict=True):
            with listener._listening():  # noqa: SLF001 - the two belong together
                listener.calls, listener._rows = [], rows  # noqa: SLF001
                losses(inputs, targets)
                seen.append(listener.calls)
        pairs = list(zip(*seen, strict=True))
        short = [one for one, other in pairs if (one.length, other.length) != (2, 3)]
        shared = {one.name for one in short if isinstance(one.unit, nn.Embedding)}
        if again or not shared:
            break
        listener.expanded = shared
    listener.batched = [
        {at for at, many in one.lengths.items() if (many, other.lengths.get(at)) == (2, 3)}
        for one, other in pairs
    ]
    return f"{short[0].name} ({type(short[0].unit).__name__})" if short else ""


def _differs(listener: PersonGradients, losses: Losses, probe: Probe) -> str:
    """The name of a parameter where somebody's gradient is not torch's, if there is one.

    Torch's is that of this person's loss alone, in two orders of people: a backward pass that mixes
    them, or a layer that meets their rows in an order of its own, adds up to the same sum.
    """
    parameters = listener.parameters
    for turned in (probe, _mapped(lambda one: one.flip(0), probe)):
        own = listener.of(lambda rows=turned: losses(*rows).sum(), 3, 1, nullcontext)  # type: ignore[misc]
        for person in range(3):
            with torch.enable_grad():
                loss = losses(*turned)[person]
                trained = list(parameters.values())
                torchs = torch.autograd.grad(loss, trained, materialize_grads=True)
            largest = max((float(g.abs().max()) for g in torchs if g.numel()), default=0.0)
            for (name, one), theirs in zip(parameters.items(), torchs, strict=True):
                alone = (torch.arange(3, device=one.device) == person).to(one)
                ours = own[name].weighted_sum(alone) if name in own else 0 * theirs
                off = (ours.to(theirs) - theirs).abs().max()
                # What cancels (a bias before a norm, or of keys) is rounding; NaN is no agreement.
                if not off <= _CLOSE * (theirs.abs().max() + _CLOSE * largest + 1e-6):
                    return f"the parameter {name}"
    return ""


def _differs_exactly(listener: PersonGradients, losses: Losses, probe: Probe) -> str:
    """The same, and in doubles: of gradients that nearly vanish, floats keep rounding alone."""
    wrong = _differs(listener, losses, probe)
    where_it_runs = suppress(RuntimeError, TypeError, DiscreetError)
    if wrong:
        with where_it_runs, _in_double(listener.model):
            return _differs(listener, losses, _mapped(_doubled, probe))
    return wrong


def _mapped(change: Callable[[Tensor], Tensor], probe: Probe) -> Probe:
    inputs, targets = probe
    return tuple(map(change, inputs)), None if targets is None else change(targets)


def _doubled(one: Tensor) -> Tensor:
    return one.double() if one.is_floating_point() else one


def _in_double(model: nn.Module) -> AbstractContextManager[None]:
    """A model of doubles for a while; afterwards it has its own numbers again."""
    held = (*model.parameters(), *model.buffers())
    return changed((one, "data", one.data.double()) for one in held if one.is_floating_point())
