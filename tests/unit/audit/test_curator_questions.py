"""A curator's own limits and joins, replayed whole on neighbouring tables."""

from copy import copy
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from discreet import noise
from discreet.answer.execute import individual, measure_set
from discreet.answer.plan.contribution_histogram import far_beyond
from discreet.answer.plan.price import Price
from discreet.answer.plan.set_plan import SetPlan
from discreet.answer.plan.thresholded_count import ThresholdedCount
from discreet.audit import curator_questions
from discreet.audit.account_sequences import SEQUENCES, audit_sequence
from discreet.audit.curator_questions import QUESTIONS
from discreet.audit.recorder import Recorder
from discreet.audit.replay import replay
from discreet.audit.replayed_questions import CuratorQuestion, audit_question, findings
from discreet.audit.report import as_facts
from discreet.cli.audit import audit
from discreet.curator import workbook
from discreet.curator.ledger import accounts, charging
from discreet.curator.orders import online_epochs
from discreet.curator.orders.census import census_workers
from discreet.curator.orders.fits.fit_totals import FitTotals
from discreet.curator.orders.histogram_orders import HistogramQuery
from discreet.curator.orders.profile_orders import ProfileOrder
from discreet.curator.orders.streams import streams
from discreet.curator.orders.streams.stream_orders import StreamOrder
from discreet.curator.orders.streams.stream_reading import StreamQuery
from discreet.curator.people import person_accounts
from discreet.curator.people.opened_accounts import OpenedAccounts
from discreet.curator.people.person_accounts import PersonAccounts
from discreet.engines.duckdb_dialect import DuckDBDialect
from discreet.errors import BudgetError
from discreet.learn import private_schema
from discreet.learn.binning import BinCounts
from discreet.learn.design import RowTotals
from discreet.learn.noisy_sums import NoisySums
from discreet.learn.statistical_queries import Expectation
from discreet.mechanisms import smooth_laws, vector_stream
from discreet.mechanisms.continual import FactorizedCount
from discreet.mechanisms.gaussian import RoundedGaussian
from discreet.mechanisms.grid import sqrt_up
from discreet.mechanisms.key_selection import KeySelection
from discreet.mechanisms.vector_stream import VectorStream
from discreet.plan.bounding import FULL
from discreet.plan.relations import MOST_JOINED
from discreet.privacy import GDP
from discreet.sql.writer import relations
from discreet.sql.writer.compile import CompiledQuery
from discreet.sql.writer.compile_stream import CompiledStream
from discreet.workload import candidates, histogram, mwem, online, profile, residual
from discreet.workload.histogram import JointHistogram
from discreet.workload.matrix import MatrixMechanism
from discreet.workload.online import OnlinePlan, OnlineSession
from discreet.workload.small_database import SmallDatabase


def caught(asked, text=""):
    """Whether a finding says so; what would be asked after it is not asked."""
    question = QUESTIONS[asked] if isinstance(asked, str) else asked
    return any(text in one for one in findings(question))


