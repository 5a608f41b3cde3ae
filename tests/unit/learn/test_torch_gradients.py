"""Clipped gradients of every layer are those of each person alone."""

from contextlib import nullcontext
from typing import NamedTuple

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from discreet.learn.torch import Trainer, add_adapters
from discreet.learn.torch.inspection import inspect, units_of
from discreet.learn.torch.layers import LookupSlopes, OuterProducts, rule_of
from discreet.learn.torch.sampling import PeopleSampler

WORDS = torch.arange(12 * 6).reshape(12, 6) * 7 % 11


class Tokens(nn.Module):
    """Words and positions, the latter looked up once for all rows."""

    def __init__(self, block):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8, padding_idx=3), nn.Embedding(6, 8)
        self.block, self.head = block, nn.Linear(8, 3)

    def forward(self, x):
        h = self.words(x) + self.places(torch.arange(x.shape[1]))
        return self.head(self.block(h).mean(1))


class Attends(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True, **options)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


class Normalised(Attends):
    def __init__(self):
        super().__init__()
        nn.utils.parametrizations.weight_norm(self.inner.out_proj)


class Looks(Attends):
    """At something else, with masks, and tells where."""

    def forward(self, x):
        hidden = torch.zeros(x.shape[:2], dtype=torch.bool)
        hidden[:, -1] = x[:, -1, 0] > 0
        later = torch.ones(6, 6).triu(1).bool()
        out, where = self.inner(x, x.flip(1), x, key_padding_mask=hidden, attn_mask=later)
        seen = self.inner(x, x, x, hidden, need_weights=False, attn_mask=later)[0]
        return out + where.sum(2, keepdim=True) + seen


class Remembers(nn.Module):
    """A recurrent layer: vmap has a rule for some kinds alone."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0]


class Bare(nn.Module):
    """A parameter that no layer owns, and one that is used by two layers."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return self.inner(torch.tanh(self.inner(x)) * self.scale)


class Twice(nn.Module):
    """A layer that is called twice, and tied to another."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.tanh(self.first(torch.tanh(self.first(x)))))


class Functional(nn.Module):
    """A layer whose weights are used without calling it."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return functional.linear(self.inner(x), self.inner.weight)


class Reruns(nn.Module):
    """A layer that runs again in the backward pass."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return checkpoint(lambda one: torch.tanh(self.inner(one)), x, use_reentrant=False)


class Keys(nn.Module):
    """Attention by hand, with a parameter of no dimension; the keys' bias has no gradient."""

    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(8, 8), nn.Linear(8, 8)
        self.sharpness = nn.Parameter(torch.ones(()))

    def forward(self, x):
        match = self.query(x) @ self.key(x).transpose(1, 2) * self.sharpness
        return match.softmax(-1) @ x


class Sorted(nn.Module):
    """A layer that meets rows in an order of its own."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        order = x.sum((1, 2)).argsort()
        return torch.tanh(self.inner(x[order]))[order.argsort()]


class Vanishes(nn.Module):
    """Gradients so small that floats keep their rounding alone."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.first, self.last = nn.Linear(1, 8), nn.Linear(8, 3)
        self.inner = nn.LSTM(8, 8, batch_first=True)

    def forward(self, x):
        return self.last(self.inner(self.first(x[..., None]))[0][:, -1])


def images(*layers):
    return nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(3))


def rows_of(*shape):
    return torch.sin(torch.arange(float(torch.Size(shape).numel())) * 1.3).reshape(shape)


PICTURES = rows_of(12, 4, 9, 9)
SERIES = rows_of(12, 4, 16)
ENCODER = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

