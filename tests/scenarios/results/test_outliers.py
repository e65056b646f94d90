"""An observation far from what was predicted of it is pointed out, with what was predicted."""

import json

import numpy as np
import pytest
from scipy.optimize import Bounds
from scipy.stats import median_abs_deviation
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import bridges
import optimizer
import simulators
from optimizer import Prior
from scenarios import Study, load, run
from scenarios.results.outliers import Outlier, outlier_lines, outliers


class Slipping(simulators.Environment):
    """Two gauges with a little noise; in one step the second one slips a decimal point, and more."""

    groups, group_units, objective_unit, sense = ("dry", "wet"), ("", ""), "", "maximize"

    def __init__(self, slips_at: float = 10.0) -> None:
        self.policy_space = simulators.PolicySpace(["x"], [""], bounds=Bounds([0.0], [1.0]))
        self.slips_at, self.steps = slips_at, 0

    def expected(self, policies):
        x = np.asarray(policies)[:, 0]
        return np.stack([np.sin(3 * x), 0.3 * np.cos(5 * x)], axis=1)

    def step(self, policy):
        self.steps += 1
        values = self.expected(np.asarray(policy)[None])[0] + self.rng.normal(0, 0.05, 2)
        if self.steps == self.slips_at:
            values[1] = 1e4
        return simulators.Outcomes(values, np.full(2, 0.0025))


@pytest.fixture(scope="module", autouse=True)
def slipping():
    simulators.register("slipping", Slipping)


@pytest.fixture
def study(scenario_file, tmp_path):
    def made(agents, rounds=12, slips_at=10, samples=0):
        path = scenario_file(
            environment="slipping",
            agents=agents,
            rounds=rounds,
            trials=1,
            samples=samples,
            options=f"slips_at = {slips_at}",
        )
        return run(load(path), out=tmp_path / "s.sqlite")

    return made


@pytest.mark.parametrize("samples", [0, 12], ids=["learned on the way", "prior given"])
@pytest.mark.parametrize(("agent", "group"), [("d-gpucb", "wet"), ("gp-ucb", None)])
def test_a_slip_is_named_with_where_it_was_what_it_was_and_what_was_predicted(study, agent, group, samples):
    found = outliers(study(f'["{agent}"]', samples=samples))
    one = found[0]
    assert (one.trial, one.agent, one.round, one.group) == (1, agent, 10, group)
    assert one.value == pytest.approx(1e4, abs=2)
    assert abs(one.predicted) < 2 and 0.04 < one.deviation < 1
    assert one.distance == abs(one.value - one.predicted) / one.deviation