LONG = {
    "curator-people-resumed-limit",
    *("curator-per-person", "curator-per-person-limit", "curator-people-resumed"),
    *("curator-standing-question", "curator-orders-change-one", "curator-shapes"),
    *("curator-fits", "curator-fits-change-one", "curator-training", "curator-synthesis"),
    *("curator-workbooks", "curator-online-resumed"),
    *("curator-aggregates", "curator-each-row", "learn-rows", "training", "training-bands"),
}
"""Several seconds each; tests with planted bugs ask a part of most of them."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.audit] * (one in LONG)) for one in QUESTIONS],
)
def test_a_curator_shows_nothing_but_what_it_releases(name):
    found = audit_question(name, QUESTIONS[name])
    assert not found.refuted
    assert as_facts(found)["verdict"] == "stands"


def test_the_limit_histogram_and_what_it_bounds_are_heard():
    question = QUESTIONS["curator-limit-histograms"].parts[0]
    recorder = Recorder()
    with recorder.recording():
        question.ask(question.claim.pairs[0].left)
    assert len(recorder.finished()) >= 2
    assert isinstance(recorder.finished()[0].mechanism, RoundedGaussian)


def test_one_person_has_more_rows_than_a_join_keeps():
    (crowd, _), (visits, bills) = (
        getattr(QUESTIONS["curator-join-caps"].claim.pairs[0], side) for side in ("left", "right")
    )
    assert (len(visits) - len(crowd)) * (len(bills) - len(crowd)) > MOST_JOINED


def test_a_limit_histogram_made_for_half_a_person_is_caught(monkeypatch):
    true = SetPlan.histogram.fget

    def thin(plan):
        whole = copy(true(plan))  # mechanisms are shared
        object.__setattr__(whole, "sensitivity", 0)
        return whole

    monkeypatch.setattr(SetPlan, "histogram", property(thin))
    found = audit_question("planted", QUESTIONS["curator-limit-histograms"])
    assert found.refuted
    assert "declared 0" in found.why


@pytest.mark.parametrize("name", ["curator-limit-histograms", "curator-limit-histograms-pure"])
def test_a_person_who_is_counted_twice_and_weighs_as_much_as_others_is_caught(monkeypatch, name):
    weights = CompiledQuery.weights

    def equal(self, bounds):
        return weights(self, replace(bounds, far=None))

    monkeypatch.setattr(CompiledQuery, "weights", equal)
    assert "together, promised 1" in audit_question("planted", QUESTIONS[name].parts[0]).why


def test_people_who_are_counted_twice_before_they_pay_for_it_are_caught(monkeypatch):
    bounds, weights = SetPlan.bounds, CompiledQuery.weights

    def early(*asked):
        return replace(bounds(*asked), far=1)  # whoever has more than one row is counted

    def later(self, found):
        return weights(self, replace(found, far=found.far and far_beyond(found.rows)))

    monkeypatch.setattr(SetPlan, "bounds", early)
    monkeypatch.setattr(CompiledQuery, "weights", later)
    crowd = replace(QUESTIONS["curator-limit-histograms-pure"], people=400)  # the limit is seen
    assert "together, promised 1" in audit_question("planted", crowd).why


def _halved(mechanism):
    whole = copy(mechanism)
    object.__setattr__(whole, "sensitivity", whole.sensitivity // 2)
    return whole


def test_a_histogram_whose_people_weigh_more_than_stated_is_caught(monkeypatch):
    monkeypatch.setattr(HistogramQuery, "person_weight", property(lambda _: FULL))
    assert caught("curator-synthesis", "declared")


def test_a_person_with_one_row_more_than_counts_in_full_is_caught(monkeypatch):
    true = JointHistogram.of

    def lax(table, domain, *, person, max_rows, **said):
        most = np.unique(np.asarray(person), return_counts=True)[1].max()
        found = true(table, domain, person=person, max_rows=max(max_rows, most % 100), **said)
        return replace(found, person_weight=FULL * max_rows)

    monkeypatch.setattr(JointHistogram, "of", lax)
    part = _strategy("_mwem")
    rows = [pair.right[0] for pair in part.claim.pairs]
    assert 3 in {sum(person == part.people for person, _ in one) for one in rows}
    assert caught(part, "declared")


def test_pairs_that_are_scored_with_the_noise_of_one_are_caught(monkeypatch):
    true = candidates.score_noise

    def thin(histogram, count, mu_squared):
        return RoundedGaussian(
            mu_squared=mu_squared,
            sensitivity=true(histogram, 1, mu_squared).sensitivity,
            grid=1,
            dimension=count,
        )

    monkeypatch.setattr(candidates, "score_noise", thin)
    assert caught(_strategy("_synthesized"), "declared")


def test_a_session_that_forgets_its_runs_is_caught(monkeypatch):
    true = OnlineSession._running

    def forgetful(self):
        run = true(self)
        self.state = replace(self.state, runs_begun=0)
        return run

    monkeypatch.setattr(OnlineSession, "_running", forgetful)
    assert caught(_strategy("_reopened"), "promised 1")


def test_random_words_that_follow_a_private_width_or_scale_are_caught(monkeypatch):
    true = noise.below
    monkeypatch.setattr(noise, "below", lambda n, size=None, **_: true(n, size))
    for kind in ("(Quantile)", "(PermuteAndFlipQuantile)"):
        assert caught("wide-draws", f"{kind}: ")
    assert not caught("wide-draws", "Smooth")
    monkeypatch.setattr(smooth_laws, "words_each", lambda _: 1)
    assert caught("wide-draws", "(SmoothSensitivity): 1 random words on one side, 2 on the other")


def test_an_online_threshold_for_half_a_person_is_caught(monkeypatch):
    true = OnlinePlan.gate.func
    monkeypatch.setattr(OnlinePlan, "gate", property(lambda plan: _halved(true(plan))))
    assert caught("curator-online", "declared")


def test_an_online_update_without_noise_is_caught(monkeypatch):
    true, updates = online.measure_marginal, []

    def measured(histogram, clique, mu_squared):
        found = true(histogram, clique, mu_squared)
        if len(clique) < 3:  # columns and pairs, when a session opens
            return found
        updates.append(clique)
        return replace(found, steps=histogram.marginal(clique)) if planted else found

    monkeypatch.setattr(online, "measure_marginal", measured)
    planted = False
    assert not caught("curator-online")
    assert set(updates) == {("value", "side", "odd")}
    planted = True
    assert caught("curator-online", "answer: not the same")


def test_a_standing_question_with_noise_for_half_a_person_is_caught(monkeypatch):
    true = StreamOrder.counter.func
    monkeypatch.setattr(StreamOrder, "counter", property(lambda planned: _halved(true(planned))))
    assert caught("curator-standing-question", "l2 of a step")


def test_a_standing_question_with_noise_for_one_of_two_sums_is_caught(monkeypatch):
    true = StreamQuery.sensitivity.fget
    one = property(lambda read: int(true(read) / len(read.statistics) ** 0.5) + 1)
    monkeypatch.setattr(StreamQuery, "sensitivity", one)
    part = QUESTIONS["curator-standing-question"].parts[0]
    assert "l2 of a step" in audit_question("planted", part).why


def test_a_standing_question_that_counts_a_person_on_every_day_is_caught(monkeypatch):
    pair = QUESTIONS["curator-standing-question"].claim.pairs[0]
    daily = tuple((40, value) for value in range(10))
    visits, bills = pair.left
    sides = (visits, bills), (visits + daily, bills)
    ask = QUESTIONS["curator-standing-question"].parts[0].ask
    assert not replay(ask, *sides)
    true = CompiledStream.totals.fget
    always = property(lambda compiled: true(compiled).replace("turn <= 2", "TRUE"))
    monkeypatch.setattr(CompiledStream, "totals", always)
    assert "steps changed" in str(replay(ask, *sides))


def test_a_failure_that_tells_who_has_no_budget_left_is_caught(monkeypatch):
    true = PersonAccounts.left_out

    def telling(*args):
        if len(out := true(*args)):
            raise BudgetError("somebody has none left", why="-", fix="-")
        return out

    monkeypatch.setattr(PersonAccounts, "left_out", telling)
    assert caught("curator-per-person")


def test_a_standing_question_with_a_tenth_of_its_noise_is_caught(monkeypatch):
    def thin(rule, past):
        names = ("horizon", "sensitivity", "steps_per_unit")
        same = {name: getattr(rule, name) for name in names}
        return VectorStream(FactorizedCount(rho=100 * rule.rho, **same), past)

    monkeypatch.setattr(streams, "VectorStream", thin)
    assert caught("curator-standing-question", "promised 1")


@pytest.mark.parametrize("name", ["synthesis", "profile"])
def test_noise_that_is_smaller_than_what_was_charged_for_is_caught(monkeypatch, name):
    def thin(**said):
        return RoundedGaussian(**{**said, "mu_squared": 100 * said["mu_squared"]})

    monkeypatch.setattr(histogram, "RoundedGaussian", thin)
    assert caught(f"curator-{name}", "promised 1")


def test_a_strategy_whose_columns_are_longer_than_stated_is_caught(monkeypatch):
    thin = property(lambda one: one.person_weight**2 / one.mu_squared)
    monkeypatch.setattr(MatrixMechanism, "variance", thin)
    for name in ("curator-workload", "workload-strategies"):
        assert caught(name, "declared")


def test_a_residual_that_keeps_its_means_is_caught(monkeypatch):
    true = residual._residual
    kept = lambda rows, **whole: rows * rows.size if whole else true(rows)  # noqa: E731
    monkeypatch.setattr(residual, "_residual", kept)
    assert caught("workload-strategies", "declared")


def test_a_fit_with_noise_for_one_row_of_a_person_is_caught(monkeypatch):
    true = NoisySums._mechanism

    def thin(sums, statistic, share):
        return true(replace(sums, rows=replace(sums.rows, bound=1)), statistic, share)

    monkeypatch.setattr(NoisySums, "_mechanism", thin)
    assert caught("curator-fits")


@pytest.mark.parametrize("least", [lambda tail: tail // 2, lambda tail: tail - 200])
def test_a_threshold_that_shows_keys_of_one_person_is_caught(monkeypatch, least):
    true = ThresholdedCount._tail
    monkeypatch.setattr(ThresholdedCount, "_tail", lambda one, p: least(true(one, p)))
    assert caught("curator-found-keys", "a key of one person alone")


def test_a_threshold_of_a_profile_that_shows_a_text_of_one_person_is_caught(monkeypatch):
    true = profile.ProfileNoise.threshold
    monkeypatch.setattr(profile.ProfileNoise, "threshold", lambda one, p: true(one, p) * 4 // 5)
    assert caught("curator-profile", "a key of one person alone")


def test_a_threshold_of_a_profile_that_leaves_a_person_out_is_caught(monkeypatch):
    true = profile.ProfileNoise.threshold
    less = lambda one, p: true(one, p) - one.full * one.rows  # noqa: E731
    monkeypatch.setattr(profile.ProfileNoise, "threshold", less)
    assert caught("curator-profile", "a key of one person alone")


def test_keys_chosen_as_if_a_person_had_one_are_caught(monkeypatch):
    true = SetPlan.selection

    def thin(plan, contributions):
        found = true(plan, contributions)
        return KeySelection(epsilon=found.epsilon, delta=found.delta)

    monkeypatch.setattr(SetPlan, "selection", thin)
    assert caught(QUESTIONS["curator-found-keys"].parts[0], "(l1 over keys), declared 1")


@pytest.mark.parametrize("name", ["curator-quantiles", "curator-quantiles-pure"])
def test_quantiles_of_half_their_scale_are_caught(monkeypatch, name):
    scale, paid = measure_set.quantile_scale, measure_set.quantile_guarantee

    def charged(measured, levels):  # or the curator itself sees that it spends more than planned
        return paid(measured, [(level, 2 * width) for level, width in levels])

    monkeypatch.setattr(measure_set, "quantile_scale", lambda *said: scale(*said) / 2)
    monkeypatch.setattr(measure_set, "quantile_guarantee", charged)
    assert caught(QUESTIONS[name].parts[1], "promised 1")


def test_a_strategy_that_forgets_how_far_columns_are_apart_is_caught(monkeypatch):
    longest = lambda one: 2 * int((one.strategy**2).sum(axis=0).max())  # noqa: E731
    thin = property(lambda one: longest(one) * one.person_weight**2 / one.mu_squared)
    monkeypatch.setattr(MatrixMechanism, "variance", thin)
    assert caught(QUESTIONS["workload-strategies-change-one"], "squared l2 steps")


def test_a_small_database_that_is_simply_the_best_is_caught(monkeypatch):
    def best(blr, histogram):
        return blr.databases[int(blr.scores(histogram).argmax())]

    monkeypatch.setattr(SmallDatabase, "release", best)
    assert caught("small-database")


def test_a_question_that_is_not_answered_is_no_evidence():
    unknown = CuratorQuestion(lambda curator, price: curator.sql("SELECT 1 FROM nowhere", **price))
    assert caught(unknown, "it is not answered")


def test_quantiles_of_rows_in_groups_that_are_left_out_are_caught(monkeypatch):
    true = CompiledQuery._same

    def keys_alone(self, one, other, names):
        return true(self, one, other, names[1:] if (one, other) == ("r", "p") else names)

    monkeypatch.setattr(CompiledQuery, "_same", keys_alone)
    assert caught("curator-found-quantiles", "promised 1")


def test_features_that_an_engine_holds_at_one_end_alone_are_caught(monkeypatch):
    true = FitTotals._rounded

    def one_end(self, place, start, factor, least, most):
        held = self.ranges[place]
        near = None if held is None else [np.rint((end - start) * factor) for end in held]
        inside = near is not None and any(least <= end <= most for end in near)
        return true(self, place, start, factor, *((-np.inf, np.inf) if inside else (least, most)))

    monkeypatch.setattr(FitTotals, "_rounded", one_end)
    assert "declared" in audit_question("planted", QUESTIONS["curator-fits"].parts[-2]).why


def test_people_in_many_groups_who_weigh_by_the_root_of_them_are_caught(monkeypatch):
    true = CompiledQuery.weight

    def by_roots(self, norm, limit, *, square):
        return true(self, norm, limit, square=square or norm == "l0")

    monkeypatch.setattr(CompiledQuery, "weight", by_roots)
    part = QUESTIONS["curator-pure-groups"].parts[1]
    assert "declared" in audit_question("planted", part).why


def test_a_person_in_more_groups_than_a_small_price_finds_is_caught(monkeypatch):
    true = CompiledQuery.few_groups
    monkeypatch.setattr(CompiledQuery, "few_groups", lambda self, most: true(self, most + 1))
    assert caught("curator-found-keys-cheap", "declared 2")


def test_rows_that_meet_those_of_other_people_are_caught(monkeypatch):
    true = relations._marked

    def anybodys(column, source, others, conditions, dialect):
        return true(column, source, others, conditions[1:] or conditions, dialect)

    monkeypatch.setattr(relations, "_marked", anybodys)
    part = QUESTIONS["curator-shapes"].parts[4]
    assert "declared" in audit_question("planted", part).why


_sum = CompiledQuery._sum


@pytest.mark.parametrize(
    ("owner", "name", "wrong", "said"),
    [
        (CompiledQuery, "_sum", lambda self, place: f"2 * {_sum(self, place)}", "declared"),
        (Price, "over", lambda price, _: price, "together, promised 1"),
    ],
    ids=["rows of a person that count twice", "the whole price for each of several questions"],
)
@pytest.mark.parametrize("part", [1, 2], ids=["groups first", "sums over people"])
def test_questions_that_become_several_are_judged_whole(
    monkeypatch, owner, name, wrong, said, part
):
    monkeypatch.setattr(owner, name, wrong)
    assert caught(QUESTIONS["curator-answer-tables"].parts[part], said)


def test_sums_over_people_that_read_the_rows_of_others_are_caught(monkeypatch):
    true = relations.render_windows
    everybodys = lambda *asked: true(*asked).replace('PARTITION BY "_person"', "PARTITION BY 1")  # noqa: E731
    monkeypatch.setattr(relations, "render_windows", everybodys)
    assert caught(QUESTIONS["curator-answer-tables"].parts[2], "declared")


def test_what_others_have_paid_for_counts_for_a_group(monkeypatch):
    asked = SEQUENCES["account-curator-epsilon"]
    assert not audit_sequence("sound", asked).refuted
    monkeypatch.setattr(charging, "_share", lambda *_: None)
    assert audit_sequence("planted", asked).refuted


def test_limits_of_people_that_a_restart_forgets_are_caught(monkeypatch):
    true = person_accounts.limits_after

    def later(*asked, after=None, **said):
        return [] if after is None else true(*asked, after=after, **said)

    monkeypatch.setattr(person_accounts, "limits_after", later)
    assert caught("curator-people-resumed-limit", "promised 3")


def test_a_workbook_with_a_share_of_the_largest_account_is_caught(monkeypatch):
    monkeypatch.setattr(workbook, "min", max, raising=False)
    part = QUESTIONS["curator-workbooks"].parts[2]
    assert "promised 5" in audit_question("planted", part).why


def test_people_who_go_on_without_a_budget_are_caught(monkeypatch):
    true = PersonAccounts.left_out
    monkeypatch.setattr(PersonAccounts, "left_out", lambda *args: true(*args)[:0])
    assert caught("curator-per-person", "promised 5")


def test_the_command_line_knows_them_by_name():
    shown = CliRunner().invoke(audit, ["curator-limit-histograms", "--csv"])
    assert shown.exit_code == 0
    assert "curator-limit-histograms,CuratorQuestion,add-remove,1.0," in shown.output


def _strategy(asked):
    """The part of `workload-strategies` that this function asks."""
    parts = QUESTIONS["workload-strategies"].parts
    return next(one for one in parts if one.asked.__name__ == asked)


_extent = BinCounts.extent.fget


def _learning(asked):
    """The part of `learn-rows` that this function asks."""
    return next(one for one in QUESTIONS["learn-rows"].parts if one.asked.__name__ == asked)


def test_one_noise_for_all_groups_of_a_stream_is_caught(monkeypatch):
    shared = vector_stream.rounded_gaussian
    monkeypatch.setattr(vector_stream, "rounded_gaussian", lambda variance, _: shared(variance))
    part = QUESTIONS["curator-standing-question"].parts[1]
    assert caught(part, "random words for")


@pytest.mark.parametrize(
    ("asked", "owner", "name", "wrong"),
    [
        ("RandomForest", BinCounts, "extent", property(lambda self: (_extent(self)[0], 1))),
        ("_queried", Expectation, "_of", lambda self, x, y: float(self.function(x, y)) * 1024),
        ("_tuned", Expectation, "extent", property(lambda _: (2, 1))),
    ],
)
def test_a_sum_of_rows_that_is_larger_than_stated_is_caught(monkeypatch, asked, owner, name, wrong):
    part = _learning(asked)
    assert not audit_question("sound", part).refuted
    monkeypatch.setattr(owner, name, wrong)
    assert caught(part, "declared")


def test_a_model_that_states_less_than_it_spent_is_caught(monkeypatch):
    stated = property(lambda self: GDP.of_square(self.spent / 2, neighbours=self.neighbours))
    monkeypatch.setattr(NoisySums, "guarantee", stated)
    assert caught(_learning("GaussianNB"), "together, promised 0.")


def test_a_profile_with_one_measurement_more_than_it_pays_for_is_caught(monkeypatch):
    """Although nobody moves all of its measurements at once."""
    true = ProfileOrder.parts.fget
    monkeypatch.setattr(ProfileOrder, "parts", property(lambda order: true(order) - 1))
    assert caught("curator-profile", "together, promised 1")


def test_a_fit_under_change_one_with_noise_for_a_row_that_comes_and_one_that_goes_is_caught(
    monkeypatch,
):
    """By the root of 2 instead of 2: only gradients that turn round are so far apart."""

    def thin(sums, statistic, share):
        square = 2 * statistic.square * sums.rows.bound**2
        return RoundedGaussian(
            sensitivity=sqrt_up(Fraction(square)),
            mu_squared=share * sums.mu_squared,
            grid=1,
            dimension=statistic.width,
            neighbours=sums.neighbours,
        )

    monkeypatch.setattr(NoisySums, "_mechanism", thin)
    gradients = 2
    assert not caught(QUESTIONS["curator-fits"].parts[gradients])
    assert caught(QUESTIONS["curator-fits-change-one"].parts[gradients], "declared")


def test_a_person_who_is_sampled_out_of_turn_is_caught(monkeypatch):
    sampling = import_module("discreet.learn.torch.sampling")
    true = sampling.PeopleSampler.sample

    def always(sampler, step, rate):
        return np.union1d(true(sampler, step, rate), true(sampler, step + 1, rate))

    monkeypatch.setattr(sampling.PeopleSampler, "sample", always)
    assert caught("training-bands", "declared")


def test_a_band_that_is_begun_and_not_paid_for_is_caught(monkeypatch):
    plans = import_module("discreet.learn.noise_plan")
    step, found = plans.CalibrationStep, plans._calibrated.__wrapped__
    monkeypatch.setattr(plans, "_calibrated", found)  # what was found before is not kept
    monkeypatch.setattr(plans, "CalibrationStep", lambda release, count: step(release, count - 1))
    assert caught("training-bands", "together, promised 1")


def test_noise_of_a_band_for_the_first_of_its_steps_alone_is_caught(monkeypatch):
    grids = import_module("discreet.learn.noise_plan").GradientGrid
    true = grids.sigma
    monkeypatch.setattr(grids, "sigma", lambda grid, mu, parts: true(grid, mu, parts[:1]))
    assert caught("training-bands", "together, promised 0.9")


def test_scores_of_changed_people_with_noise_for_a_table_are_caught(monkeypatch):
    """A changed person moves a table by the root of 2, and its distance from a model by 2."""

    def thin(histogram, count, mu_squared):
        return histogram.noise(count, mu_squared, marginals=count)

    part = QUESTIONS["workload-strategies-change-one"].parts[-1]
    assert not audit_question("sound", part).refuted
    monkeypatch.setattr(candidates, "score_noise", thin)
    assert caught(part, "declared")


@pytest.mark.parametrize("kind", ["dataset", "analyst", "group", "link"])
def test_an_account_that_is_never_full_is_caught(monkeypatch, kind):
    true = accounts.Account.after

    def endless(account, cost):  # the running total goes on, and is held to no cap
        free = account if account.holder.kind != kind else replace(account, cap=None)
        return replace(true(free, cost), cap=account.cap)

    monkeypatch.setattr(accounts.Account, "after", endless)
    assert audit_sequence("planted", SEQUENCES["account-curator-epsilon"]).refuted


@pytest.mark.parametrize("part", ["workload-strategies", "workload-strategies-change-one"])
def test_scores_that_weigh_queries_of_two_columns_more_are_caught(monkeypatch, part):
    true = mwem.MWEM._scores

    def weighed(plan, *said):
        scores = zip(plan.queries, true(plan, *said), strict=True)
        return [score * 3 // 2 if len(query.clique) > 1 else score for query, score in scores]

    [asked] = [one for one in QUESTIONS[part].parts if one.asked.__name__ == "_mwem"]
    assert not audit_question("sound", asked).refuted
    monkeypatch.setattr(mwem.MWEM, "_scores", weighed)
    assert caught(asked, "largest score change")


@pytest.mark.parametrize(("place", "part"), [(0, 0), (1, 3)])
def test_a_workbook_that_does_not_count_an_amount_is_caught(monkeypatch, place, part):
    true = workbook.Workbook._left

    def whole(book, holder):
        left = list(true(book, holder))
        left[place] = book._allowed[holder][place]
        return tuple(left)

    monkeypatch.setattr(workbook.Workbook, "_left", whole)
    assert caught(QUESTIONS["curator-workbooks"].parts[part], "together, promised 5")


def test_a_session_that_counts_one_of_its_runs_is_caught(monkeypatch):
    true = online_epochs._with_steps
    one = lambda state, steps: true(state, steps[:1])  # noqa: E731
    monkeypatch.setattr(online_epochs, "_with_steps", one)
    assert caught(QUESTIONS["curator-online-resumed"], "together, promised 5")


def test_an_account_that_pays_a_part_of_the_price_is_caught(monkeypatch):
    part = QUESTIONS["curator-pure"].parts[0]
    true = accounts.Account.after
    half = lambda account, cost: true(account, (cost[0] // 2, cost[1]))  # noqa: E731
    monkeypatch.setattr(accounts.Account, "after", half)
    assert caught(part)


def test_shares_of_people_that_forget_a_measurement_are_caught(monkeypatch):
    true = individual._squares
    first = lambda sizes, *said: true(sizes[:1], *said)  # noqa: E731
    monkeypatch.setattr(individual, "_squares", first)
    part = QUESTIONS["curator-per-person"].parts[2]
    assert caught(part, "a person loses a rho of")


def test_a_limit_of_one_person_that_nobody_heeds_is_caught(monkeypatch):
    monkeypatch.setattr(OpenedAccounts, "limit", lambda *_: None)
    assert caught("curator-per-person-limit")
    assert caught("curator-per-person-closed")


def test_a_statistical_test_whose_counts_are_larger_than_stated_is_caught(monkeypatch):
    # Nine tenths of a row: each of the two counts of a rank test, and all of the others.
    least = lambda one: (_extent(one)[0], Fraction(9, 10))  # noqa: E731
    monkeypatch.setattr(BinCounts, "extent", property(least))
    for kind in ("MannWhitney", "ChiSquare", "ProportionTest"):
        assert caught(_learning(kind), "declared")


def test_classes_that_are_bought_with_all_rows_of_a_person_are_caught(monkeypatch):
    monkeypatch.setattr(private_schema, "_first_rows", lambda rows, _: rows)
    for asked in ("_bounded", "_classified"):
        assert caught(_learning(asked))


def test_a_layer_whose_gradients_are_longer_than_they_are_told_is_caught(monkeypatch):
    layers = pytest.importorskip("discreet.learn.torch.layers")
    part, true = QUESTIONS["training"].parts[2], layers.PersonMatrix.norm_squares
    monkeypatch.setattr(layers.PersonMatrix, "norm_squares", lambda one: true(one) / 16)
    assert caught(part, "declared")


def test_norms_without_gradients_that_are_too_small_are_caught(monkeypatch):
    layers = pytest.importorskip("discreet.learn.torch.layers")
    part, true = QUESTIONS["training"].parts[0], layers.OuterProducts.norm_squares
    monkeypatch.setattr(layers.OuterProducts, "norm_squares", lambda one: true(one) / 16)
    assert "declared" in audit_question("planted", part).why


def test_a_charge_that_is_a_thousandth_too_small_is_caught(monkeypatch):
    """In the measure of the ledger: as an epsilon at a delta it would hide in what is rounded."""
    true = accounts.Account.after
    less = lambda account, cost: true(account, (cost[0] * 999 // 1000, cost[1]))  # noqa: E731
    monkeypatch.setattr(accounts.Account, "after", less)
    assert caught("curator-found-keys", "is charged")
    assert caught("curator-aggregates", "is charged")


def test_different_values_that_are_limited_in_each_group_by_itself_are_caught(monkeypatch):
    true = DuckDBDialect.first

    def in_each(self, rows, columns, person, *said):
        group = ", k0" if "k0" in columns else ""
        return true(self, rows, columns, person + group, *said)

    monkeypatch.setattr(DuckDBDialect, "first", in_each)
    assert caught(QUESTIONS["curator-aggregates"].parts[1], "declared")


def test_a_plan_that_is_read_back_otherwise_is_caught(monkeypatch):
    true = SetPlan.from_dict

    def cheap(*said):
        plan = true(*said)
        return replace(plan, costs={one: 4 * cost for one, cost in plan.costs.items()})

    monkeypatch.setattr(SetPlan, "from_dict", cheap)
    assert caught("curator-limit-histograms", "is not answered")


def test_a_session_that_forgets_its_updates_is_caught(monkeypatch):
    true = online_epochs._with_steps
    runs = lambda state, steps: true(state, [one for one in steps if len(one) == 1])  # noqa: E731
    monkeypatch.setattr(online_epochs, "_with_steps", runs)
    assert caught("curator-online-resumed", "is charged")


def test_charges_of_people_that_are_folded_in_for_nothing_are_caught(monkeypatch):
    monkeypatch.setattr(PersonAccounts, "_charge_all", lambda *_: None)
    assert caught("curator-people-resumed", "a person loses a rho of")


def test_parts_of_a_release_that_share_their_noise_are_caught(monkeypatch):
    true = census_workers.keyed
    monkeypatch.setattr(census_workers, "keyed", lambda key, _: true(key, b""))
    part = QUESTIONS["curator-release"].parts[1]
    assert "have the same noise" in audit_question("planted", part).why


def test_sums_of_an_engine_that_are_not_those_of_the_rows_are_caught(monkeypatch):
    """Whoever has one row alone moves them no further than the rows do."""
    true = FitTotals._counts
    monkeypatch.setattr(FitTotals, "_counts", lambda *said: true(*said) // 2)
    bins = QUESTIONS["curator-fits"].parts[5]
    assert caught(bins, "an engine has other sums of BinCounts")


def test_a_row_that_is_longer_than_stated_is_caught(monkeypatch):
    """Although nobody who comes has such a row."""
    true = RowTotals.extent.fget
    stated = lambda one: (true(one)[0], true(one)[1] * 9 // 10)  # noqa: E731
    monkeypatch.setattr(RowTotals, "extent", property(stated))
    assert "a row of RowTotals is longer" in audit_question("planted", _learning("PCA")).why


def test_a_training_run_with_less_noise_than_it_was_charged_for_is_caught(monkeypatch):
    pytest.importorskip("torch")
    training_orders = import_module("discreet.curator.orders.fits.training_orders")
    assert not audit_question("sound", QUESTIONS["curator-training"]).refuted
    run = training_orders.TrainingRun
    true = run.take

    def thin(self, trainer):
        by, planned, *rest = self.resumed
        return true(
            replace(self, resumed=(by, replace(planned, mu=2 * planned.mu), *rest)), trainer
        )

    monkeypatch.setattr(run, "take", thin)
    assert caught("curator-training", "is charged")


def test_every_question_of_the_file_is_asked():
    file, source = Path(curator_questions.__file__), curator_questions._SQL
    _, *sections = file.with_name("questions.sql").read_text("utf-8").split("\n--")
    names = [one.partition("\n")[0].strip() for one in sections]
    assert names == list(source)  # none came twice, which would hide the first
    starts = [one.count("\nSELECT ") for one in sections]
    assert starts == [len(texts) for texts in source.values()]  # nor lacks one a semicolon
    asked = file.read_text("utf-8")
    assert not [name for name in names if f'"{name}"' not in asked]


def test_quantiles_that_state_less_than_a_person_moves_are_caught(monkeypatch):
    true = measure_set.quantile_guarantee

    def of_one_row(measurement, draws):
        return true(measurement, [(one / measurement.sensitivity, scale) for one, scale in draws])

    monkeypatch.setattr(measure_set, "quantile_guarantee", of_one_row)
    assert caught(QUESTIONS["curator-quantiles"].parts[0], "that is stated")
