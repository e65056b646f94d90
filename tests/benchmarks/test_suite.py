"""The suite's problems: their formulas against published values, their optima against search."""

import csv

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson

import bridges
from benchmarks.suite import analyse, judging
from benchmarks.suite import run as suite_run
from benchmarks.suite.optima import CHOOSING, JUDGING, improved, make, stored
from simulators import OneOf, Whole, check_environment

ALL = (*CHOOSING, *JUDGING)
BEST = stored()

PUBLISHED = {
    "hartmann3": 3.86278,
    "hartmann6": 3.32237,
    "rosenbrock4": 0.0,
    "ackley3": 0.0,
    "branins": 2 * 0.397887,
    "shekel5": 10.1532,
    "styblinski4": 4 * -39.16617,
    "spill": 0.0,
    "langermann": 5.1621259,
    "cb2": 1.9522245,
    "vessel": 6059.714,  # Sandgren's vessel, as the literature has it
}


@pytest.fixture(scope="module")
def problems():
    return {name: make(name) for name in ALL}


def test_the_parts_are_apart_and_of_the_promised_kinds(problems):
    assert not set(CHOOSING) & set(JUDGING) and len(ALL) >= 16 and len(JUDGING) >= 8
    assert set(BEST) == set(ALL)
    for part in (CHOOSING, JUDGING):
        levers = [problems[name].policy_space.levers for name in part]
        assert sum(any(isinstance(one, OneOf) for one in each) for each in levers) >= 2
        assert sum(all(isinstance(one, Whole) for one in each) for each in levers) >= 2


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_optimum_is_ours(name):
    assert BEST[name]["value"] == pytest.approx(PUBLISHED[name], rel=2e-6, abs=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_the_stored_policy_is_feasible_and_has_the_stored_value(problems, name):
    problem = problems[name]
    policy = np.array([BEST[name]["policy"]])
    assert problem.policy_space.contains(policy).all()
    assert problem.value(policy)[0] == pytest.approx(BEST[name]["value"], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_no_random_policy_and_no_local_search_beats_the_stored_optimum(problems, name):
    problem, best = problems[name], BEST[name]["value"]
    random = problem.random_policies(10_000, 3)
    values = problem.sign * problem.value(random)
    close = [improved(problem, random[i]) for i in np.argsort(values)[-3:]]
    found = max(values.max(), (problem.sign * problem.value(np.array(close))).max())
    assert found <= problem.sign * best + 1e-6 * max(1.0, abs(best))


@pytest.mark.parametrize("name", ALL)
def test_a_problem_keeps_the_contract(problems, name):
    assert not check_environment(problems[name])


@pytest.mark.parametrize("name", ALL)
def test_noise_is_a_hundredth_of_a_groups_spread_and_stated(problems, name):
    problem = problems[name]
    spread = problem.expected(problem.random_policies(20_000, 5)).std(axis=0)
    assert np.sqrt(problem.noise_variance) == pytest.approx(0.01 * spread, rel=0.5)
    policy = np.array(BEST[name]["policy"])
    problem.reset(1)
    steps = [problem.step(policy) for _ in range(400)]
    assert (steps[0].noise_variance == problem.noise_variance).all()
    rest = np.array([one.values for one in steps]) - problem.expected(policy[None])[0]
    some = problem.noise_variance > 0
    assert rest[:, some].var(axis=0) == pytest.approx(problem.noise_variance[some], rel=0.35)


def test_erlangs_loss_is_the_truncated_poisson_probability():
    for load in (0.5, 5.0, 7.0):
        expected = [poisson.pmf(c, load) / poisson.cdf(c, load) for c in range(13)]
        assert judging.erlang_b(12, load) == pytest.approx(expected)
    assert judging.erlang_b(10, 5.0)[10] == pytest.approx(0.0184, abs=5e-5)  # Erlang's table


def test_backorders_are_the_expected_excess_of_a_poisson_number():
    n = np.arange(200)
    for stock in (0, 1, 5):
        for mean in (0.3, 4.0):
            expected = (np.maximum(n - stock, 0) * poisson.pmf(n, mean)).sum()
            assert judging.backorders(np.array(stock), np.array(mean)) == pytest.approx(expected)


def test_the_spill_before_its_second_release_is_one_gaussian_plume():
    late = judging.concentrations(np.array([[10.0, 0.07, 1.505, 30.1525]])).reshape(3, 4)
    for i, s in enumerate((0.0, 1.0, 2.5)):
        for k, t in enumerate((15.0, 30.0)):
            sd = np.sqrt(2 * 0.07 * t)  # a diffusing mass is a normal density
            assert late[i, k] == pytest.approx(10 * np.exp(-(s**2) / 2 / sd**2) / sd / np.sqrt(2 * np.pi))
    sd1, sd2 = np.sqrt(2 * 0.07 * 45), np.sqrt(2 * 0.07 * (45 - 30.1525))
    both = sum(
        10 * np.exp(-(d**2) / 2 / sd**2) / sd / np.sqrt(2 * np.pi) for d, sd in ((1.0, sd1), (1 - 1.505, sd2))
    )
    assert late[1, 2] == pytest.approx(both)


def test_b_and_c_of_the_reactor_solve_its_rate_equations():
    from scipy.integrate import solve_ivp

    x = np.array([[1.0, 0.0, 350.0, 2.0]])
    k1, k2 = judging.SPEED[1] * judging.SOLVENT[0]
    run = solve_ivp(lambda t, y: [-k1 * y[0], k1 * y[0] - k2 * y[1]], (0, 2), [1.0, 0.0], rtol=1e-10)
    A, B = run.y[:, -1]
    made = make("reactor").expected(x)[0]
    assert made[:2] == pytest.approx([10 * B, -4 * (1 - A - B)], rel=1e-6)


def test_a_run_goes_on_where_it_stopped_and_keeps_whole_lines(tmp_path):
    said = []
    suite_run.run(["staff"], ["random"], 2, 8, tmp_path, said.append)
    path = suite_run.path_of(tmp_path, "staff", "random")
    whole = path.read_text()
    assert len(said) == 2 and whole.count("\n") == 3
    path.write_text(whole[: whole.rfind("\n", 0, -1) + 9])  # cut within the second trial's line
    suite_run.run(["staff"], ["random"], 2, 8, tmp_path, said.append)
    assert len(said) == 3
    again, before = (list(csv.DictReader(text.splitlines())) for text in (path.read_text(), whole))
    for one in (*again, *before):
        del one["seconds_a_round"]
    assert again == before  # the same seeds, the same trial


def test_judging_problems_run_with_random(tmp_path):
    suite_run.run(JUDGING, ["random"], 1, 12, tmp_path, lambda text: None)
    frame = analyse.table(tmp_path, JUDGING, rounds=12)
    assert set(frame["problem"]) == set(JUDGING)
    assert (frame["cumulative_regret"] >= 12 * frame["best_tried"] - 1e-9).all()


def test_an_agent_that_takes_turns_ends_on_the_second(tmp_path):
    from benchmarks.suite.agents import THEN, build

    agent = build(THEN, make("staff"), 0, 12)
    first_design = make("staff").random_policies(12, 0)
    for x in first_design:
        agent.tell(x[None], make("staff").expected(x[None]))
    assert agent.now is agent.second and agent.now.name == "d-ei"
    assert make("staff").policy_space.contains(agent.ask()).all()


def frame_of(shift):
    rows = [
        {
            "problem": p,
            "agent": a,
            "trial": t,
            "simple": -1.0 + shift * (a == "b") + 0.1 * t,
            "seconds_a_round": 1,
        }
        for p in ("x", "y", "z")
        for a in ("a", "b")
        for t in range(4)
    ]
    return pd.DataFrame(rows)


def test_the_clustered_difference_is_paired_by_trial():
    frame = frame_of(-0.3)
    found = analyse.differences(frame, "b", "a", "simple")
    assert set(found) == {"x", "y", "z"} and all(own == pytest.approx(-0.3) for own in found.values())
    mean, low, high = analyse.clustered(found, np.random.default_rng(0))
    assert [mean, low, high] == pytest.approx([-0.3] * 3)
    rank, count = analyse.ranks(frame, ["a", "b"], "simple")
    assert count == 12 and rank["a"] == 2 and rank["b"] == 1


def test_the_report_tells_multiples_ranks_and_times_of_the_reference():
    frame = frame_of(-0.3).assign(tried=-1.0, cumulative=lambda rows: 1.0 + 0.5 * (rows["agent"] == "b"))
    frame["seconds_a_round"] = np.where(frame["agent"] == "b", 3.0, 1.5)
    rows = [line for line in analyse.report(frame, "a").splitlines() if line.startswith("| ")]
    assert rows[1] == "| a | 12 | 1 | 1 | 1 | 2.00 | 1.00 | 1.500 | 1.00 |"
    other = "| b | 12 | 0.501 [0.501, 0.501] | 1 [1, 1] | 3.16 [3.16, 3.16] | 1.00 | 2.00 | 3.000 | 2.00 |"
    assert rows[2] == other


def test_a_multiple_takes_the_wider_interval():
    by_problem = {p: np.full(4, level) for p, level in zip("abc", (0.0, 0.3, 0.6), strict=True)}
    mean, ends = 10**0.3, 10 ** (0.3 + np.array([-1, 1]) * 4.302653 * 0.3 / np.sqrt(3))  # t(2): wider
    assert analyse.multiple(by_problem) == f"{mean:.3g} [{ends[0]:.3g}, {ends[1]:.3g}]"


def test_the_clustered_interval_is_wide_where_problems_disagree():
    rng = np.random.default_rng(1)
    by_problem = {p: rng.normal(0, 1) + rng.normal(0, 0.01, 5) for p in "abcdefgh"}
    mean, low, high = analyse.clustered(by_problem, np.random.default_rng(0))
    means = np.array([own.mean() for own in by_problem.values()])
    assert mean == pytest.approx(means.mean())
    assert (high - low) / 3.92 == pytest.approx(means.std() / np.sqrt(8), rel=0.1)


OWN = """
import numpy as np
from optimizer import Agent, Recommendation, ScoredAcquisition


class Corner(Agent):
    feedback = "aggregate"

    def __init__(self, space, composition, seed=0):
        super().__init__("corner", space, composition.sign, seed)
        self.first = space.sobol(1, 0)

    def ask(self, n=1, context=None):
        return np.repeat(self.first, n, axis=0)

    def tell(self, policies, observations, noise_variance=None, context=None):
        self.rounds += len(policies)

    def recommend(self, context=None):
        return Recommendation(self.first[0], np.nan, np.nan, np.nan)


class Mean(ScoredAcquisition):
    @classmethod
    def of(cls, search):
        return cls()

    def score_moments(self, mean, variance):
        return mean

    def slopes_in_moments(self, mean, variance):
        return np.ones_like(mean), np.zeros_like(mean)
"""


def suite(monkeypatch, module, *words):
    monkeypatch.setattr("sys.argv", ["suite", *map(str, words)])
    module.main()


def test_an_agent_and_an_acquisition_of_ones_own_stand_beside_the_published_results(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "mine.py").write_text(OWN)
    agents = [f"{tmp_path}/mine.py:{name}" for name in ("Corner", "Mean")]
    given = [word for one in agents for word in ("--agent", one)]
    size = ("--trials", 1, "--rounds", 12, "--folder", tmp_path / "r")
    suite(monkeypatch, suite_run, "--only", "staff", *given, *size)
    rows = analyse.collected(tmp_path / "r")
    assert [row["agent"] for row in rows] == agents
    problem = make("staff")
    at = problem.value(bridges.search_space(problem).sobol(1, 0))[0]
    assert float(rows[0]["simple_regret"]) == pytest.approx(problem.sign * (BEST["staff"]["value"] - at))

    both = tmp_path / "both.csv"
    words = ("--folder", tmp_path / "r", "--published", "--rounds", 12, "--reference", agents[1])
    suite(monkeypatch, analyse, *words, "--write", both)
    said = capsys.readouterr().out
    assert all(f"| {one} |" in said for one in agents)
    assert len(suite_run.read(both)) == len(suite_run.read(analyse.PUBLISHED)) + 2
    again = analyse.collected(tmp_path / "r", both)
    assert len(again) == len(suite_run.read(both)), "a line that the folder has is not taken twice"


def test_what_is_no_agent_is_refused_in_a_line_before_any_round(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("class Nothing: pass")
    for named, said in (("Nothing", "takes no arguments"), ("Missing", "has no 'Missing'")):
        with pytest.raises(SystemExit, match=said) as caught:
            suite(monkeypatch, suite_run, "--agent", f"{tmp_path}/mine.py:{named}", "--folder", tmp_path)
        assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("*.csv"))


def test_the_published_table_is_of_known_problems_and_rounds():
    rows = suite_run.read(analyse.PUBLISHED)
    assert list(rows[0]) == list(suite_run.COLUMNS) and {row["problem"] for row in rows} <= set(ALL)
    keys = [(row["problem"], row["agent"], row["trial"], row["rounds"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert all(float(row["simple_regret"]) >= -1e-9 for row in rows)