MODELS = {
    "linear": (lambda: nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)), rows_of(12, 6)),
    "linear without bias": (lambda: nn.Linear(6, 3, bias=False), rows_of(12, 6)),
    "wide linear": (
        lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(inplace=True), nn.Linear(64, 3)),
        rows_of(12, 64),
    ),
    "conv1d": (lambda: images(nn.Conv1d(4, 6, 3, stride=2, padding=1)), SERIES),
    "conv2d": (lambda: images(nn.Conv2d(4, 6, 3, padding=1), nn.ReLU()), PICTURES),
    "grouped conv2d": (lambda: images(nn.Conv2d(4, 8, 3, groups=2, dilation=2)), PICTURES),
    "reflecting conv2d": (
        lambda: images(nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect")),
        PICTURES,
    ),
    "large conv2d": (
        lambda: images(nn.Conv2d(4, 64, 7, padding=3), nn.MaxPool2d(3)),
        rows_of(6, 4, 30, 30),
    ),
    "group norm": (lambda: images(nn.Conv2d(4, 6, 3), nn.GroupNorm(2, 6)), PICTURES),
    "instance norm": (lambda: images(nn.InstanceNorm2d(4, affine=True)), PICTURES),
    "layer norm": (lambda: images(nn.LayerNorm((9, 9))), PICTURES),
    "rms norm": (lambda: nn.Sequential(nn.RMSNorm(6), nn.Linear(6, 3)), rows_of(12, 6)),
    "embedding": (lambda: Tokens(nn.Identity()), WORDS),
    "layer on positions": (lambda: Tokens(nn.Linear(8, 8)), WORDS),
    "attention": (lambda: Tokens(Attends()), WORDS),
    "attention without bias": (lambda: Tokens(Attends(bias=False)), WORDS),
    "attention elsewhere": (lambda: Tokens(Looks()), WORDS),
    "attention whose projection is parametrised": (lambda: Tokens(Normalised()), WORDS),
    "transformer block": (lambda: Tokens(ENCODER), WORDS),
    "attention by hand": (lambda: Tokens(Keys()), WORDS),
    "bias before a norm": (lambda: images(nn.Conv2d(4, 6, 3), nn.GroupNorm(6, 6)), PICTURES),
    "bare parameter": (lambda: Tokens(Bare()), WORDS),
    "shared and tied": (lambda: Tokens(Twice()), WORDS),
    "rows in another order": (lambda: Tokens(Sorted()), WORDS),
    "checkpointed": (lambda: Tokens(Reruns()), WORDS),
    "used as a function": (lambda: Tokens(Functional()), WORDS),
    "parametrised": (
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(6, 3)),
        rows_of(12, 6),
    ),
    "gru": (lambda: Tokens(Remembers(nn.GRU(8, 8, batch_first=True))), WORDS),
    "lstm": (lambda: Tokens(Remembers(nn.LSTM(8, 8, batch_first=True))), WORDS),
    "adapters": (lambda: add_adapters(Tokens(nn.Linear(8, 8)), rank=2), WORDS),
}
"""Models by the layer that they are about, and inputs."""


def trainer_of(model, *, clip, at_once=4, rows=1, **options):
    loss = nn.CrossEntropyLoss()
    told = {"epsilon": 1, "delta": 1e-5, "epochs": 1, "batch": 4, "people": 100}
    return Trainer(
        model, loss, **told, clip=clip, at_once=at_once, max_rows_per_unit=rows, **options
    )


def made(name):
    torch.manual_seed(5)
    make, inputs = MODELS[name]
    model = make()
    model(inputs[:2])  # lazy layers learn their size
    for one in model.parameters():
        if one.requires_grad:
            torch.nn.init.normal_(one, std=0.4 if one.numel() < 2000 else 0.05)
    return model, inputs


def ours(trainer, inputs, targets, people):
    """The clipped sum of everybody, in units of gradients."""
    gradients = inspect(trainer.model, trainer._losses, (inputs,), targets)
    at_once, rows = trainer.at_once, trainer.rows
    sampler = PeopleSampler((inputs,), targets, people, rows=rows, at_once=at_once)
    total = torch.zeros(trainer.grid.dimension, dtype=torch.float64)
    everybody = torch.arange(len(sampler.counts)).numpy()
    for batch in sampler.batches(everybody, torch.device("cpu"))():
        trainer.add_clipped(batch, gradients, total)
    return total * 2.0**trainer.grid.exponent


def placed(model):
    """Trainable parameters in the order that sums have them: those of one dimension first."""
    return sorted((p for p in model.parameters() if p.requires_grad), key=lambda p: p.dim() > 1)


