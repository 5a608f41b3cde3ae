"""`discreet online`: queries in, answers out, one JSON object a line."""

import json

WORDS = ("online", "visits", "--column", "city", "--epsilon", "2", "--delta", "1e-7")


def test_each_line_is_a_query_and_gets_an_answer(discreet):
    told = discreet(*WORDS, text='{"city": ["Haifa"]}\n\n{}\n')
    assert told.exit_code == 0
    haifa, everybody = map(json.loads, told.stdout.splitlines())
    assert haifa["low"] <= haifa["value"] <= haifa["high"]
    assert set(everybody) == {"value", "low", "high", "confidence", "checked", "bought"}


def test_a_line_that_is_no_object_is_wrong_use(discreet):
    assert discreet(*WORDS, text="3\n").exit_code == 2
    assert discreet(*WORDS, text='{"height": 3}\n').exit_code == 2
