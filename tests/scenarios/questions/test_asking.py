"""What a what-if prints, and what cannot be asked."""

import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from shares import NAMES, Shares

import scenarios
import simulators
from scenarios.questions.question import reweighing
from scenarios.questions.what_if import what_if
from scenarios.study.study import Study
from simulators.contract.outcome_limit import Limit


def numbers(value):
    if isinstance(value, dict):
        return [n for one in value.values() for n in numbers(one)]
    if isinstance(value, list):
        return [n for one in value for n in numbers(one)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("limits", [[], ["70+ <= 0.05", "every <= 0.5"], ["total <= -5"]])
def test_json_is_plain_data_and_csv_a_table_and_the_study_s_file_is_untouched(limits, shared, policyloop):
    before = shared.read_bytes()
    asked = [part for limit in limits for part in ("--limit", limit)]
    code, out, _ = policyloop("what-if", shared, *asked, "--format", "json")
    data = json.loads(out, parse_constant=lambda text: pytest.fail(text))
    told = 0 if data[0]["kept"] else 2
    assert (
        code == told and data[0]["kept"] == (limits != ["total <= -5"]) and np.isfinite(numbers(data)).all()
    )
    assert set(data[0]["best"]["groups"]) == set(NAMES)
    code, out, _ = policyloop("what-if", shared, *asked, "--format", "csv")
    table = pd.read_csv(StringIO(out))
    assert code == told and table["which"][0] == "answer"
    assert table["objective"][0] == pytest.approx(data[0]["best"]["objective"]["mean"])
    assert table["y_x,y"][0] == pytest.approx(data[0]["best"]["groups"]["x,y"]["mean"])
    code, out, _ = policyloop("what-if", shared, *asked)
    assert code == told and "objective" in out
    assert shared.read_bytes() == before
    assert sorted(one.name for one in shared.parent.iterdir()) == ["s.sqlite", "s.toml"]


def test_limits_are_read_for_groups_of_any_name(shared):
    (answer,) = what_if(
        shared, limits=["<5 years <= 0.5", "2*a*b + x,y + 70+ <= 1.5", "70+ >= 0", "70+ <= 1"]
    )
    names = [one.limit for one in answer.best.limits]
    assert names == ["<5 years <= 0.5", "2*a*b + x,y + 70+ <= 1.5", "0 <= 70+ <= 1"]
    f = answer.best.groups
    assert answer.best.limits[1].mean == pytest.approx(2 * f["a*b"].mean + f["x,y"].mean + f["70+"].mean)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--weights", "71+*2"), "'71+'"),
        (("--weights", "70+*-2"), "negative"),
        (("--weights", "70+*many"), "no finite number"),
        (("--weights", "70+*inf"), "no finite number"),
        (("--weights", "70+"), "GROUP*FACTOR"),
        (("--weights", "70+*2", "--objective", "worst-group"), "weights are of the weighted sum"),
        (("--objective", "worst-grop"), "worst-group"),
        (("--objective", "cvar:2"), "level = 2"),
        (("--objective", "gone.py:g"), "gone.py"),
        (("--limit", "71+ <= 2"), "'71+'"),
        (("--limit", "70+ < 2"), "GROUP <= NUMBER"),
        (("--limit", "70+ <= nan"), "no finite number"),
        (("--limit", "0.03 >= 70+"), "the number comes last"),
        (("--limit", "70+ <= 1", "--limit", "70+ >= 2"), "cannot both be kept"),
        (("--limit", "gone.py:g <= 2"), "gone.py"),
        (("--limit-probability", "1"), "above 0 and below 1"),
        (("--limit-probability", "0.9"), "neither the study nor the question has a limit"),
        (("--weights", "70+=0, a*b=0, x,y=0, <5 years=0"), "all groups weigh nothing"),
        (("--budget", "-1"), "budget of -1"),
        (("--budget", "nan"), "budget nan; accepted: a number"),
        (("--fix", "z=1"), "'z'"),
        (("--fix", "x=2"), "outside 0 to 1"),
        (("--fix", "x=one"), "no finite number"),
        (("--fix", "x=0.9", "--fix", "y=0.9"), "no policy"),
        (("--agent", "d-gpucb"), "'d-gpucb'"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(arguments, words, shared, policyloop):
    code, out, error = policyloop("what-if", shared, *arguments)
    assert code == 2 and words in error and error.count("\n") == 1 and not out


def test_the_study_s_own_objective_is_asked_for_as_total_too_and_signs_of_limits_may_be_typeset(shared):
    (own,), (total,) = (
        what_if(shared, limits=["70+ <= 0.9"]),
        what_if(shared, objective="total", limits=["70+ ≤ 0.9"]),
    )
    assert total.best == own.best


def test_a_frontier_that_no_policy_reaches_says_which_comes_nearest_before_it_is_traced(shared, policyloop):
    code, out, error = policyloop(
        "frontier", shared, "--between", "total", "--and", "70+", "--limit", "total <= -5", "--quiet"
    )
    assert code == 2 and not out and error.count("\n") == 1
    assert "the nearest by its prediction, x " in error and ", y " in error and "does with" in error


def test_where_no_policy_keeps_a_limit_one_line_says_which_comes_nearest_and_how_near(shared, policyloop):
    before = shared.read_bytes()
    code, out, error = policyloop("what-if", shared, "--limit", "total <= -5", "--format", "json")
    best = json.loads(out)[0]["best"]
    assert code == 2 and error.strip().count("\n") == 0 and "No policy is known to keep" in error
    for label, entry in best["policy"].items():
        assert f"{label} {entry:.3g}" in error
    assert f"{best['limits'][0]['mean']:.3g} where 70+ + a*b + x,y + <5 years <= -5 is asked" in error
    assert shared.read_bytes() == before


@pytest.mark.parametrize("words", [("what-if",), ("frontier", "--between", "70+", "--and", "x,y")])
def test_a_study_in_which_no_group_was_observed_says_so(words, study, policyloop, monkeypatch):
    monkeypatch.setattr(Shares, "step", lambda self, policy: simulators.Outcomes(np.full(4, np.nan)))
    made = study(samples=0, rounds=3)
    before = made.path.read_bytes()
    code, out, error = policyloop(words[0], made.path, *words[1:])
    assert code == 2 and "no round has observed anything" in error
    assert error.strip().count("\n") == 0 and not out and made.path.read_bytes() == before


def test_of_what_is_no_study_it_says_so(tmp_path, policyloop):
    (tmp_path / "x.sqlite").write_text("no")
    for path in (tmp_path / "x.sqlite", tmp_path / "gone.sqlite"):
        code, _, error = policyloop("what-if", path)
        assert code == 2 and error.count("\n") == 1 and path.name in error


def test_a_program_asks_as_the_command_does(shared):
    assert scenarios.what_if(str(shared), weights=["70+*2"]) == what_if(Study(shared), weights=["70+*2"])


def test_a_star_multiplies_today_s_weight_and_an_equals_sign_sets_it():
    changed = reweighing(["70+*3, a*b=5", "x,y=0"], NAMES)
    np.testing.assert_array_equal(changed.of(np.full(4, 2.0)), [6.0, 5.0, 0.0, 2.0])


def test_the_study_s_own_probability_is_asked_for_unless_another_is_named(study):
    tail = '[[limits]]\ngroup = "70+"\nat_most = 0.5\n'
    made = study(head="limit_probability = 0.7", tail=tail)
    (answer,) = what_if(made)
    assert "70 % sure" in answer.question or answer.best.limits[0].limit == "70+ <= 0.5"
    assert scenarios.questions.framing.of_study(made, scenarios.Question()).probability == 0.7
    named = scenarios.Question(limit_probability=0.9)
    assert scenarios.questions.framing.of_study(made, named).probability == 0.9


def test_limits_of_the_environment_itself_are_kept_as_data(tmp_path):
    class Limited(type(simulators.make("valley"))):
        limits = (Limit({"left": 1.0}, at_most=1.04),)

    simulators.register("limited-valley", Limited)
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 12\ntrials = 1\nagents = ["d-ei"]\n[environment]\nname = "limited-valley"\n'
        "[prior]\nsamples = 0\n"
    )
    study = scenarios.run(scenarios.load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
    assert study.environment.limits == [{"weights": {"left": 1.0}, "at_most": 1.04}]
    (answer,) = what_if(study)
    # f = (x - 0.2)^2 + (x - 0.8)^2 + 2 is least at 0.5; left <= 1.04 leaves x <= 0.4.
    assert answer.best.limits[0].limit == "left <= 1.04" and answer.best.policy["x"] <= 0.4
    assert answer.best.probability >= 0.949
