"""The what-if panel answers what what-if answers, and keeps what it believes."""

import threading

import numpy as np
import pytest
from shares import NAMES, TEXT, Few, Shares

import scenarios
import simulators
from scenarios.errors import UserError
from scenarios.study.members import members_of
from scenarios.study.study import Study
from scenarios.watching import panel as panels
from scenarios.watching.controls import Controls
from scenarios.watching.panel import Gone, Panel

WAITED_FOR = threading.Event()
VALUES = {"rounds": 12, "trials": 1, "agents": '["d-ei"]', "head": "", "environment": "shares", "options": ""}
VALUES |= {"apart": "false", "samples": 20, "tail": ""}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a study of `shares`, once for each kind."""
    simulators.register("shares", Shares)
    simulators.register("few-shares", Few)
    known = {}

    def make(**changes):
        key = tuple(sorted(changes.items()))
        if key not in known:
            folder = tmp_path_factory.mktemp("study")
            (folder / "s.toml").write_text(TEXT.format(**{**VALUES, **changes}))
            known[key] = scenarios.run(scenarios.load(folder / "s.toml"), out=folder / "s.sqlite").path
        return known[key]

    return make


def begun(path):
    panel = Panel(path)
    return panel, panel.begin({}, WAITED_FOR)


def asked(panel, **question):
    return panel.answer({"question": question}, WAITED_FOR)


def test_an_answer_is_what_what_if_says(made):
    panel, _ = begun(made())
    for sliders, question in [
        ({}, {}),
        ({"weights": {"70+": 10.0}}, {"weights": ["70+*10"]}),
        ({"budget": 0.5, "weights": {"x,y": 0.0, "a*b": 5}}, {"budget": 0.5, "weights": ["x,y*0,a*b*5"]}),
        ({"limits": {"<5 years": 0.3}}, {"limits": ["<5 years <= 0.3"]}),
        ({"objective": "worst-group"}, {"objective": "worst-group"}),
    ]:
        found = asked(panel, **sliders)
        (expected,) = scenarios.what_if(made(), **question)
        assert found["best"]["objective"]["mean"] == pytest.approx(expected.best.objective.mean, rel=1e-3)
        assert found["best"]["policy"] == pytest.approx(expected.best.policy, abs=0.02)
        for group in NAMES:
            low, high = (getattr(expected.best.groups[group], end) for end in ("low", "high"))
            assert found["best"]["groups"][group]["low"] == pytest.approx(low, abs=0.01)
            assert found["best"]["groups"][group]["high"] == pytest.approx(high, abs=0.01)
        assert found["kept"] == expected.kept


def test_of_candidates_it_is_the_same_candidate(made):
    path = made(environment="few-shares")
    panel, told = begun(path)
    assert told["budget"]["high"] == pytest.approx(1.2)
    for budget in (0.4, 0.9):
        (expected,) = scenarios.what_if(path, budget=budget)
        assert asked(panel, budget=budget)["best"]["row"] == expected.best.row


def test_what_is_believed_is_rebuilt_once(made, monkeypatch):
    calls = []
    believing = panels.believer
    monkeypatch.setattr(panels, "believer", lambda *a: calls.append(a) or believing(*a))
    panel, _ = begun(made())
    for factor in (1, 2, 3):
        asked(panel, weights={"70+": factor})
    panel.begin({}, WAITED_FOR)
    assert len(calls) == 1
    panel.begin({"anew": True}, WAITED_FOR)
    assert len(calls) == 2


def test_nothing_is_simulated_and_no_simulator_is_made(made, monkeypatch):
    monkeypatch.setattr(simulators, "make", lambda *a, **k: pytest.fail("made"))
    monkeypatch.setattr(Shares, "step", lambda *a: pytest.fail("stepped"))
    panel, _ = begun(made())
    asked(panel, budget=0.7)
    panel.trade_offs({"question": {}}, WAITED_FOR)


def test_a_question_leaves_no_trace_in_the_next(made):
    panel, _ = begun(made())
    first = asked(panel)
    asked(panel, objective="group-gap")
    asked(panel, limits={"70+": 0.1}, budget=0.3, probability=0.5)
    again = asked(panel)
    assert again["best"]["objective"] == pytest.approx(first["best"]["objective"], rel=1e-4)
    assert again["best"]["limits"] == [] and again["question"] == first["question"]


def test_limits_that_no_policy_keeps_are_said(made):
    panel, _ = begun(made())
    found = asked(panel, limits={"70+": -1.0})
    assert not found["kept"] and found["remarks"][0].startswith("No policy is known to keep the limits")


def test_sliders_go_as_far_as_the_study_does(made):
    _, told = begun(made())
    assert told["budget"] == {"low": 0.0, "high": 2.0, "value": 1.2}
    assert told["weights"] == list(NAMES) and told["worlds"] is None
    seen = np.array([one.outcomes for one in Study(made()).rounds()])
    for j, limit in enumerate(told["limits"]):
        assert limit["low"] < seen[:, j].min() < seen[:, j].max() < limit["high"]


def test_where_every_trial_has_a_world_each_is_asked_alone(made):
    path = made(apart="true", trials=2)
    panel, told = begun(path)
    assert told["apart"] == ["1", "2"] and told["world"] == "1"
    answers = scenarios.what_if(path)
    for world in ("1", "2"):
        found = panel.answer({"world": world, "question": {}}, WAITED_FOR)
        expected = answers[int(world) - 1].best.objective.mean
        assert found["best"]["objective"]["mean"] == pytest.approx(expected, rel=1e-3)


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ensemble")
    (folder / "s.toml").write_text(
        'name = "s"\nrounds = 14\ntrials = 1\nagents = ["d-ei"]\n[environment]\nname = "flu-ode"\n'
        "[ensemble]\nr0 = [1.3, 1.7]\nweights = [3.0, 1.0]\n[prior]\nsamples = 0\n"
    )
    return scenarios.run(scenarios.load(folder / "s.toml"), out=folder / "s.sqlite").path


def test_r0_chooses_a_world_of_an_ensemble_with_its_own_objective(ensemble):
    panel, told = begun(ensemble)
    worlds = told["worlds"]
    assert (worlds["what"], worlds["names"], worlds["shares"]) == ("r0", ["r0=1.3", "r0=1.7"], [0.75, 0.25])
    assert told["weights"] == ["0-19", "20-49", "50-64", "65-69", "70+"]
    together = asked(panel)["best"]
    for member, name in enumerate(worlds["names"]):
        best = asked(panel, member=member)["best"]
        own = sum(best["groups"][f"{name}: {group}"]["mean"] for group in told["weights"])
        assert best["objective"]["mean"] == pytest.approx(own, rel=1e-9)
        mean = sum(together["groups"][f"{name}: {group}"]["mean"] for group in told["weights"])
        assert best["objective"]["mean"] <= mean + 1e-3  # no worse in its world than the policy for both
    found = asked(panel, member=1, limits={"70+": 0.03}, weights={"70+": 2.0})
    assert [one["limit"] for one in found["best"]["limits"]] == ["r0=1.7: 70+ <= 0.03"]
    assert len(asked(panel, limits={"70+": 0.03})["best"]["limits"]) == 2


def test_a_study_without_an_ensemble_has_no_members(made):
    assert members_of(Study(made())) is None


@pytest.mark.parametrize(
    "question",
    [
        {"objective": "ward.py:g"},
        {"objective": ["worst-group"]},
        {"weights": {"nobody": 1}},
        {"weights": {"70+": "1e9"}},
        {"weights": {"70+": -1}},
        {"limits": {"70+": float("inf")}},
        {"limits": ["70+ <= 1"]},
        {"budget": "ward.py:f"},
        {"budget": float("nan")},
        {"probability": 2},
        {"probability": True},
    ],
)
def test_what_no_slider_says_is_refused_in_one_line(made, question):
    panel, _ = begun(made())
    with pytest.raises(UserError) as error:
        asked(panel, **question)
    assert "\n" not in str(error.value)


def test_a_frontier_ends_when_nobody_waits_for_it(made):
    panel, _ = begun(made())
    gone = threading.Event()
    gone.set()
    with pytest.raises(Gone):
        panel.trade_offs({"question": {}}, gone)


def test_the_frontier_is_that_of_the_command(made):
    panel, _ = begun(made())
    found = panel.trade_offs({"question": {"budget": 0.8}}, WAITED_FOR)
    (expected,) = scenarios.frontier(made(), ["total", "worst-group"], scenarios.Question(budget=0.8))
    for name in ("total", "worst-group"):
        values = [one["objectives"][name]["mean"] for one in found["points"]]
        known = [one.objectives[name].mean for one in expected.points if one.on_frontier]
        assert min(values) == pytest.approx(min(known), abs=0.01)
    assert set(found["next"]) == {"x", "y"}


def test_too_little_observed_and_a_panel_not_begun_are_said(made, tmp_path):
    with pytest.raises(UserError, match="has to begin"):
        Panel(made()).answer({"question": {}}, WAITED_FOR)
    with pytest.raises(UserError, match="too little was observed"):
        begun(made(rounds=3, samples=0))


def test_controls_name_the_objectives_that_the_study_can_be_asked_for(made):
    panel, told = begun(made())
    assert told["objectives"] == ["", "worst-group", "group-gap"]
    assert isinstance(panel._of(None).controls, Controls)
