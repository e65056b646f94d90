"""What-if by number: without a change it is the study's own belief; with one, a GP composed by hand."""

import numpy as np
import pytest
from shares import NAMES, TEXT, Few, Shares
from sklearn.gaussian_process import GaussianProcessRegressor

import optimizer
import simulators
from scenarios import UserError, load, run
from scenarios.questions.what_if import what_if
from scenarios.study.evidence import evidence
from scenarios.study.study import Study

# Without a change


@pytest.mark.parametrize("samples", [20, 0], ids=["given kernels", "own rounds"])
@pytest.mark.parametrize("environment", ["shares", "few-shares"])
def test_without_a_change_it_believes_what_the_agent_stored(samples, environment, study):
    made = study(samples=samples, environment=environment, rounds=8)
    (advice,) = made.recommendations()
    (answer,) = what_if(made)
    assert list(answer.best.policy.values()) == pytest.approx(advice.policy, abs=1e-9)
    assert answer.best.objective.mean == pytest.approx(advice.mean, abs=1e-9)
    assert answer.best.objective.low == pytest.approx(advice.low, abs=1e-9)
    assert answer.best.objective.high == pytest.approx(advice.high, abs=1e-9)
    for j, name in enumerate(NAMES):
        assert answer.best.groups[name].mean == pytest.approx(advice.group_means[j], abs=1e-9)
        assert answer.best.groups[name].low == pytest.approx(advice.group_low[j], abs=1e-9)
    assert (answer.rounds, answer.agents, answer.trials, answer.world) == (8, ["d-ei"], [1], "all")
    assert answer.kept and answer.best.probability == 1.0 and answer.unit == "days"


def test_the_study_s_own_limits_are_asked_again(study):
    tail = '[[limits]]\ngroup = "70+"\nat_most = 0.03'
    made = study(tail=tail)
    (advice,) = made.recommendations()
    (answer,) = what_if(made)
    assert list(answer.best.policy.values()) == pytest.approx(advice.policy, abs=1e-9)
    assert [one.limit for one in answer.best.limits] == ["70+ <= 0.03"] and answer.kept


# Composed anew


def by_hand(study, weights, policy):
    """Mean and deviation of the sum of the groups' GPs by scikit-learn, of the stored kernels and rounds."""
    prior = optimizer.Prior.from_dict(study.world(1).priors["groups"])
    rounds = [one for one in study.rounds() if one.agent == "d-ei"]
    X, Y = np.array([one.policy for one in rounds]), np.array([one.outcomes for one in rounds])
    mean, variance = 0.0, 0.0
    for j, w in enumerate(weights):
        gp = GaussianProcessRegressor(prior.kernels[j], alpha=1e-4, optimizer=None)
        gp.fit(X, Y[:, j] - prior.means[j])
        m, s = gp.predict(np.array([policy]), return_std=True)
        mean, variance = mean + w * (m[0] + prior.means[j]), variance + w * w * s[0] ** 2
    return mean, np.sqrt(variance)


@pytest.mark.parametrize(
    ("asked", "weights"),
    [
        (("70+*10",), [10.0, 1.0, 1.0, 1.0]),
        (("a*b*3, x,y=0",), [1.0, 3.0, 0.0, 1.0]),
        (("<5 years=4", "70+=0", "a*b=0"), [0.0, 0.0, 1.0, 4.0]),
    ],
)
def test_other_weights_are_those_of_gps_composed_by_hand(asked, weights, shared):
    (answer,) = what_if(shared, weights=asked)
    policy = list(answer.best.policy.values())
    mean, deviation = by_hand(Study(shared), weights, policy)
    assert answer.best.objective.mean == pytest.approx(mean, rel=1e-7, abs=1e-9)
    assert answer.best.objective.high - mean == pytest.approx(1.959963984540054 * deviation, rel=1e-5)
    grid = np.random.default_rng(0).random((400, 2))
    grid = grid[grid.sum(axis=1) <= 1.2]
    truth = Shares().expected(grid) @ weights
    value = Shares().expected(np.array([policy])) @ weights
    assert value[0] <= truth.min() + 0.1 * np.ptp(truth)


