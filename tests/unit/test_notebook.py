"""Notebooks: cells of SQL in a real shell, and HTML that holds no markup of others."""

import pyarrow as pa
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import discreet as dp

EVIL = "<script>alert(1)</script>"


def made(**columns):
    """A curator of 400 people with a column of a nasty name and a nasty key."""
    curator = dp.Curator.in_memory()
    table = {
        "id": list(range(400)),
        "age": [i % 90 for i in range(400)],
        EVIL: [EVIL if i % 2 else "b" for i in range(400)],
    }
    said = {"age": dp.Bounds(0, 89), EVIL: dp.Keys([EVIL, "b"])}
    curator.add(
        "people",
        pa.table(table),
        unit="id",
        limits=dp.Limits(1, 1),
        budget=dp.Budget(epsilon=10, delta=1e-6),
        columns=said | columns,
    )
    return curator


@pytest.fixture
def shell(tmp_path):
    """A shell that keeps no history, with the extension loaded."""
    config = Config()
    config.HistoryManager.enabled = False
    made_shell = InteractiveShell(config=config, ipython_dir=str(tmp_path))
    made_shell.run_line_magic("load_ext", "discreet")
    made_shell.user_ns["curator"] = made()
    return made_shell


def test_a_cell_of_sql_is_asked_shown_and_kept(shell):
    cell = "%%discreet curator --epsilon 0.5 --into answer\nSELECT COUNT(*) AS n FROM people"
    result = shell.run_cell(cell)
    assert result.success
    assert result.result is shell.user_ns["answer"]
    assert float(result.result.price.epsilon) == 0.5
    shown, _ = shell.display_formatter.format(result.result)
    assert {"text/plain", "text/html"} <= shown.keys()


def test_the_only_curator_need_not_be_named_and_a_second_name_for_it_is_no_second(shell):
    shell.user_ns["same"] = shell.user_ns["curator"]
    told = shell.run_cell("%%discreet --epsilon 1 --explain\nSELECT MEDIAN(age) AS m FROM people")
    assert told.result.price.epsilon == 1
    assert shell.user_ns["curator"].budget().total.amount == 0
    shell.user_ns["bob"] = shell.user_ns["curator"].as_analyst("bob")
    assert not shell.run_cell("%%discreet --epsilon 1\nSELECT COUNT(*) FROM people").success
    within = "%%discreet bob --within 50 --no-intervals\nSELECT COUNT(*) AS n FROM people"
    assert shell.run_cell(within).success


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%discreet nobody --epsilon 1\nSELECT COUNT(*) FROM people", "no variable nobody"),
        ("%%discreet --epsilon\nSELECT COUNT(*) FROM people", "--epsilon 0.1"),
        ("%%discreet --epsilon x\nSELECT COUNT(*) FROM people", "not a number"),
        ("%%discreet --epsilon '1\nSELECT COUNT(*) FROM people", "a quote is not closed"),
        ("%%discreet curator\nSELECT COUNT(*) FROM people", "epsilon and accuracy"),
        ("%%discreet --epsilon 1\nSELECT * FROM people", "a row is somebody's"),
    ],
)
def test_a_refusal_is_one_line_and_no_traceback(shell, cell, words):
    with capture_output() as said:
        assert not shell.run_cell(cell).success
    assert words in said.stderr + said.stdout
    assert "Traceback" not in said.stderr + said.stdout


def test_everything_that_is_shown_is_escaped():
    curator = made()
    question = curator.table("people").group_by(EVIL).agg(**{f"n {EVIL}": dp.count()})
    things = [
        curator,
        curator.schema,
        curator.budget(),
        question,
        question.explain(epsilon=1),
        question.release(epsilon=1),
    ]
    for one in things:
        page = one._repr_html_()
        assert page.startswith('<div class="discreet">')
        assert "<script" not in page
    assert sum("&lt;script&gt;" in one._repr_html_() for one in things) >= 4
    assert "width:" in curator.budget()._repr_html_()