def one_by_one(trainer, inputs, targets, people):
    """The same by torch, person by person."""
    parameters = placed(trainer.model)
    total = torch.zeros(trainer.grid.dimension, dtype=torch.float64)
    for one in sorted(set(people)):
        mine = [at for at, name in enumerate(people) if name == one]
        loss = trainer._losses((inputs[mine],), targets[mine]).mean()
        grads = torch.autograd.grad(loss, parameters)
        flat = torch.cat([g.flatten() for g in grads]).double()
        total += flat * min(1.0, float(trainer.grid.clip) / flat.norm().item())
    return total


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
@pytest.mark.parametrize("name", MODELS)
def test_clipped_gradients_are_those_of_each_person_alone(name, exact):
    model, inputs = made(name)
    targets = torch.arange(len(inputs)) % 3
    trainer = trainer_of(model, clip=0.5, exact=exact)
    people = list(range(len(inputs)))

    theirs = one_by_one(trainer, inputs, targets, people)
    found = ours(trainer, inputs, targets, people)

    rounded = len(people) * 2.0**-12 * 0.5 if exact else 0.0
    assert (found - theirs).norm() <= 1e-5 * theirs.norm() + rounded


@pytest.mark.parametrize("name", ["linear", "conv2d", "attention", "shared and tied"])
def test_rows_of_a_person_are_averaged_before_they_are_clipped(name):
    model, inputs = made(name)
    targets = torch.arange(len(inputs)) % 3
    people = [0, 1, 1, 2, 2, 2, 3, 0, 4, 4, 5, 5]
    trainer = trainer_of(model, clip=0.3, rows=3)

    theirs = one_by_one(trainer, inputs, targets, people)
    found = ours(trainer, inputs, targets, people)

    assert (found - theirs).norm() <= 1e-5 * theirs.norm()


def test_a_sound_model_whose_gradients_nearly_vanish_is_taken():
    model, inputs, targets = Vanishes(), rows_of(20, 4), torch.arange(20) % 3
    before = {}
    for name, one in model.named_parameters():
        one.data *= 30
        before[name] = one.data.clone()
    trainer = trainer_of(model, clip=1e-9)
    assert inspect(model, trainer._losses, (inputs,), targets).units.keys() != {""}
    assert all(torch.equal(one, before[name]) for name, one in model.named_parameters())


def test_every_layer_with_a_rule_is_heard_by_its_rule_and_others_as_a_whole():
    units = units_of(nn.Sequential(nn.Linear(2, 2), ENCODER, Bare(), nn.Tanh()))

    ruled = {name for name, unit in units.items() if rule_of(unit) is not None}
    assert ruled == {"0", "1.linear1", "1.linear2", "1.norm1", "1.norm2"}
    assert set(units) - ruled == {"1.self_attn", "2"}


@pytest.mark.parametrize(
    "pair",
    [
        OuterProducts(rows_of(3, 5, 4), rows_of(3, 5, 7), 7),
        LookupSlopes(WORDS[:3], rows_of(3, 6, 4), 11),
    ],
    ids=["outer products", "look-ups"],
)
def test_ghost_norms_are_those_of_instantiated_gradients_and_not_below(pair):
    whole = pair.instantiated()
    weights = torch.tensor([0.5, 0.0, 2.0])

    assert torch.allclose(pair.weighted_sum(weights), whole.weighted_sum(weights), atol=1e-5)
    assert torch.allclose(pair.norm_squares(), whole.norm_squares().double(), rtol=1e-3)
    assert (pair.norm_squares() >= whole.norm_squares() * (1 - 1e-6)).all()


def test_a_ghost_norm_that_cancels_is_not_below_the_norm():
    slopes = rows_of(1, 64, 7)
    slopes[:, 32:] = -slopes[:, :32]
    inputs = 1000 + 1e-3 * rows_of(1, 64, 4)
    pair = OuterProducts(inputs, slopes, 7)

    exact = torch.bmm(slopes.double().transpose(1, 2), inputs.double()).square().sum()

    assert pair.norm_squares()[0] >= exact


def test_a_ghost_norm_of_squares_that_vanish_is_not_below_the_norm():
    pair = OuterProducts(torch.full((1, 1, 2000), 2e-23), torch.full((1, 1, 2), 6e18), 2)

    assert pair.norm_squares()[0] >= 4000 * (2e-23 * 6e18) ** 2 * (1 - 1e-6)