@pytest.mark.parametrize(
    ("objective", "of"),
    [
        ("worst-group", lambda f: f.max(axis=1)),
        ("group-gap", np.ptp),
        ("cvar:0.5", lambda f: np.sort(f, axis=1)[:, 2:].mean(axis=1)),
        ("count:0.05", lambda f: (f > 0.05).sum(axis=1)),
    ],
)
def test_other_objectives_are_answered_near_their_true_optimum(objective, of, shared):
    (answer,) = what_if(shared, objective=objective)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 41)] * 2), axis=-1).reshape(-1, 2)
    grid = grid[grid.sum(axis=1) <= 1.2]
    axis = {"axis": 1} if of is np.ptp else {}
    truth = of(Shares().expected(grid), **axis)
    found = of(Shares().expected(np.array([list(answer.best.policy.values())])), **axis)
    assert found[0] <= truth.min() + 0.15 * np.ptp(truth)
    assert answer.sense == "minimize" and answer.unit == ("groups" if objective[:5] == "count" else "days")


@pytest.mark.slow
def test_limits_are_kept_in_the_truth_in_most_of_20_seeds(tmp_path):
    kept = []
    values = {"rounds": 6, "trials": 1, "agents": '["d-ei"]', "head": "", "environment": "few-shares"}
    values |= {"options": "", "apart": "false", "samples": 12, "tail": ""}
    for seed in range(20):
        text = TEXT.format(**values)
        (tmp_path / "s.toml").write_text(text.replace("seed = 4", f"seed = {seed}"))
        made = run(load(tmp_path / "s.toml"), out=tmp_path / f"{seed}.sqlite")
        (answer,) = what_if(made, limits=["70+ <= 0.1", "a*b + <5 years >= 0.1"])
        f = Shares().expected(np.array([list(answer.best.policy.values())]))[0]
        if answer.kept:
            kept.append(f[0] <= 0.1 and f[1] + f[3] >= 0.1)
    assert len(kept) >= 15 and np.mean(kept) >= 0.85


# Where it is looked for


def test_a_tighter_budget_and_fixed_levers_are_kept(shared):
    for asked in ({"budget": 0.4}, {"budget": 0.7, "fix": ["y=0.25"]}, {"fix": ["x=0.9"]}):
        (answer,) = what_if(shared, **asked)
        for found in (answer.best.policy, answer.next_policy):
            x, y = found["x"], found["y"]
            assert x + y <= asked.get("budget", 1.2) + 1e-9
            if "y=0.25" in asked.get("fix", ()):
                assert y == 0.25
            if "x=0.9" in asked.get("fix", ()):
                assert x == 0.9


def test_of_candidates_the_budget_and_the_fixed_levers_are_kept(study):
    made = study(environment="few-shares")
    (answer,) = what_if(made, budget=0.5, fix=["y=0.125"])
    assert answer.best.policy["y"] == 0.125 and answer.best.policy["x"] <= 0.375
    assert answer.best.row is not None and Few().policy_space.candidates[answer.best.row][1] == 0.125
    with pytest.raises(UserError, match="no policy"):
        what_if(made, fix=["y=0.13"])


def test_whole_numbers_and_categories_are_kept(study):
    made = study(environment="clinic-of-questions", rounds=10)
    (answer,) = what_if(made, fix=["nurses=7", "tariff=dynamic"])
    assert answer.best.policy["nurses"] == 7 and answer.best.policy["tariff"] == "dynamic"
    assert answer.best.policy["beds"] in (10, 15, 20, 25, 30)
    for text in ("nurses=7.5", "tariff=cheap", "nurses=99", "nurse=7", "nurses"):
        with pytest.raises(UserError) as error:
            what_if(made, fix=[text])
        assert "\n" not in str(error.value) and text.partition("=")[0] in str(error.value)


# Which rounds


def test_trials_of_one_world_are_pooled(study):
    made = study(trials=3, samples=0, rounds=6, agents='["d-ei", "random"]')
    (answer,) = what_if(made)
    assert answer.trials == [1, 2, 3] and answer.rounds == 18 and answer.agents == ["d-ei"]
    grid = np.random.default_rng(0).random((400, 2))
    grid = grid[grid.sum(axis=1) <= 1.2]
    truth = Shares().expected(grid).sum(axis=1)
    found = Shares().expected(np.array([list(answer.best.policy.values())])).sum()
    assert found <= truth.min() + 0.05 * np.ptp(truth)


