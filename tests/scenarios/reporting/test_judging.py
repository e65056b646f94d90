"""A report tells what was simulated, and without noise, before what a model predicts, and says which."""

from dataclasses import replace

import numpy as np
import pytest
from pages import Page
from scipy import stats
from shares import Shares
from studies import study_of

import scenarios
import simulators
from scenarios.questions.answer import remarks, too_good
from scenarios.questions.estimate import Estimate
from scenarios.questions.question import Question
from scenarios.reporting.advising import _counted, advising, change
from scenarios.reporting.by_group import _notes
from scenarios.reporting.judging import Point, Valued, surely
from scenarios.reporting.known import gathered
from scenarios.reporting.language import Language
from scenarios.reporting.observed import Observed, observed
from scenarios.reporting.said import Said
from scenarios.results.statistics import typical_advice
from scenarios.study.study import Study

CURRENT = [0.3, 0.2]


class Noisy(Shares):
    """Nobody knows its noise-free outcomes; today's practice is simulated by the agent `current`."""

    current_policy_label = "as it is done"

    def __init__(self, **options):
        super().__init__(**options)
        self.current_policy = list(CURRENT)

    def expected(self, policies):
        raise NotImplementedError

    def step(self, policy):
        exact = Shares.expected(self, np.asarray([policy]))[0]
        return simulators.Outcomes(exact + self.rng.normal(0, self.noise, 4), np.full(4, self.noise**2))


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """Three trials of 9 rounds, with 6 held-out seeds each."""
    simulators.register("j-noisy", Noisy)
    return study_of(
        tmp_path_factory.mktemp("noisy"),
        'name = "s"\nrounds = 9\ntrials = 3\nheld_out = 6\nagents = ["d-ei", "current"]\n'
        '[environment]\nname = "j-noisy"\n[prior]\nsamples = 0\n',
    )


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    return study_of(
        tmp_path_factory.mktemp("exact"),
        'name = "s"\nrounds = 12\ntrials = 1\nseed = 3\nagents = ["d-gpucb", "current"]\n'
        '[environment]\nname = "flu-ode"\noptions = { days = 200 }\n[prior]\nsamples = 0\n',
    )


def students(values):
    """The mean of values and the ends of Student's 95 % interval, by SciPy."""
    return (np.mean(values), *stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values)))


def page_of(study, folder):
    return Page(scenarios.report(study, folder / "r.html").read_text(encoding="utf-8"))


def test_what_is_recommended_is_worth_its_mean_on_held_out_seeds(noisy):
    known = gathered(Study(noisy.path))
    (advice,) = [
        one for one in noisy.recommendations() if (one.agent, one.trial) == ("d-ei", known.advice.trial)
    ]
    assert (known.chosen.best.kind, known.chosen.best.steps) == ("again", 6)
    one = known.chosen.objective
    assert (one.mean, one.low, one.high) == pytest.approx(students(advice.held_out.objective))
    groups = np.array(advice.held_out.outcomes)
    for j, name in enumerate(noisy.environment.groups):
        assert known.chosen.groups[name].mean == pytest.approx(groups[:, j].mean())


def test_todays_practice_is_the_mean_of_all_its_held_out_seeds(noisy, tmp_path):
    """Every trial has seeds of its own: three times six."""
    known = gathered(Study(noisy.path))
    values = [
        value for one in noisy.recommendations() if one.agent == "current" for value in one.held_out.objective
    ]
    assert len(values) == 18
    assert (known.today.best.kind, known.today.best.steps) == ("again", 18)
    assert known.today.objective.mean == pytest.approx(np.mean(values))
    said = page_of(noisy, tmp_path).text
    assert f"it is {Language().estimate(known.today.objective)}" in said
    assert "(simulated again, mean of 18)" in said
    assert "mean of 6 simulations on seeds that no agent has seen" in said