class Directions(nn.Module):
    """Not a number for rows of zeros."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 3)

    def forward(self, x):
        return self.inner(x / x.norm(dim=1, keepdim=True))


class Experts(nn.Module):
    """Each row goes to a layer that its values choose; those of inspections all to one."""

    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleList([nn.Linear(6, 3), nn.Linear(6, 3)])

    def forward(self, x):
        out = x.new_zeros(len(x), 3)
        for k, layer in enumerate(self.inner):
            some = ((x[:, 0] > 1) == k).nonzero().flatten()
            if len(some):
                out = out.index_add(0, some, layer(x[some]))
        return out


@pytest.mark.parametrize("model", [Directions, Experts])
@pytest.mark.parametrize("count", [3, 4, 5])
def test_free_slots_and_chosen_rows_change_nothing_for_others(model, count):
    torch.manual_seed(5)
    inputs, targets = 2 * rows_of(count, 6), torch.arange(count) % 3
    trainer = trainer_of(model(), clip=0.3)
    people = list(range(count))
    theirs = torch.zeros(trainer.grid.dimension, dtype=torch.float64)
    parameters = placed(trainer.model)
    for at in people:
        loss = trainer._losses((inputs[at : at + 1],), targets[at : at + 1]).sum()
        grads = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
        flat = torch.cat([g.flatten() for g in grads]).double()
        theirs += flat * min(1.0, 0.3 / flat.norm().item())

    assert torch.allclose(ours(trainer, inputs, targets, people), theirs, atol=1e-5)


def test_exact_clipping_of_a_model_in_doubles():
    inputs = 100 * rows_of(4, 6).double()
    trainer = trainer_of(nn.Linear(6, 3).double(), clip=0.5, exact=True)

    for label in range(3):
        targets = torch.full((4,), label)
        assert ours(trainer, inputs, targets, [0, 0, 0, 0]).norm() <= 0.5 * (1 + 2.0**-11)


def test_a_module_with_two_homes_is_heard_once():
    shared = nn.Linear(6, 6)
    model = nn.Sequential(nn.Sequential(shared, nn.Tanh()), nn.Sequential(shared, nn.ReLU()))

    assert list(units_of(model)) == ["0.0"]


@pytest.mark.parametrize("name", ["transformer block", "conv2d", "shared and tied"])
def test_sums_of_floats_differ_by_far_less_than_what_is_allowed_for(name):
    model, inputs = made(name)
    targets = torch.arange(len(inputs)) % 3
    people = list(range(len(inputs)))
    turned = [*people[3:], *people[:3]]

    whole = ours(trainer_of(model, clip=0.5, at_once=5), inputs, targets, people)
    other = ours(trainer_of(model, clip=0.5, at_once=7), inputs[turned], targets[turned], people)

    assert (whole - other).norm() < 2.0**-14 * 0.5  # 2^-11 is allowed for


class Told(NamedTuple):
    scaled: torch.Tensor
    total: torch.Tensor


class Named(nn.Module):
    """A layer that answers with a named tuple."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return Told(x * self.scale, x.sum(1))


class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Named()

    def forward(self, x):
        return self.inner(x).scaled


def test_a_layer_may_answer_with_a_named_tuple():
    model, x = First(), torch.arange(12.0).reshape(3, 4)
    heard = inspect(model, lambda inputs, _: model(*inputs).sum(1), (x,), None)

    found = heard.of(lambda: model(x).sum(), 3, 1, nullcontext)

    assert torch.equal(found["inner.scale"].instantiated().grads, x)


def test_attention_whose_forward_was_replaced_keeps_it():
    model = Attends()
    usual = model.inner.forward

    def doubled(*args, **kwargs):
        out, where = usual(*args, **kwargs)
        return 2 * out, where

    model.inner.forward = doubled
    x = torch.arange(3 * 6 * 8.0).sin().reshape(3, 6, 8)
    inspect(model, lambda inputs, _: model(*inputs).flatten(1).sum(1), (x,), None)

    assert model.inner.forward is doubled
