"""The trainer: sampling, noise, accounting, refusals, and runs that go on after a crash."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from discreet.audit.catalogue import TRAINING
from discreet.audit.releases import compare_paths
from discreet.audit.replay import replay
from discreet.audit.report import audit_claim
from discreet.errors import BudgetError, InputError
from discreet.learn.noise_plan import GradientGrid, NoisePlan
from discreet.learn.torch import Trainer, add_adapters, grid_noise, merge_adapters
from discreet.learn.torch.checkpoints import TrainingLedger
from discreet.learn.torch.grid_noise import GradientNoise, draws_from
from discreet.learn.torch.sampling import PeopleSampler
from discreet.noise import below
from discreet.noise.bits import Keystream, open_source
from discreet.privacy import GaussianNoise, Subsampled, compose

TOLD = {"epsilon": 2, "delta": 1e-5, "epochs": 2, "batch": 50, "people": 500}


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))


def rows(count=500):
    x = torch.sin(torch.arange(count * 4.0) * 1.9).reshape(count, 4)
    return x, (x[:, 0] + x[:, 1] > 0).long()


def trainer(model=None, **options):
    told = {"optimizer": lambda p: torch.optim.SGD(p, lr=0.5), **TOLD, **options}
    return Trainer(model or network(), nn.CrossEntropyLoss(), **told)


def weights(one):
    return torch.cat([p.detach().flatten() for p in one.model.parameters()])


# --- noise --------------------------------------------------------------------------------------


def test_noise_by_inversion_is_the_exact_law_of_its_bits():
    words = torch.from_numpy(Keystream(bytes(32)).words(3000).view(np.int64).copy())
    for sigma in (1, 5, (1 << 24) + 1):
        drawn = draws_from(words, sigma)
        signs, bits = (words & 1) * 2 - 1, (words >> 1) & ((1 << 63) - 1)
        near = [abs(k) + 1.0 for k in drawn.tolist()]  # from beside the truth
        source = open_source(64)
        certain = [
            grid_noise._certainly(k, sigma, at, source)
            for k, at in zip(bits.tolist()[:200], near, strict=False)
        ]
        assert torch.equal(torch.tensor(certain) * signs[:200], drawn[:200])
        spread = (drawn.double() / sigma).square().mean() - 1 / (12 * sigma**2)
        assert abs(spread - 1) < 5 * math.sqrt(2 / 3000)


def test_bits_beside_a_boundary_are_decided_in_arbitrary_precision(monkeypatch):
    asked = []
    real = grid_noise._certainly
    monkeypatch.setattr(grid_noise, "_certainly", lambda *a: asked.append(a[0]) or real(*a))
    half = int(math.erfc(0.5 / math.sqrt(2)) * 2**63)  # the tail beyond half a deviation
    words = torch.tensor([(half + away) * 2 + 1 - 2**64 for away in (-1, 0, 1, 1 << 50)])

    drawn = draws_from(words, 1)

    assert asked == [half - 1, half, half + 1]
    assert set(drawn.tolist()) <= {0, 1}
    assert drawn[3] == 0


def test_noise_keeps_whole_numbers_and_their_place():
    noise = GradientNoise(sensitivity=3, sigma=1000, dimension=70_000)
    sums = torch.arange(70_000) << 30

    told = noise.release(sums)

    assert told.dtype is torch.int64
    assert (told - sums).abs().max() < 10_000
    assert (told != sums).double().mean() > 0.99
    assert float(noise.guarantee.mu) == pytest.approx(3 / 1000)
    with pytest.raises(InputError, match="dimension"):
        noise.release(sums[:5])


@pytest.mark.parametrize("dimension", [1, 210, 3_700_000, 125_000_000])
def test_a_grid_rounds_by_less_than_its_sensitivity_says(dimension):
    grid = GradientGrid(1, dimension)

    step = 2.0**grid.exponent
    assert math.sqrt(dimension) * step <= 2.0**-11 < 2.01 * math.sqrt(dimension) * step
    assert grid.sensitivity >= (1 + 2.0**-10) / step
    assert grid.sensitivity * step <= 1.00104


# --- accounting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "batch", "epochs"), [(1, 85, 20), (8, 800, 10), (3, 10_000, 6)]
)
def test_noise_is_calibrated_to_the_accountant_within_a_fifth_of_a_percent(epsilon, batch, epochs):
    plan = NoisePlan(epsilon, 1e-5, 10_000, batch, epochs)
    grid = GradientGrid(1, 500_000)
    moved, sigma = grid.sigma(plan.mu, plan.coefficients)

    used = sigma * 2.0**grid.exponent  # the deviation of the noise for a clip of 1
    less = Subsampled(GaussianNoise(1.002 / used), plan.rate)
    spent = plan.guarantee(plan.steps).epsilon(1e-5).upper
    assert spent <= epsilon
    assert moved / sigma <= plan.mu
    assert compose([(less, plan.steps)]).epsilon(1e-5).lower > epsilon


def test_a_guarantee_counts_the_steps_that_were_begun():
    one = trainer(epochs=1)
    assert one.guarantee_.epsilon(1e-5) <= 0

    one.fit(*rows())

    assert one.guarantee_ == one.plan.guarantee(10)
    assert 1.99 < one.guarantee_.epsilon(1e-5) <= 2


def test_banded_noise_is_a_release_for_every_band_and_keeps_its_sums():
    plan = NoisePlan(2, 1e-5, 500, 25, 2, band=4)
    assert plan.rate == Fraction(1, 5)
    assert plan.guarantee(plan.steps).parts[0][1] == 10
    one = trainer(batch=25, band=4, epsilon=200)

    model = one.fit(*rows()).model

    x, y = rows()
    assert one.guarantee_.epsilon(1e-5) <= 200
    assert (model(x).argmax(1) == y).double().mean() > 0.8
    assert len(one._sums) == len(one._told) == 3


def test_taking_banded_sums_apart_gives_back_what_was_joined(monkeypatch):
    monkeypatch.setattr(GradientNoise, "release", lambda _, value, *__: value)
    one = trainer(batch=25, band=3)
    sums = [torch.arange(one.grid.dimension) * 1000 * k for k in (1, -5, 7, 2, 9)]

    told = [one._release(each) for each in sums]

    assert all(torch.allclose(a, b.double()) for a, b in zip(told, sums, strict=True))


# --- sampling -----------------------------------------------------------------------------------


def test_people_are_sampled_independently_at_the_rate():
    x, y = rows(2000)
    sampler = PeopleSampler((x,), y, np.arange(2000) // 2, rows=1, at_once=8)
    rate = NoisePlan(1, 1e-5, 100, 5, 1).rate

    drawn = [sampler.sample(step, rate) for step in range(400)]

    sizes = np.array([len(one) for one in drawn])
    assert abs(sizes.mean() - 50) < 5 * math.sqrt(47.5 / 400)
    assert abs(sizes.var() / 47.5 - 1) < 0.4  # nearly binomial, not fixed
    times = np.bincount(np.concatenate(drawn), minlength=1000)
    assert abs(times.var() / 19 - 1) < 0.3


def test_batches_have_one_shape_whatever_the_sample():
    x, y = rows(20)
    people = ["a"] * 7 + ["b"] * 2 + list("cdefghijklm")
    sampler = PeopleSampler((x,), y, people, rows=3, at_once=4)

    for some in ([], [0], [0, 1, 2, 3, 4, 5]):
        for batch in sampler.batches(np.array(some, dtype=int), torch.device("cpu"))():
            assert batch.inputs[0].shape == (12, 4)
            by_person = batch.weights.view(4, 3).sum(1)
            assert set(by_person.round(decimals=5).tolist()) <= {0.0, 1.0}
    (batch,) = sampler.batches(np.array([0, 1]), torch.device("cpu"))()
    assert [round(w, 4) for w in batch.weights.tolist()] == [0.3333] * 3 + [0.5] * 2 + [0.0] * 7
    assert torch.equal(batch.inputs[0][5], batch.inputs[0][3])  # their own once more
    alone = batch.only(torch.tensor([1]))
    assert torch.equal(alone.inputs[0][:3], alone.inputs[0][9:])
    assert [round(w, 4) for w in alone.weights.tolist()] == [0.0] * 3 + [0.5] * 2 + [0.0] * 7


def test_a_band_gives_each_person_one_turn():
    x, y = rows(300)
    sampler = PeopleSampler((x,), y, None, rows=1, at_once=8, places=3)

    turns = [set(sampler.sample(step, 1).tolist()) for step in range(6)]

    assert turns[0] | turns[1] | turns[2] == set(range(300))
    assert turns[0] == turns[3]
    assert not turns[0] & turns[1]


# --- neighbours ---------------------------------------------------------------------------------

NEIGHBOURS = {
    "an extra row": (torch.full((1, 4), 1e6), 1),
    "a row of NaN": (torch.full((1, 4), math.nan), 1),
    "infinities": (torch.full((1, 4), math.inf), 1),
    "a thousand rows": (torch.full((1000, 4), -1e3), 1000),
    "an unknown label": (torch.ones((1, 4)), 1),
}


@pytest.mark.parametrize("other", NEIGHBOURS)
@pytest.mark.parametrize("options", [{}, {"exact": True}, {"band": 2}], ids=str)
def test_a_person_more_moves_sums_within_their_sensitivity_and_nothing_else(other, options):
    x, y = rows(60)
    more, count = NEIGHBOURS[other]
    left = x, y, np.arange(60)
    right = (
        torch.cat([x, more]),
        torch.cat([y, torch.full((count,), 7 if other == "an unknown label" else 1)]),
        np.concatenate([np.arange(60), np.full(count, 99)]),
    )

    def told(data):
        one = trainer(batch=20, people=60, epochs=1.34, max_rows_per_unit=2, **options)
        return weights(one.fit(*data[:2], groups=data[2])).tolist()

    found = replay(told, left, right)

    assert not found, str(found)


def test_a_sum_that_is_not_clipped_is_found_by_replay(monkeypatch):
    x, y = rows(60)
    right = torch.cat([x, torch.full((1, 4), 1e3)]), torch.cat([y, 1 - y[:1]])

    def told(data):
        one = trainer(batch=60, people=60, epochs=2, clip=1e-3)
        monkeypatch.setattr(one.grid.__class__, "sensitivity", 100)
        return weights(one.fit(*data)).tolist()

    assert "squared l2" in str(replay(told, (x, y), right))


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
def test_nobody_at_all_and_people_who_are_not_finite_are_noise_alone(exact):
    nobody = trainer(exact=exact).fit(torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64))
    lost = trainer(exact=exact).fit(torch.full((60, 4), math.nan), torch.zeros(60).long())

    assert weights(nobody).isfinite().all()
    assert weights(lost).isfinite().all()


def _densities(out, y):
    """A loss that refuses what is not a number, and says what it was given."""
    return -torch.distributions.Normal(out[:, 0], out[:, 1].exp()).log_prob(y.float())


def test_a_loss_that_refuses_a_row_fails_for_nobody():
    x, y = rows(60)
    x[7] = math.nan

    one = Trainer(network(), _densities, **{**TOLD, "people": 100}).fit(x, y)

    assert weights(one).isfinite().all()


class Hears(nn.Module):
    """Notes the seed of the generator that dropout draws from."""

    def __init__(self):
        super().__init__()
        self.inner, self.seeds = nn.Sequential(nn.Dropout(), nn.Linear(4, 2)), []

    def forward(self, x):
        self.seeds.append(torch.initial_seed())
        return self.inner(x)


def test_dropout_draws_from_secret_seeds_and_leaves_the_generator_alone():
    model = Hears()
    torch.manual_seed(1)

    one = trainer(model).fit(*rows())

    assert len(set(model.seeds) - {1}) == one.plan.steps
    assert torch.initial_seed() == 1


# --- refusals -----------------------------------------------------------------------------------


class Mixes(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 2)

    def forward(self, x):
        return self.inner(x - x.mean(0))


class Random(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 2)

    def forward(self, x):
        return self.inner(x + torch.rand_like(x))


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 2)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += x.detach().sum()
        return self.inner(x)


class Largest(Mixes):
    def forward(self, x):
        return self.inner(x / x.abs().max())


class Places(Mixes):
    def forward(self, x):
        return self.inner(x + torch.arange(len(x))[:, None])


class Trace(Mixes):
    """Of other rows, hardly anything."""

    def forward(self, x):
        return self.inner(x) + 1e-5 * x.mean(0)[:2]


class Centred(torch.autograd.Function):
    """People are mixed on the way back alone."""

    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, slope):
        return slope - slope.mean(0)


class Back(Mixes):
    def forward(self, x):
        return Centred.apply(self.inner(x))


class Drops(Mixes):
    """Random numbers in a module that is run person by person."""

    def __init__(self):
        super().__init__()
        self.scale, self.drop = nn.Parameter(torch.ones(4)), nn.Dropout()

    def forward(self, x):
        return self.inner(self.drop(x * self.scale))


class Forgets(nn.Module):
    """Random numbers in a layer that is run one person after another."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(4, 2, 2, batch_first=True, dropout=0.5)

    def forward(self, x):
        return self.cell(x[:, None])[0][:, 0]


