"""Impossible levers are one line on standard error and exit code 2, from a scenario or an option."""

import pytest

TWO = '{ nurses = { whole = [1, 4] }, tariff = { one_of = ["flat", "peak"] } }'
MISTAKES = {
    "no such category today": (
        f'policy = {TWO}, current = [2, "pek"]',
        "environment: current_policy: policy entry 'tariff': unknown category 'pek'; did you mean 'peak'?",
    ),
    "a step that does not divide": (
        "policy = { nurses = { whole = [1, 20], step = 4 } }",
        "policy: 'nurses': step=4 must be 1 or more and divide the range 1..20",
    ),
    "a limit that is not whole": (
        "policy = { nurses = { whole = [1, 4.5] } }",
        "policy: 'nurses': high=4.5 must be a whole number",
    ),
    "a category twice": (
        'policy = { tariff = { one_of = ["flat", "flat"] } }',
        "policy: 'tariff': one_of=['flat', 'flat'] must be different names",
    ),
    "another spelling": (
        "policy = { nurses = { integer = [1, 4] } }",
        "policy: 'nurses' is {'integer': [1, 4]}; accepted: [low, high], { whole = [low, high], step = 1 }",
    ),
    "a category in a budget": (
        f"policy = {TWO}, weights = [1, 1], most = 3",
        "constraint 1 weighs 'tariff' by 1, but categories have no size; accepted: 0 there",
    ),
    "no whole number within the budget": (
        "policy = { nurses = { whole = [2, 8], step = 2 }, beds = { whole = [1, 3], step = 2 } }, "
        "weights = [[1, 1], [-1, -1]], most = [4.5, -3.5]",  # their sum is odd
        "infeasible constraints: no policy of whole numbers within the bounds satisfies all of them",
    ),
}


@pytest.mark.parametrize(("options", "words"), MISTAKES.values(), ids=MISTAKES)
def test_impossible_levers_are_told_in_one_line_and_nothing_is_written(
    options, words, scenario_file, policyloop, tmp_path
):
    path = scenario_file(environment="clinic:Clinic", options=options, samples=0, agents='["random"]')
    code, out, err = policyloop("run", path, "--out", tmp_path / "s.sqlite")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "small.toml: environment" in err and words in err
    assert [one.name for one in tmp_path.iterdir()] == ["small.toml"]


def test_an_option_of_check_is_judged_like_that_of_a_scenario(policyloop):
    code, out, err = policyloop(
        "check", "clinic:Clinic", "--option", "policy={ nurses = { whole = [1, 20], step = 4 } }"
    )
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "step=4 must be 1 or more and divide the range 1..20" in err
