"""A dataset that is retired: nothing new is asked of it, and nothing of it is forgotten."""

import pyarrow.parquet as pq
import pytest

import discreet as dp
from clinic_curator import COUNT, add_visits, spent
from discreet.curator.orders.planned_orders import Terms
from discreet.errors import InputError, QueryRefused
from visits import clinic

OTHER = "SELECT COUNT(*) AS n FROM visits WHERE amount > 3"


@pytest.fixture
def file(tmp_path):
    pq.write_table(clinic(50), tmp_path / "visits.parquet")
    return tmp_path / "visits.parquet"


def test_questions_are_refused_and_answers_stay_even_without_the_data(tmp_path, file):
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        first = curator.sql(COUNT, epsilon=0.1)
        curator.retire("visits", reason="the study is over")
        before = spent(curator)
    file.unlink()
    with dp.Curator(tmp_path / "c") as curator:
        assert curator.retired() == ["visits"]
        assert curator.sql(COUNT, epsilon=0.1) == first
        for asked in (curator.sql, curator.explain, curator.cost):
            with pytest.raises(QueryRefused, match="is retired") as refused:
                asked(OTHER, epsilon=0.1)
            assert refused.value.code == "retired"
        assert spent(curator) == before
        curator.check_tables()
        curator.ledger.verify()


def test_its_name_is_never_used_again_and_it_takes_no_rows(tmp_path, file):
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        curator.retire("visits", reason="over")
        with pytest.raises(InputError, match="is retired"):
            curator.append("visits", clinic(20))
        with pytest.raises(InputError, match="is retired"):
            add_visits(curator, file)
        with pytest.raises(InputError, match="is retired"):
            curator.add("more", clinic(9), unit="person", dataset="visits")
    (tmp_path / "c" / "tables.json").unlink()
    with dp.Curator(tmp_path / "c") as curator, pytest.raises(InputError, match="is retired"):
        add_visits(curator, file)


def test_retiring_again_changes_nothing_and_keeps_the_reason(tmp_path, file):
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        curator.retire("visits", reason="over")
        before = curator.ledger.entries()
        curator.retire("visits", reason="over")
        with pytest.raises(InputError, match=r"retired before.*given: over") as refused:
            curator.retire("visits", reason="another one")
        assert "rows" not in str(refused.value)
        with pytest.raises(InputError, match="reason is not a name"):
            curator.retire("visits", reason="")
        assert curator.ledger.entries() == before
        assert [one.facts["reason"] for one in curator.ledger.noted("retired")] == ["over"]


def test_one_dataset_is_retired_for_another_ones_reason(tmp_path, file):
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        curator.add("more", clinic(9), unit="person", budget=dp.Budget(epsilon=1, delta=1e-6))
        curator.retire("more", reason="over")
        curator.retire("visits", reason="over")
        assert curator.retired() == ["visits", "more"]


def test_what_was_charged_before_is_still_finished(tmp_path, file):
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        window = curator.async_session("owner")
        offer = curator._local.offer(COUNT, Terms(epsilon=0.1), None)
        receipt = curator._answer_service.charge(offer)
        curator.retire("visits", reason="over")
        assert curator._answer_service.collect(receipt).table.num_rows == 1
        assert window.find(receipt.sequence) is not None


def test_other_datasets_and_unknown_names_are_left_alone(tmp_path, file):
    with add_visits(dp.Curator(tmp_path / "c"), file) as curator:
        with pytest.raises(InputError, match="no dataset"):
            curator.retire("nobody", reason="over")
        with pytest.raises(InputError):
            curator.retire("visits", reason="")
        assert curator.retired() == []
        assert curator.sql(COUNT, epsilon=0.1).table.num_rows == 1
