"""The trainer: sampler, clipping, noise and accountant in one object that cannot be taken apart."""

import copy
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from functools import cached_property, partial
from operator import mul
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.errors import BudgetError, InputError
from discreet.learn.noise_plan import GradientGrid, NoisePlan
from discreet.learn.torch.checkpoints import TrainingLedger
from discreet.learn.torch.grid_noise import GradientNoise
from discreet.learn.torch.inspection import inspect, refuse_layers
from discreet.learn.torch.layers import PersonGradient, without
from discreet.learn.torch.person_gradients import PersonGradients
from discreet.learn.torch.sampling import Batches, PeopleBatch, PeopleSampler
from discreet.noise import below
from discreet.privacy import Guarantee
from discreet.rationals import Real, positive, whole

_LARGEST: Final = 1 << 51
"""Sums beyond this many steps are cut: cutting brings two vectors no further apart."""

_LEAST: Final = Fraction(1, 1 << 40)
"""Clips from here on: norms of float32 below 2^-64 may be told as 0."""

_LOW: Final = 1 - 2.0**-8 - 2.0**-12
"""Weights and slopes of 8 bits are rounded up by less than this much together."""

_AT_ONCE: Final = 128
_NUMBERS: Final = {"cpu": 1 << 26, "cuda": 1 << 32}
"""How many numbers of instantiated gradients a device holds."""

_SHOWN: Final = 20
_RECORDED: Final = 64  # how often a run is recorded elsewhere, at least


