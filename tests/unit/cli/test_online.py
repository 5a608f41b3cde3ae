"""`discreet online`: queries in, answers out, one JSON object a line."""

import json

WORDS = ("online", "visits", "--column", "city", "--epsilon", "2", "--delta", "1e-7", "--json")


def test_each_line_is_a_query_and_gets_an_answer(discreet):
    told = discreet(*WORDS, text='{"city": ["Haifa"]}\n\n{}\n')
    assert told.exit_code == 0
    haifa, everybody = map(json.loads, told.stdout.splitlines())
    assert haifa["low"] <= haifa["value"] <= haifa["high"]
    assert set(everybody) == {"value", "low", "high", "confidence", "checked", "bought"}


def test_a_line_that_is_no_object_is_wrong_use(discreet):
    assert discreet(*WORDS, text="3\n").exit_code == 2
    assert discreet(*WORDS, text='{"height": 3}\n').exit_code == 2


def test_answers_are_words_or_rows_as_asked(discreet):
    words, text = WORDS[:-1], '{"city": ["Haifa"]}\n{}\n'
    plain, table = (discreet(*words, *more, text=text).stdout for more in ([], ["--csv"]))
    assert all(" to " in line for line in plain.splitlines())
    head, *rows = table.splitlines()
    assert head == "value,low,high,confidence,checked,bought"
    assert len(plain.splitlines()) == len(rows) == 2