def test_without_held_out_seeds_todays_practice_is_the_mean_of_the_rounds_that_simulated_it(tmp_path):
    simulators.register("j-noisy", Noisy)
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 9\ntrials = 2\nheld_out = 0\nagents = ["d-ei", "current"]\n'
        '[environment]\nname = "j-noisy"\n[prior]\nsamples = 0\n'
    )
    study = scenarios.run(scenarios.load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
    known = gathered(Study(study.path))
    # The first five rounds of a trial are a design that all its agents share.
    rounds = [one for one in study.rounds() if one.agent == "current" and one.policy == CURRENT]
    assert (known.today.best.kind, known.today.best.steps) == ("simulated", len(rounds)) == ("simulated", 8)
    assert known.today.objective.mean == pytest.approx(np.mean([one.objective for one in rounds]))
    # Of what was chosen by its rounds the luckiest are known: that stays a prediction.
    assert known.chosen.best.kind == "predicted"


def test_what_is_known_without_noise_leads_and_the_prediction_stands_behind(exact, tmp_path):
    environment, say = simulators.make("flu-ode", days=200), Language()
    known = gathered(Study(exact.path))
    now, then = (float(environment.expected([one.point.policy]).sum()) for one in (known.chosen, known.today))
    said = page_of(exact, tmp_path).text
    assert f"Its objective is {say.number(now)} sick days per person: the simulator's own value" in said
    assert f"it is {say.number(then)} sick days per person (without noise)" in said
    assert f"predicted to be {say.estimate(known.chosen.predicted.objective)}" in said
    assert "probability that the recommended policy is the better" not in said
    assert "no noise is left in either number" in said


def test_groups_are_without_noise_where_they_are_known_so_and_their_prediction_has_a_column(exact, tmp_path):
    environment, say, known = simulators.make("flu-ode", days=200), Language(), gathered(Study(exact.path))
    now, then = (environment.expected([one.point.policy])[0] for one in (known.chosen, known.today))
    head, rows = page_of(exact, tmp_path).table("Group", "Difference")
    foretold = head.index("Recommended, as predicted")
    for j, group in enumerate(environment.groups):
        assert rows[group][1:4] == [say.number(x) for x in (then[j], now[j], now[j] - then[j])]
        assert rows[group][foretold] == say.estimate(known.chosen.predicted.groups[group])


def test_in_worlds_of_their_own_a_policy_is_worth_what_it_is_in_its_own(tmp_path):
    scenario = scenarios.load("synthetic").model_copy(update={"rounds": 6, "trials": 3})
    study = scenarios.run(scenario, out=tmp_path / "y.sqlite")
    known = gathered(Study(study.path))
    trial = int(known.believed.found.world)
    first = study.history(trial, study.scenario.labels[0])[0]
    assert known.today.point.policy == first.policy
    assert known.today.objective.mean == first.expected


def test_a_recommendation_that_is_worse_than_todays_practice_is_said_to_be(exact):
    known = gathered(Study(exact.path))
    worse = Valued("exact", 0, Estimate(9.0, 9.0, 9.0), known.chosen.groups)
    bad = replace(known, better=0.0, chosen=replace(known.chosen, best=worse))
    blocks = advising(bad, None, None, None, Language()).blocks
    (warning,) = [one.text for one in blocks if getattr(one, "tone", "") == "warning"]
    assert "is not better than coverage of 2012-13" in warning


def test_how_sure_it_is_to_be_better_is_that_of_a_normal_difference():
    def worth(mean, half):
        return replace_value(Estimate(mean, mean - half, mean + half))

    def replace_value(estimate):
        return type("Worth", (), {"objective": estimate})()

    found = surely(worth(1.0, 1.96 * 3), worth(2.0, 1.96 * 4), -1.0)
    assert found == pytest.approx(stats.norm.cdf(1 / 5))
    assert surely(worth(1.0, 0.0), worth(2.0, 0.0), 1.0) == 0.0
    assert surely(worth(1.0, np.nan), worth(2.0, 0.0), 1.0) is None


@pytest.mark.parametrize(
    ("before", "after", "share"), [(0.1, 0.363, None), (0.1, 0.15, 0.5), (2.0, 0.5, -0.75)]
)
def test_a_change_of_more_than_all_there_is_is_no_percentage(before, after, share):
    assert change(before, after) == (None if share is None else pytest.approx(share))


def test_what_grows_more_than_twofold_is_told_as_a_difference(exact):
    known = gathered(Study(exact.path))
    more = Estimate(*[3.0 * known.today.objective.mean] * 3)
    odd = replace(known, chosen=replace(known.chosen, best=Valued("exact", 0, more, None)))
    blocks = advising(odd, None, None, None, Language()).blocks
    said = blocks[1].text
    amount = Language().number(2.0 * known.today.objective.mean)
    assert f"makes it more by {amount} sick days per person" in said and "%" not in said


def test_a_prediction_beyond_the_true_optimum_is_said_to_be(exact):
    known, say = gathered(Study(exact.path)), Language()
    optimum, answer = exact.optimum(1).value, known.believed.answer
    for mean, expected in ((0.9 * optimum, 1), (1.1 * optimum, 0)):
        best = replace(answer.best, objective=Estimate(mean, mean - 0.1, mean + 0.1))
        told = too_good(exact, Question(), known.believed.found, replace(answer, best=best))
        assert len(told) == expected
        assert all(say.number(optimum, 4) in one for one in told)
        assert too_good(exact, Question(budget=0.9), known.believed.found, replace(answer, best=best)) == []


def test_whose_predictions_lie_beyond_the_true_optimum_is_told_under_the_table_of_agents(exact):
    known = gathered(Study(exact.path))
    said = {
        label: (one := typical_advice(exact, label)) is not None
        and one.mean is not None
        and one.mean < exact.optimum(1).value
        for label in exact.scenario.labels
    }
    notes = [one.text for one in advising(known, None, None, None, Language()).blocks if hasattr(one, "text")]
    (told,) = [one for one in notes if "better than the true optimum" in one] or [""]
    assert {label for label in said if label in told.partition(" predicted")[0]} == {
        label for label, beyond in said.items() if beyond
    }


def test_an_improvement_of_more_than_all_there_is_is_no_percentage(exact):
    known = gathered(Study(exact.path))
    answer = known.believed.answer
    for gain, share in ((2.63, False), (0.5, True)):
        scale = abs(answer.best.objective.mean)
        found = remarks(
            exact, Question(), known.believed.found, replace(answer, expected_improvement=gain * scale)
        )
        (line,) = [one for one in found if "More rounds would pay" in one]
        assert ("%" in line) == share


def test_counts_of_one_season_are_said_to_be_and_of_several_they_are_their_mean(noisy, monkeypatch):
    """Where the noise-free outcomes are unknown, what a step says is one draw of what may be."""
    words, known = Language(), gathered(Study(noisy.path))
    monkeypatch.setattr("scenarios.reporting.counting.population", lambda study: np.full(4, 1000.0))
    one, three = (Observed({"infections": [5.0] * 4}, 0.0, rounds, "") for rounds in (1, 3))
    told = _notes(known, one, three, words)
    assert "under as it is done is of one simulated season: another may be far from it" in told[0]
    assert "under the recommended policy is the mean of 3 simulated seasons" in told[1]
    cards = [note for _, _, note in _counted(known, one, three, None, words)]
    assert cards == ["20 before, 20 after, of 1 and 3 simulated seasons"]


def test_the_seasons_of_a_policy_are_their_mean_and_agents_of_a_trial_share_one(noisy):
    point = Point(CURRENT, None)
    said = [
        Said(point, trial, agent, number, {"infections": [value] * 4})
        for trial, agent, number, value in (
            (1, "d-ei", 1, 2.0), (1, "current", 1, 2.0), (1, "current", 2, 4.0), (2, "current", 1, 9.0),
        )
    ]  # fmt: skip
    found = observed(noisy, said, point, "")
    assert found.rounds == 3
    assert found.info["infections"] == pytest.approx([5.0] * 4)


def test_noise_free_seasons_are_no_luck(exact):
    known, words = gathered(Study(exact.path)), Language()
    seen = Observed({"infections": [5.0] * 5}, 0.0, 1, "")
    assert not [one for one in _notes(known, seen, seen, words) if "season" in one]