class Outliers(Mixes):
    """Rows are mixed only where one is large, which no probe of an inspection is."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return self.inner((x - x.mean(0) if x.abs().max() > 100 else x) * self.scale)


class Recurs(nn.GRU):
    """The same in a class that inherits from a layer of torch."""

    def forward(self, x):
        x = x - x.mean(0) if x.abs().max() > 100 else x
        return super().forward(x[:, None])[0][:, 0]


REFUSED = {
    "0 \\(BatchNorm1d\\) mixes people": lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)),
    "keeps statistics": lambda: nn.Sequential(nn.InstanceNorm1d(4, track_running_stats=True)),
    "changes what rows look up": lambda: nn.Sequential(nn.Embedding(5, 4, max_norm=1.0)),
    "draws random numbers": lambda: nn.Sequential(nn.RReLU(), nn.Linear(4, 2)),
    "positions before rows": lambda: nn.MultiheadAttention(4, 2),
    "without trainable parameters": lambda: nn.Linear(4, 2).requires_grad_(requires_grad=False),
    "depends on other rows": Mixes,
    "or on chance": Random,
    "row's loss that depends on other": Trace,
    "\\(Back\\) cannot run person by person": Back,
    "loss that depends on other rows": Largest,
    "a row's loss that depends": Places,
    "draws random numbers inside": Drops,
    "\\(GRU\\) .* draws random numbers": Forgets,
    "\\(Outliers\\) cannot run person by person": Outliers,
    "\\(Recurs\\) cannot run person by person": lambda: Recurs(4, 2, batch_first=True),
    "buffer seen": Counts,
    "parameters of 16 bits": lambda: nn.Linear(4, 2).bfloat16(),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_private_is_refused_by_name(said):
    with pytest.raises(InputError, match=said):
        trainer(REFUSED[said]()).fit(*rows(20))
    if said == "draws random numbers inside":  # whoever is there, before any step
        with pytest.raises(InputError, match=said):
            trainer(REFUSED[said]()).fit(*rows(0))


def test_a_loss_that_depends_on_the_labels_of_others_is_refused():
    def balanced(out, y):
        return nn.functional.cross_entropy(out, y, reduction="none") / (y.float().mean() + 1)

    with pytest.raises(InputError, match="depends on other rows"):
        Trainer(network(), balanced, **TOLD).fit(*rows())


def test_parameters_that_would_give_something_away_are_refused():
    with pytest.raises(InputError, match="people is missing"):
        trainer(people=None)
    with pytest.raises(InputError, match="clip is below"):
        trainer(clip=1e-24)
    with pytest.raises(InputError, match="above 500 people"):
        trainer(batch=400, band=2)
    with pytest.raises(InputError, match="one a row"):
        Trainer(network(), nn.functional.cross_entropy, **TOLD).fit(*rows())
    with pytest.raises(InputError, match="differ in length"):
        trainer().fit(rows()[0], rows(3)[1])
    with pytest.raises(InputError, match="max_rows_per_unit is 3 without groups"):
        trainer(max_rows_per_unit=3).fit(*rows())
    with pytest.raises(InputError, match="are no numbers"):
        trainer().fit(rows(3)[0], ["secret", "a", "b"])
    with pytest.raises(InputError, match="TensorDataset"):
        trainer().fit(torch.utils.data.TensorDataset(*rows(3)))
    with pytest.raises(InputError, match="has its parameters"):
        trainer(optimizer=torch.optim.SGD(network().parameters()))
    with pytest.raises(InputError, match="different shapes"):
        Trainer(nn.Linear(4, 1), lambda out, y: (out - y) ** 2, **TOLD).fit(*rows())
    with pytest.raises(InputError, match="made-up rows"):
        trainer().fit(rows()[0].double(), rows()[1])
    with pytest.raises(InputError, match="asks for the loss again"):
        trainer(optimizer=torch.optim.LBFGS)
    one = trainer(epochs=1).fit(*rows())
    with pytest.raises(InputError, match="was fitted"):
        one.fit(*rows())


def test_a_curator_takes_no_trainer():
    from discreet.learn.fit_plan import steps_of

    with pytest.raises(InputError, match="Trainer"):
        steps_of(trainer())


# --- a run that goes on -------------------------------------------------------------------------


class CrashError(Exception):
    """The machine stops."""


def crashing(at):
    class Optimizer(torch.optim.SGD):
        taken = 0

        def step(self):
            super().step()
            self.taken += 1
            if self.taken == at:
                raise CrashError

    return lambda p: Optimizer(p, lr=0.5)


def test_a_resumed_run_counts_the_steps_that_were_lost(tmp_path):
    with pytest.raises(CrashError):
        trainer(checkpoint=tmp_path, every=4, optimizer=crashing(7)).fit(*rows())

    resumed = trainer(checkpoint=tmp_path, every=4).fit(*rows())

    planned = resumed.plan.steps
    assert planned == 20
    assert resumed._step == planned - 3  # steps 5 to 7 were paid for and lost
    assert resumed.guarantee_ == resumed.plan.guarantee(planned)
    assert resumed.guarantee_.epsilon(1e-5) <= 2
    again = trainer(checkpoint=tmp_path, every=4).fit(*rows())
    assert torch.equal(weights(again), weights(resumed))


def test_a_checkpoint_goes_on_with_the_model_and_refuses_other_parameters(tmp_path):
    with pytest.raises(CrashError):
        trainer(checkpoint=tmp_path, every=1, optimizer=crashing(6)).fit(*rows())
    state = TrainingLedger(tmp_path, trainer().facts()).load(torch.device("cpu"))

    assert state["step"] == state["spent"] == 5
    assert not len(state["seats"])  # how many people there are is private
    with pytest.raises(InputError, match="another training run"):
        trainer(checkpoint=tmp_path, epsilon=3).fit(*rows())


def test_two_runs_in_one_folder_never_take_more_than_was_planned(tmp_path):
    facts = trainer().facts()
    first, second = TrainingLedger(tmp_path, facts), TrainingLedger(tmp_path, facts)
    for _ in range(10):
        first.charge()
        second.charge()
    one = trainer(checkpoint=tmp_path)
    before = weights(one)
    one.fit(*rows())
    assert torch.equal(before, weights(one))
    assert first.charge() == 21 > one.plan.steps


def test_a_run_that_another_overtakes_stops_before_its_step(tmp_path, monkeypatch):
    one = trainer(checkpoint=tmp_path)
    before = weights(one)
    charge = TrainingLedger.charge
    monkeypatch.setattr(
        TrainingLedger, "charge", lambda self: [charge(self) for _ in range(21)][-1]
    )

    with pytest.raises(BudgetError, match="more than planned"):
        one.fit(*rows())
    assert torch.equal(before, weights(one))


def test_a_state_whose_ledger_is_gone_does_not_go_on(tmp_path):
    trainer(checkpoint=tmp_path).fit(*rows())
    (tmp_path / "ledger").unlink()

    with pytest.raises(InputError, match="more steps than its ledger"):
        trainer(checkpoint=tmp_path).fit(*rows())


def test_banded_noise_does_not_share_its_steps_with_another_run(tmp_path, monkeypatch):
    one = trainer(checkpoint=tmp_path, band=2, batch=25)
    charge = TrainingLedger.charge
    monkeypatch.setattr(TrainingLedger, "charge", lambda self: charge(self) and charge(self))

    with pytest.raises(BudgetError, match="another run"):
        one.fit(*rows())


def test_banded_noise_does_not_go_on_after_a_lost_step(tmp_path):
    told = {"checkpoint": tmp_path, "every": 2, "band": 2, "batch": 25}
    with pytest.raises(CrashError):
        trainer(**told, optimizer=crashing(3)).fit(*rows())

    with pytest.raises(InputError, match="lost a step"):
        trainer(**told).fit(*rows())


# --- the rest -----------------------------------------------------------------------------------


def test_a_model_learns_and_says_epsilon_on_the_way(capsys):
    x, y = rows()

    one = trainer(
        epsilon=8, progress=True, schedule=lambda o: torch.optim.lr_scheduler.StepLR(o, 9)
    )
    model = one.fit(x.numpy().astype(np.float64), y.numpy()).model

    assert (model(x).argmax(1) == y).double().mean() > 0.85
    assert "epsilon 7.99" in capsys.readouterr().err


def test_low_precision_and_dropout_train():
    model = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.2), nn.Linear(16, 2))

    one = trainer(model, epsilon=20, precision=torch.bfloat16).fit(*rows())

    assert weights(one).isfinite().all()
    with pytest.raises(InputError, match="exact"):
        trainer(exact=True, precision=torch.bfloat16)


def test_attention_with_dropout_and_masks_of_truths_trains():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
            self.head = nn.Linear(4, 2)

        def forward(self, x, there):
            return self.head(self.block(x[:, None].expand(-1, 2, -1)).mean(1) * there)

    x, y = rows()
    one = trainer(Masked(), epochs=0.2)

    assert weights(one.fit((x, x > 0), y)).isfinite().all()
    assert one.model.block.self_attn.dropout == 0.1


def test_merging_leaves_tied_weights_alone():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
            self.head.weight = self.words.weight

        def forward(self, x):
            return self.head(self.words(x).mean(1))

    model, x = add_adapters(Tied(), rank=2), torch.arange(10).reshape(2, 5) % 5
    nn.init.ones_(model.head.up.weight)
    before = model(x)

    assert torch.allclose(merge_adapters(model)(x), before, atol=1e-5)


def test_adapters_train_alone_and_merge():
    model = add_adapters(network(), rank=2, targets=["0"])
    frozen = model[2].weight.clone()

    trainer(model).fit(*rows())

    x = rows()[0]
    before = model(x)
    merged = merge_adapters(model)
    assert torch.equal(model[2].weight, frozen)
    assert type(merged[0]) is nn.Linear
    assert torch.allclose(merged(x), before, atol=1e-5)
    with pytest.raises(InputError, match="no linear layer"):
        add_adapters(network(), targets=["nothing"])


def _guesses(one, count=200):
    """How many of the surest guesses are right about who was there, and how many there are."""
    there = np.asarray(below(2, count), dtype=bool)
    x = torch.eye(count)[torch.from_numpy(there)] * 50
    one.fit(x, torch.ones(len(x), dtype=torch.int64))
    moved = (one.model.weight[1] - one.model.weight[0]).detach().numpy()
    order, sure = np.argsort(moved), count // 4
    return int((~there[order[:sure]]).sum() + there[order[-sure:]].sum()), 2 * sure


def _audited(epsilon, batch=50):
    told = {"epsilon": epsilon, "batch": batch, "people": 200, "epochs": 8}
    model = nn.Linear(200, 2, bias=False)
    nn.init.zeros_(model.weight)
    return trainer(model, **told)


def _most(epsilon, guesses):
    """So many right guesses are rarer than once in a million for an epsilon-private trainer."""
    share = math.exp(epsilon) / (1 + math.exp(epsilon))
    return stats.binom.isf(1e-6, guesses, share)


@pytest.mark.parametrize("epsilon", [0.5, 1])
def test_one_run_with_canaries_gives_no_more_away_than_epsilon(epsilon):
    # Each person has a direction of their own: Steinke, Nasr, Jagielski 2023, one training run.
    right, guesses = _guesses(_audited(epsilon))

    assert right <= _most(epsilon, guesses)


def test_a_trainer_with_too_little_noise_is_found_out_by_one_run(monkeypatch):
    few = GradientNoise(sensitivity=1, sigma=1, dimension=400)
    one = _audited(1)
    monkeypatch.setitem(one.__dict__, "noise", few)

    right, guesses = _guesses(one)

    assert right == guesses > _most(1, guesses)


@pytest.mark.audit
def test_many_runs_with_canaries_give_no_more_away_than_epsilon():
    found = [_guesses(_audited(2, batch=100)) for _ in range(40)]

    right, guesses = map(sum, zip(*found, strict=True))
    assert right <= guesses * math.exp(2) / (1 + math.exp(2)) + 5 * math.sqrt(guesses)


class Halved(GradientNoise):
    """Noise of half the deviation that is claimed."""

    __slots__ = ()

    def _draws(self, count, device):
        return GradientNoise._draws(self, count, device) // 2


@pytest.mark.parametrize(("kind", "refuted"), [(GradientNoise, False), (Halved, True)])
def test_an_audit_tries_to_refute_the_noise_of_a_step(kind, refuted):
    assert isinstance(TRAINING["gradient-noise"](), GradientNoise)
    claim = kind(sensitivity=40, sigma=40, dimension=3).claim

    assert audit_claim("noise", claim, samples=50_000, alpha=1e-6).refuted == refuted


def test_the_noise_that_is_released_is_the_noise_that_is_audited():
    assert not compare_paths(TRAINING["gradient-noise"](), runs=100, alpha=1e-6).refuted