def test_worlds_of_their_own_have_answers_of_their_own(study, policyloop):
    made = study(trials=3, apart="true", rounds=4)
    answers = what_if(made)
    assert [one.world for one in answers] == ["1", "2", "3"]
    assert all(one.rounds == 4 and one.trials == [int(one.world)] for one in answers)
    assert len({tuple(one.best.policy.values()) for one in answers}) == 3
    code, out, _ = policyloop("what-if", made.path)
    assert code == 0 and "deviation" in out


def test_partial_rounds_teach_what_they_observed(study):
    made = study(options="missing = true", rounds=10)
    assert any(one.status == "partial" for one in made.rounds())
    (answer,) = what_if(made)
    assert np.isfinite(answer.best.objective.mean) and answer.agents == ["d-ei"]


def test_rounds_without_noise_teach_whoever_made_them_and_others_do_not(study):
    quiet = study(options="noise = 0.0", agents='["random", "d-ei"]', rounds=5)
    (answer,) = what_if(quiet)
    assert sorted(answer.agents) == ["d-ei", "random"] and answer.rounds == 9  # the first is the same policy
    noisy = study(options="missing = true", agents='["random", "d-ei"]', rounds=5)
    (answer,) = what_if(noisy)
    assert answer.agents == ["d-ei"]


def test_no_two_rounds_that_teach_share_their_noise(study):
    """Agents of a trial do, so that two of them would tell of the same error twice."""
    made = study(agents='["random", "d-ei", "gp-ucb"]', rounds=6, trials=2)

    def errors(rounds):
        return np.array([np.subtract(one.outcomes, one.expected_outcomes) for one in rounds])

    def alike(rows):
        return (np.abs(rows[:, None] - rows).max(axis=2) < 1e-12).sum() - len(rows)

    assert alike(errors(made.rounds())) == 2 * 6 * 3 * 2  # three agents meet the noise of each of 12 rounds
    (found,) = evidence(made)
    assert len(found.rounds) == 12 and alike(errors(found.rounds)) == 0


def test_a_study_of_partial_rounds_alone_is_not_taken_for_one_without_noise(study, monkeypatch):
    monkeypatch.setattr(Shares, "step", partial_step)
    made = study(agents='["random", "d-ei"]', rounds=6)
    assert {one.status for one in made.rounds()} == {"partial"}
    (answer,) = what_if(made)
    assert answer.agents == ["d-ei"]


def partial_step(self, policy):
    values = self.expected(np.asarray([policy]))[0] + self.rng.normal(0, 0.01, 4)
    values[self.rng.integers(4)] = np.nan
    return simulators.Outcomes(values, np.full(4, 1e-4))


def test_a_study_of_gp_ucb_alone_answers_as_well(study):
    for samples in (20, 0):
        made = study(agents='["gp-ucb"]', samples=samples, rounds=11)
        (answer,) = what_if(made, weights=["70+*2"])
        assert answer.agents == ["gp-ucb"] and answer.rounds == 11


def test_a_study_that_still_runs_answers_from_the_rounds_it_has(study, tmp_path):
    study(rounds=9, samples=0)
    text = (tmp_path / "s.toml").read_text().replace("trials = 1", "trials = 2")
    (tmp_path / "t.toml").write_text(text)
    stopped = []

    def stop(*args, **kwargs):
        stopped.append(1)
        if len(stopped) > 12:
            raise KeyboardInterrupt

    real = Shares.step
    try:
        Shares.step = lambda self, policy: (stop(), real(self, policy))[1]
        with pytest.raises((KeyboardInterrupt, UserError)):
            run(load(tmp_path / "t.toml"), out=tmp_path / "t.sqlite")
    finally:
        Shares.step = real
    unfinished = Study(tmp_path / "t.sqlite")
    assert 9 <= len(unfinished.rounds()) < 18
    (answer,) = what_if(unfinished)
    assert answer.rounds == len(unfinished.rounds())


def test_a_living_world_is_refused(policyloop, tmp_path):
    (tmp_path / "w.toml").write_text(
        'name = "w"\nrounds = 2\ntrials = 1\nagents = ["random"]\n[environment]\nname = "weather-live"\n'
        "[prior]\nsamples = 0\n"
    )
    run(load(tmp_path / "w.toml"), out=tmp_path / "w.sqlite")
    code, _, error = policyloop("what-if", tmp_path / "w.sqlite")
    assert code == 2 and "lives" in error and error.count("\n") == 1
