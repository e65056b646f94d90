"""The curves that rounds keep are drawn by policy: the first, the best, today's."""

import numpy as np
import pytest
from scipy.optimize import Bounds

import simulators
from scenarios import load, run
from scenarios.figures.curves import curve_figures
from scenarios.study.study import Study


class Decay(simulators.Environment):
    """Two groups that decay at the rate x, of which the level after 5 weeks is the outcome."""

    groups, group_units, objective_unit, sense = ("old", "young"), ("ill",) * 2, "ill", "minimize"
    info_units = {"level": "persons ill"}
    current_policy, current_policy_label = np.array([0.2]), "what is done now"

    def __init__(self):
        self.policy_space = simulators.PolicySpace(("rate",), ("",), bounds=Bounds([0.0], [1.0]))

    def expected(self, policies):
        return np.exp(-5 * np.asarray(policies)) * [100.0, 50.0]

    def step(self, policy):
        weeks = np.arange(6.0)
        level = np.exp(-weeks[:, None] * policy[0]) * [100.0, 50.0]
        info = {"weeks": weeks, "level": level, "total": level.sum(axis=1), "peak": 3.0, "words": "none"}
        return simulators.Outcomes(self.expected([policy])[0], np.full(2, 1e-6), info)


@pytest.fixture
def study(tmp_path):
    simulators.register("decay", Decay)

    def made(agents='["d-ei", "current"]', environment="decay", head="", tail=""):
        (tmp_path / "s.toml").write_text(
            f'name = "s"\nrounds = 7\ntrials = 1\nseed = 2\nagents = {agents}\n{head}\n[environment]\n'
            f'name = "{environment}"\n[prior]\nsamples = 0\n{tail}'
        )
        return run(load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite", force=True)

    return made


def test_a_panel_a_policy_and_a_line_a_group_with_unit_and_axis(study):
    figures = curve_figures(study())
    assert list(figures) == ["curves_level", "curves_total"]
    panels = figures["curves_level"].axes
    titles = [axes.get_title(loc="left") for axes in panels]
    assert [title.split(" (")[0] for title in titles] == ["first", "best", "what is done now"]
    assert panels[0].get_ylabel() == "level, persons ill" and panels[0].get_xlabel() == "week"
    for axes in panels:
        old, young = axes.get_lines()
        assert [old.get_label(), young.get_label()] == ["old", "young"]
        np.testing.assert_allclose(old.get_ydata(), 2 * young.get_ydata(), rtol=1e-6)
    np.testing.assert_allclose(panels[2].get_lines()[0].get_ydata(), 100 * np.exp(-0.2 * np.arange(6.0)))


def test_the_best_is_the_round_with_the_best_noise_free_objective(study):
    made = study()
    rates = [one.policy[0] for one in made.rounds()]
    drawn = curve_figures(made, "level")["curves_level"].axes[1].get_lines()[0].get_ydata()
    np.testing.assert_allclose(drawn[-1], 100 * np.exp(-5 * max(rates)), rtol=1e-5)


def test_the_best_keeps_the_limits(study):
    made = study(tail='[[limits]]\ngroup = "old"\nat_least = 20.0\n')
    drawn = curve_figures(made, "level")["curves_level"].axes[1].get_lines()[0].get_ydata()
    kept = [one.expected_outcomes[0] for one in made.rounds() if one.expected_outcomes[0] >= 20]
    assert drawn[-1] == pytest.approx(min(kept), rel=1e-5)


def test_the_command_draws_one_entry_or_says_what_there_is(study, policyloop, tmp_path):
    path = study().path
    code, out, _ = policyloop("plot", path, "--info", "level", "--out", tmp_path / "f")
    assert code == 0 and sorted(one.name for one in (tmp_path / "f").iterdir()) == [
        "curves_level.png",
        "curves_level.svg",
    ]
    code, _, err = policyloop("plot", path, "--info", "levle", "--out", tmp_path / "g")
    assert code == 2 and "unknown curve 'levle'; did you mean 'level'?" in err
    code, out, _ = policyloop("plot", path, "--out", tmp_path / "all")
    assert code == 0 and "curves_total.svg" in out and "recommended_policy.svg" in out


def test_of_what_keeps_none_nothing_is_drawn(study, policyloop, tmp_path):
    made = study(head="keep_info = false")
    assert curve_figures(made) == {}
    code, _, err = policyloop("plot", made.path, "--info", "level", "--out", tmp_path / "f")
    assert code == 2 and "keep no info" in err and len(err.strip().splitlines()) == 1


def test_members_of_an_ensemble_have_curves_of_their_own(study):
    made = study(environment="flu-ode", agents='["random"]', tail="[ensemble]\nr0 = [1.3, 1.5]\n")
    figures = curve_figures(Study(made.path), "r0=1.5: infected")
    (figure,) = figures.values()
    assert figure.axes[0].get_ylabel() == "r0=1.5: infected, persons"
    assert figure.axes[0].get_xlabel() == "day" and len(figure.axes[0].get_lines()) == 5