class Trainer:
    """Train a torch model with differential privacy for every person (DP-SGD).

    Each step takes a secret Poisson sample of people, computes each person's mean gradient over
    their rows, clips it to `clip` in l2, sums, adds Gaussian noise, divides by `batch`, and hands
    the result to an optimizer.

    Guarantee:
        All steps together, and so the model after every step, are (epsilon, delta)-differentially
        private: `guarantee_`, tight, for the steps that were begun.
    Neighbours:
        One person more or less with all their rows: `groups` in `fit`; each row is a person
        without. `people`, about how many there are, is a public number.
    Why:
        Noise on a public grid (`GradientGrid`) is exact (`GradientNoise`). What a person moves the
        sum by is *proved* with `exact=True`, given that their own gradient does not depend on
        others in the batch: each clipped gradient is rounded to the grid before the sum. Without,
        sums of floats are rounded once, and what floats may differ by on neighbours is *argued* to
        be below 2^-11 of the clip, which the sensitivity includes. See docs/how-to/training.md.
    Edge cases:
        An empty sample is noise alone. A person whose gradient is not finite, or on whose rows the
        model or the loss fails, adds nothing (on a GPU torch may not survive the latter). Layers
        that mix people or keep statistics are refused by name, before any data is looked at.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[..., Tensor],
        *,
        epsilon: Real,
        delta: Real,
        epochs: Real,
        batch: int,
        people: int | None = None,
        clip: Real = 1,
        optimizer: Callable[[Any], torch.optim.Optimizer] | None = None,
        schedule: Callable[[Any], Any] | None = None,
        max_rows_per_unit: int = 1,
        at_once: int | None = None,
        band: int = 1,
        precision: torch.dtype = torch.float32,
        exact: bool = False,
        checkpoint: str | Path | None = None,
        every: int = 100,
        progress: bool = False,
    ) -> None:
        if people is None:
            why = "counted from the data, it would give away who is in it"
            fix = "pass people=, about how many there are, as a public or a noisy number"
            raise InputError("people is missing", why=why, fix=fix)
        self.plan = NoisePlan(epsilon, delta, people, batch, epochs, band)  # type: ignore[arg-type] # read there
        refuse_layers(model)
        self.model: nn.Module = model
        self.loss: Any = loss
        if isinstance(loss, nn.Module) and hasattr(loss, "reduction"):
            self.loss = copy.copy(loss)  # a loss of torch, told not to reduce
            self.loss.reduction = "none"
        self.device = next(model.parameters()).device
        trained = [p for p in model.parameters() if p.requires_grad]
        self.grid = GradientGrid(positive(clip, "clip"), sum(p.numel() for p in trained))
        if isinstance(optimizer, torch.optim.Optimizer):
            raise InputError(
                "an optimizer that has its parameters",
                why="the trainer says which they are",
                fix="pass a function: optimizer=lambda p: torch.optim.SGD(p, lr=0.1)",
            )
        self.optimizer = (optimizer or partial(torch.optim.Adam, lr=1e-3))(trained)
        self._parts: dict[str, Any] = {"model": model, "optimizer": self.optimizer}
        if schedule is not None:
            self._parts["schedule"] = schedule(self.optimizer)
        self.rows = whole(max_rows_per_unit, "max_rows_per_unit", at_least=1)
        room = _NUMBERS.get(self.device.type, 1 << 26) // self.grid.dimension
        most = at_once or max(8, min(_AT_ONCE, batch // 4, room))
        self.at_once = whole(most, "at_once", at_least=1)
        self.precision, self.exact = precision, exact
        self._autocast: Callable[[], AbstractContextManager[Any]] = nullcontext
        if precision is not torch.float32:
            self._autocast = partial(torch.autocast, self.device.type, dtype=precision)
        self.checkpoint, self.progress = checkpoint, progress
        self.every = whole(every, "every", at_least=1)
        self._step, self._ledger = 0, TrainingLedger(None, {})
        self._record: Callable[[int], None] | None = None
        self._recorded = 0
        self._sums: list[Tensor] = []
        self._told: list[Tensor] = []
        if self.grid.clip < _LEAST:
            what, why = "clip is below 2^-40", "squares of float32 vanish"
            raise InputError(what, why=why, fix="scale the loss")
        if isinstance(self.optimizer, torch.optim.LBFGS):
            what = "an optimizer that asks for the loss again"
            raise InputError(what, why="a step releases one gradient", fix="use Adam or SGD")
        if exact and precision is not torch.float32:
            raise InputError("exact low precision", why="it is neither", fix="choose one")

    @cached_property
    def noise(self) -> GradientNoise:
        """The mechanism of every step."""
        moved, sigma = self.grid.sigma(self.plan.mu, self.plan.coefficients)
        return GradientNoise(sensitivity=moved, sigma=sigma, dimension=self.grid.dimension)

    @property
    def guarantee_(self) -> Guarantee:
        """The composed guarantee of all steps that were begun."""
        return self.plan.guarantee(self._ledger.spent)

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Train on rows; `X` is a tensor or a tuple of tensors, `groups` names people."""
        inputs, targets, gradients = self.check(X, y)
        told = {"rows": self.rows, "at_once": self.at_once, "places": self.plan.band}
        sampler = PeopleSampler(inputs, targets, groups, **told)
        self._ledger = TrainingLedger(self.checkpoint, self.facts())
        sampler.seats = self._resume(sampler.seats)
        self._train(sampler, gradients)
        return self

    def check(self, X: Any, y: Any) -> tuple[tuple[Tensor, ...], Tensor | None, PersonGradients]:
        """Refuse a trainer that was fitted, and a model that rows of this shape do not suit."""
        if self._step or (self.checkpoint is None and self._ledger.spent):
            what, why = "a trainer that was fitted", "another fit would spend again"
            raise InputError(what, why=why, fix="make a new trainer, and count both")
        inputs = tuple(map(_tensor, X)) if isinstance(X, tuple) else (_tensor(X),)
        targets = None if y is None else _tensor(y)
        self.model.train()
        shape = {"people": self.at_once, "rows": self.rows}
        heard = inspect(self.model, self._losses, inputs, targets, self._autocast, **shape)
        return inputs, targets, heard

    def record_ahead(self, folder: Path, spent: int, record: Callable[[int], None]) -> None:
        """Keep the run in a folder, and have steps recorded elsewhere too, a few at a time.

        Steps are recorded before they are taken. Those that were, `spent`, are never taken again,
        whatever the folder says: it may be a copy of an earlier one.
        """
        ledger = TrainingLedger(folder, self.facts())
        ledger.lose(spent)
        self.checkpoint, self._record, self._recorded = folder, record, ledger.spent
        record(ledger.spent)

    def _train(self, sampler: PeopleSampler, gradients: PersonGradients) -> None:
        forked = [self.device] if self.device.type == "cuda" else []
        from rich.console import Console  # noqa: PLC0415 - where it is used
        from rich.progress import Progress  # noqa: PLC0415

        bar = Progress(console=Console(stderr=True), disable=not self.progress)
        with bar, torch.random.fork_rng(forked):
            bar.add_task("epsilon 0", total=self.plan.steps)
            while self._ledger.spent < self.plan.steps:
                if self._record is not None and self._ledger.spent >= self._recorded:
                    few = max(1, min(self.every, self.plan.steps // _RECORDED))
                    self._recorded = min(self._ledger.spent + few, self.plan.steps)
                    self._record(self._recorded)
                taken = self._ledger.charge()
                if taken > self.plan.steps or (self.plan.band > 1 and taken > self._step + 1):
                    what, why = "one step more than planned", "another run in the folder took it"
                    raise BudgetError(what, why=why, fix="use its model", asked=1, left=0)
                self._take_step(sampler, gradients)
                self._step += 1
                if self._step % self.every == 0 or self._ledger.spent >= self.plan.steps:
                    self._ledger.save(self._state(sampler.seats))
                self._show(bar)

    def _take_step(self, sampler: PeopleSampler, gradients: PersonGradients) -> None:
        torch.manual_seed(int(below(1 << 63)))  # masks of dropout must not be known
        sampled = sampler.sample(self._step, self.plan.rate)
        total = self._sum_clipped(sampler.batches(sampled, self.device), gradients)
        whole_steps = total.round_().clamp_(-_LARGEST, _LARGEST).to(torch.int64)
        kind = next(self.model.parameters()).dtype
        told = self._release(whole_steps).mul_(2.0**self.grid.exponent / self.plan.batch).to(kind)
        trained = list(gradients.parameters.values())
        parts = torch.split(told, [one.numel() for one in trained])
        for one, part in zip(trained, parts, strict=True):
            one.grad = part.view_as(one).to(one)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if "schedule" in self._parts:
            self._parts["schedule"].step()

    def _sum_clipped(self, batches: Callable[[], Batches], gradients: PersonGradients) -> Tensor:
        """The sum of clipped gradients in steps of the grid; who has none that is finite is out.

        A GPU is asked once a step whether there is such a person, and then the sum is made again.
        """
        for drop in (False, True):
            total = torch.zeros(self.grid.dimension, dtype=torch.float64, device=self.device)
            lost = [self.add_clipped(one, gradients, total, drop=drop) for one in batches()]
            if drop or not lost or not bool(torch.stack(lost).any()):
                break
        return total

    def add_clipped(
        self, batch: PeopleBatch, gradients: PersonGradients, total: Tensor, *, drop: bool = True
    ) -> Tensor:
        """Add the clipped gradients of some people to a sum, in steps of the grid.

        The answer says whether somebody's gradient is not finite: with `drop` they add nothing,
        without the sum is of no use.
        """
        try:
            found, norms = self._found(batch, gradients)
        except torch.OutOfMemoryError:  # shapes are public
            raise
        except Exception:  # noqa: BLE001 - whatever somebody's rows do to a model or a loss
            halves = batch.halves()  # of a person alone there are none: they add nothing
            told = [self.add_clipped(one, gradients, total, drop=drop) for one in halves]
            return torch.tensor(any(told), device=self.device)
        lost = ~norms.isfinite()
        if drop:
            found = [(at, without(one, lost)) for at, one in found]
            norms = norms.masked_fill(lost, 0)
        clip, scale = float(self.grid.clip), 2.0**-self.grid.exponent
        weights = clip / norms.clamp(min=clip) * (1 if self.precision is torch.float32 else _LOW)
        for at, one in found:
            if self.exact:
                each = one.instantiated().grads.flatten(1).double()
                total[at] += (each * (weights[:, None] * scale)).round_().sum(0)
            else:
                total[at].add_(one.weighted_sum(weights.float()).flatten(), alpha=scale)
        return lost.any()

    def _found(
        self, batch: PeopleBatch, gradients: PersonGradients
    ) -> tuple[list[tuple[slice, PersonGradient]], Tensor]:
        """Gradients by their place in a sum, and each person's norm of all of them."""

        def loss() -> Tensor:
            return (self._losses(batch.inputs, batch.targets) * batch.weights).sum()

        each = gradients.of(loss, batch.people, batch.rows, self._autocast)
        found = gradients.placed(each)
        squares = torch.zeros(batch.people, dtype=torch.float64, device=self.device)
        for _, one in found:
            if self.exact:
                squares += one.instantiated().grads.flatten(1).double().square().sum(1)
            else:
                squares += one.norm_squares()
        return found, squares.sqrt_()

    def _losses(self, inputs: tuple[Tensor, ...], targets: Tensor | None) -> Tensor:
        """One loss a row."""
        out = self.model(*inputs)
        each = self.loss(out) if targets is None else self.loss(out, targets)
        if each.dim() < 1 or len(each) != len(inputs[0]):
            what, fix = "a loss that is not one a row", 'pass a loss with reduction="none"'
            raise InputError(what, why="a person's gradient is that of their own rows", fix=fix)
        return each.flatten(1).mean(1) if each.dim() > 1 else each

    def _release(self, sums: Tensor) -> Tensor:
        """Noisy sums; with a band, of sums joined with earlier ones, taken apart again."""
        first, *factors = self.plan.coefficients.tolist()
        if not factors:
            return self.noise.release(sums).double()
        joined = sum(map(mul, factors, self._sums), first * sums)
        told = self.noise.release(joined).double() - sum(map(mul, factors, self._told))
        told /= first
        self._sums = [sums, *self._sums][: len(factors)]
        self._told = [told.clone(), *self._told][: len(factors)]
        return told

    # --- a run that goes on -------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """The identity of a run: its plan and the shapes of its parameters."""
        shapes = [list(p.shape) for p in self.model.parameters() if p.requires_grad]
        names = [name for name in self.plan.__dataclass_fields__ if name != "settled"]
        told = {name: str(getattr(self.plan, name)) for name in names}
        return {**told, "clip": str(self.grid.clip), "shapes": shapes, "rows": self.rows}

    def words(self) -> list[str]:
        """Further parts of a run's identity, in words that are the same in every process."""
        said = [one.items() for one in self.optimizer.param_groups]
        groups = [[(k, v) for k, v in one if k != "params" and v] for one in said]
        loss = self.loss if isinstance(self.loss, nn.Module) else _named(self.loss)
        kinds = map(_named, (type(self.optimizer), type(self._parts.get("schedule"))))
        told = (self.model, loss, groups, *kinds, self.precision, self.exact)
        return [re.sub(r"0x[0-9a-fA-F]+", "", str(one)) for one in told]

    def _state(self, seats: NDArray[Any]) -> dict[str, Any]:
        here = {"step": self._step, "spent": self._ledger.spent, "sums": self._sums}
        here["seats"] = torch.tensor(seats if self.plan.band > 1 else [])  # as many as people
        parts = {name: one.state_dict() for name, one in self._parts.items()}
        return {**here, "told": self._told, **parts}

    def _resume(self, seats: NDArray[Any]) -> NDArray[Any]:
        """Go on from a state that was kept; the seats that people have in it, or these."""
        state = self._ledger.load(self.device)
        saved = 0 if state is None else state["spent"]
        if self._ledger.spent < saved:
            why = "steps that were paid for are missing there"
            fix = "put the ledger back, or start anew in another folder"
            raise InputError("a state with more steps than its ledger", why=why, fix=fix)
        if self.plan.band > 1 and self._ledger.spent > saved:
            why = "a person could take part more often than the band allows"
            fix = "pass every=1, and start anew in another folder"
            raise InputError("a run with banded noise that lost a step", why=why, fix=fix)
        if state is None:
            return seats
        for name, one in self._parts.items():
            one.load_state_dict(state[name])
        self._step, self._sums, self._told = state["step"], state["sums"], state["told"]
        return np.asarray(state["seats"].cpu()) if self.plan.band > 1 else seats

    def _show(self, bar: Any) -> None:
        """Show how far the run is, and epsilon so far; never a loss, which is private."""
        (task,), spent, steps = bar.task_ids, self._ledger.spent, self.plan.steps
        bar.update(task, completed=spent)
        if self.progress and (spent % max(1, steps // _SHOWN) == 0 or spent == steps):
            so_far = self.plan.guarantee(spent).epsilon(self.plan.delta).upper
            bar.update(task, description=f"epsilon {so_far:.3f}")


def _named(one: Any) -> str:
    return getattr(one, "__qualname__", type(one).__qualname__)


def _tensor(data: Any) -> Tensor:
    if torch.is_tensor(data):
        return data.detach()
    try:
        array = np.asarray(data)
    except ValueError:  # rows of several lengths, or a dataset
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        fix = "pass numbers, labels as 0, 1, ...; of a TensorDataset the parts of its .tensors"
        what, why = "rows or targets that are no numbers", "a tensor holds numbers, as many a row"
        raise InputError(what, why=why, fix=fix)
    return torch.from_numpy(array.astype(np.float32) if array.dtype == np.float64 else array)