def test_reports_point_it_out_in_one_line_and_json_as_data(study, policyloop, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    made = study('["d-gpucb", "random"]')
    (line,) = outlier_lines(outliers(made)[:1])
    assert line.startswith(
        "1 observation lies beyond 4 standard deviations of what was predicted; the furthest"
    )
    assert "trial 1, d-gpucb, round 10, wet 10000, predicted" in line and "+-" in line
    for command in ("show", "compare"):
        assert "trial 1, d-gpucb, round 10, wet 10000, predicted" in policyloop(command, made.path)[1]
    table = json.loads(policyloop("compare", made.path, "--format", "json")[1])
    assert table["d-gpucb"]["outliers"][0] == outliers(made)[0]._asdict()
    assert table["random"]["outliers"] == []  # without a model nothing was predicted


def test_a_study_without_one_says_nothing(study, policyloop):
    made = study('["d-gpucb"]', rounds=8, slips_at=99, samples=30)
    assert outliers(made) == [] and outlier_lines([]) == []
    assert "outliers" not in policyloop("show", made.path)[1]


def test_a_run_that_goes_on_keeps_them_and_adds_none_for_what_is_told_again(scenario_file, study, tmp_path):
    first = outliers(study('["d-gpucb"]', rounds=11))
    path = scenario_file(
        environment="slipping", agents='["d-gpucb"]', rounds=13, trials=1, samples=0, options="slips_at = 10"
    )
    text = path.read_text()
    again = run(load(scenario_file(text)), out=tmp_path / "s.sqlite", resume=True)
    assert [one for one in outliers(again) if one.round <= 11] == first
    assert len(Study(again.path).rounds()) == 13


def test_the_furthest_of_several_is_named():
    near = Outlier(1, "a", 3, "dry", 5.0, 0.0, 1.0)
    far = Outlier(2, "b", 4, None, -9.0, 0.0, 1.0)
    (line,) = outlier_lines([near, far])
    assert "2 observations lie" in line
    assert "trial 2, b, round 4, the composed value -9.000, predicted 0 +- 1.0" in line
    certain = Outlier(1, "a", 5, "dry", 1.0, 0.0, 0.0)
    assert "round 5" in outlier_lines([near, far, certain])[0]


def test_what_is_beyond_four_deviations_is_said_by_the_posterior_before_it_came():
    """Against scikit-learn: the deviation is of the observation, with its noise."""
    kernel, noise = ConstantKernel(2.0) * RBF(0.3), np.array([0.01, 0.04])
    prior = Prior([kernel, kernel], noise, [0.5, 0.0])
    space = optimizer.SearchSpace(Bounds([0.0], [1.0]))
    X, Y, new = np.array([[0.1], [0.5], [0.8]]), np.array([[0.7, 0.1], [0.2, 0.3], [0.9, -0.2]]), [[0.55]]
    peers = [
        GaussianProcessRegressor(kernel, alpha=noise[j], optimizer=None).fit(X, Y[:, j] - prior.means[j])
        for j in range(2)
    ]
    told = [peer.predict(new, return_std=True) for peer in peers]
    means = np.array([m[0] for m, _ in told]) + prior.means
    deviations = np.sqrt(np.array([s[0] ** 2 for _, s in told]) + noise)
    for share, expected in ((3.99, []), (4.01, [0, 1]), (-4.01, [0, 1])):
        agent = optimizer.make_agent("d-gpucb", space, optimizer.Composition(2), prior=prior)
        agent.tell(X, Y)
        agent.tell(new, [means + share * deviations])
        assert [one.group for one in agent.surprises] == expected
        for one in agent.surprises:
            assert one.predicted == pytest.approx(means[one.group])
            assert one.deviation == pytest.approx(deviations[one.group])
        agent.tell(new, [means])
        assert agent.surprises == []


def test_a_batch_has_those_of_all_its_rounds():
    world = Slipping(slips_at=9)
    agent = bridges.make_agent("d-gpucb", world)
    loop = bridges.Loop(world, agent, 0, parallel=4)
    for _ in loop.run(12):
        pass
    assert (9, "wet") in [(t, world.groups[one.group]) for t, found in loop.surprises for one in found]


@pytest.mark.parametrize("agent", ["d-gpucb", "gp-ucb", "random"])
def test_a_slip_in_the_design_is_told_by_the_rest_of_it(study, agent):
    made = study(f'["{agent}"]', rounds=7, slips_at=3)
    one = outliers(made)[0]
    assert (one.round, one.group, one.of_design) == (3, "wet", True)
    others = [r.outcomes[1] for r in made.rounds() if r.round <= 5 and r.round != 3]
    assert one.predicted == pytest.approx(np.median(others))
    assert one.deviation == pytest.approx(median_abs_deviation(others, scale="normal"), rel=1e-5)
    (line,) = outlier_lines(outliers(made)[:1])
    assert "or 100 of the rest of its design; the furthest: trial 1" in line and ", the rest " in line


def test_a_design_whose_others_are_all_alike_has_no_scale_to_tell_one_by(study):
    made = study('["random"]', rounds=5, slips_at=3)
    for one in made.rounds():
        one.outcomes[:] = [0.0, 15.0 if one.round == 3 else 0.0]
    assert outliers(made) == []


@pytest.mark.parametrize(("beyond", "count"), [(148.0, 0), (149.0, 1)])
def test_one_of_a_design_is_pointed_out_from_a_hundred_robust_deviations_on(study, beyond, count):
    """The others are 0, 1, 2, 3: median 1.5, median absolute deviation 1, so 148.26 is the bound."""
    made = study('["random"]', rounds=5, slips_at=99)
    for one, value in zip(made.rounds(), (0.0, 1.0, 2.0, 3.0, 1.5 + beyond), strict=True):
        one.outcomes[:] = [0.0, value]
    assert len(outliers(made)) == count
