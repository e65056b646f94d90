"""Weights of groups in a file, for scenarios and for questions."""

import pandas as pd
import pytest

from scenarios.declaration.weights_file import read_weights
from scenarios.errors import UserError
from scenarios.questions.question import reweighing

GROUPS = ("0-19", "20-49", "70+")


@pytest.mark.parametrize(
    "text", ["group,weight\n70+,10\n0-19,0.5\n", "70+,10\n0-19,0.5\n", "Age;Cost\n70+;10\n0-19;0,5\n"]
)
def test_a_table_of_groups_and_weights_is_read_with_and_without_a_header(tmp_path, text):
    path = tmp_path / "weights.csv"
    path.write_text(text, encoding="utf-8")
    assert read_weights(path) == {"70+": 10.0, "0-19": 0.5}


def test_a_workbook_is_read_too(tmp_path):
    path = tmp_path / "weights.xlsx"
    pd.DataFrame({"group": ["70+", "0-19"], "weight": [10, 0.5]}).to_excel(path, index=False)
    assert read_weights(path) == {"70+": 10.0, "0-19": 0.5}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("group,weight\n", "has no rows"),
        ("70+,10\n70+,2\n", "row 2: 70+ is named twice"),
        ("70+,10\n0-19,-1\n", "row 2: weight -1 of 0-19; accepted: 0 or more"),
        ("group,weight\n70+,many\n", "row 2: 70+, many; accepted: a group and its weight"),
        ("group,weight,why\n70+,10,old\n", "accepted: a group and its weight"),
    ],
)
def test_what_is_no_table_of_weights_is_one_line(tmp_path, text, words):
    path = tmp_path / "weights.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="weights.csv") as error:
        read_weights(path)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_a_question_sets_the_weights_that_a_file_names(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("70+,10\n0-19,0\n", encoding="utf-8")
    today = [2.0, 3.0, 4.0]
    assert reweighing([str(path), "20-49*2"], GROUPS).of(today).tolist() == [0.0, 6.0, 10.0]
    with pytest.raises(UserError, match="70\\+ is named twice"):
        reweighing([str(path), "70+*2"], GROUPS)
    path.write_text("71+,10\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"w.csv: unknown group '71\+'; did you mean '70\+'"):
        reweighing([str(path)], GROUPS)
    with pytest.raises(UserError, match="gone.csv"):
        reweighing([str(tmp_path / "gone.csv")], GROUPS)


def test_a_scenario_s_weights_may_be_a_file_beside_it_and_are_stored_as_numbers(tmp_path, policyloop):
    (tmp_path / "w.csv").write_text("group,weight\n70+,10\n", encoding="utf-8")
    text = 'name = "s"\nrounds = 2\ntrials = 1\nagents = ["random"]\nweights = "w.csv"\n'
    text += '[environment]\nname = "flu-ode"\noptions = { intervention = "vaccination" }\n'
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    code, _, error = policyloop("run", tmp_path / "s.toml", "--out", tmp_path / "s.sqlite", "--quiet")
    assert code == 0, error
    from scenarios.study.study import Study

    assert Study(tmp_path / "s.sqlite").scenario.weights == {"70+": 10.0}
