"""The last rounds try the leading policies again, equally often, and choose among them with noise in mind."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, Prior, SearchSpace, make_agent
from optimizer.agents.confirmation import Confirming, field_size, stages

GRID = np.linspace(0, 1, 40)[:, None]
SPACE = SearchSpace(candidates=GRID)
PRIOR = Prior([RBF(0.2)] * 2, np.full(2, 0.25), [0.0, 0.0])


def made(name="d-gpucb", rounds=30, confirm=8, batch=1, sense="maximize", seed=0):
    g = Composition(2, sense=sense)
    agent = make_agent(name, SPACE, g, prior=PRIOR, seed=seed)
    return Confirming(agent, g, rounds=rounds, confirm=confirm, batch=batch)


def outcome(row, t, sign=1.0):
    noise = np.random.default_rng(1000 + t).normal(0, 0.5, 2)
    return sign * np.stack([-((GRID[row, 0] - 0.6) ** 2), 0.3 * GRID[row, 0]], axis=-1) + noise


def run(agent, rounds, batch=1, sign=1.0, lost=()):
    asked = []
    for start in range(0, rounds, batch):
        for i, row in enumerate(agent.ask(batch)):
            t = start + i
            Y = np.full(2, np.nan) if t in lost else outcome(int(row), t, sign)
            told = Y[None] if agent.feedback == "decomposed" else Y.sum(keepdims=True)
            agent.tell([row], told)
            asked.append(int(row))
    return asked


@pytest.mark.parametrize(
    ("tries", "m"), [(1, 1), (2, 2), (7, 2), (8, 4), (23, 4), (24, 8), (63, 8), (64, 16)]
)
def test_so_many_policies_are_compared_as_halving_has_tries_for(tries, m):
    assert field_size(tries) == m


def test_every_stage_has_the_same_number_of_tries_in_all():
    assert stages(24) == [1, 1 + 2]  # 8 once, 4 twice, then 2 four times
    assert stages(8) == [1] and stages(2) == [] and stages(1) == []


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb", "random"])
def test_leaders_are_tried_equally_often_and_the_better_half_goes_on(name, sense):
    sign = 1.0 if sense == "maximize" else -1.0
    agent = made(name, sense=sense)
    asked = run(agent, 22, sign=sign)
    leaders = list(agent.leaders)
    assert len(leaders) == 4 and leaders[0] == agent.agent.recommend().policy
    asked = run_on(agent, 22, 8, sign)
    counts = Counter(asked)
    assert sorted(counts.values()) == [1, 1, 3, 3] and set(counts) == {int(one) for one in leaders}
    first = {row: sign * outcome(row, 22 + i, sign).sum() for i, row in enumerate(asked[:4])}
    assert {row for row, count in counts.items() if count == 3} == set(sorted(first, key=first.get)[2:])
    means = {
        row: np.mean([sign * outcome(row, 22 + i, sign).sum() for i, one in enumerate(asked) if one == row])
        for row, count in counts.items()
        if count == 3
    }
    found = agent.recommend()
    assert found.policy == max(means, key=means.get)
    assert found.tried >= 3


def run_on(agent, start, rounds, sign=1.0):
    asked = []
    for t in range(start, start + rounds):
        row = agent.ask()[0]
        Y = outcome(int(row), t, sign)
        agent.tell([row], Y[None] if agent.feedback == "decomposed" else Y.sum(keepdims=True))
        asked.append(int(row))
    return asked


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_leaders_are_the_recommended_policy_and_then_the_best_tried_by_the_posterior(name, sense):
    sign = 1.0 if sense == "maximize" else -1.0
    agent = made(name, sense=sense)
    tried = np.unique(run(agent, 22, sign=sign))
    best = agent.agent.recommend().policy
    ranked = tried[np.argsort(-sign * agent.agent.predict(tried)[0], kind="stable")]
    assert agent.leaders == [best, *ranked[ranked != best][:3]]


def test_of_three_leaders_two_go_on():
    agent = made("random")
    run(agent, 22)
    agent.leaders = agent.leaders[:3]
    run_on(agent, 22, 3)
    assert len(agent.leaders) == 2


def test_without_a_model_the_winner_has_a_normal_interval_of_the_mean_of_its_last_tries():
    agent = made("random", rounds=30)
    before = run(agent, 22)
    asked = run_on(agent, 22, 8)
    found = agent.recommend()
    values = [outcome(row, 22 + i).sum() for i, row in enumerate(asked) if row == found.policy]
    assert len(values) == 3 and found.mean == pytest.approx(np.mean(values))
    low, high = norm(np.mean(values), np.std(values, ddof=1) / np.sqrt(3)).interval(0.95)
    assert [found.low, found.high] == pytest.approx([low, high])
    assert found.tried == before.count(found.policy) + 3 > 3


def test_tries_are_compared_by_the_composed_value_of_all_groups():
    """The second group counts three times, and against: the sum would choose another."""
    g = Composition(2, weights=[1.0, -3.0])
    agent = Confirming(make_agent("d-gpucb", SPACE, g, prior=PRIOR), g, rounds=24, confirm=2)
    for t in range(22):
        row = agent.ask()[0]
        agent.tell([row], outcome(int(row), t)[None])
    first, second = agent.leaders
    agent.tell([first], [[5.0, 2.0]])  # 7 in sum, -1 composed
    agent.tell([second], [[1.0, 0.0]])  # 1 either way
    assert agent.recommend().policy == second


def test_told_again_without_asking_it_goes_on_as_before():
    whole = made()
    asked = run(whole, 30)
    again = made()
    for t, row in enumerate(asked[:26]):
        again.tell([row], outcome(row, t)[None])
    assert run_on(again, 26, 4) == asked[26:]
    assert again.recommend().policy == whole.recommend().policy


def test_in_batches_the_rounds_that_confirm_are_whole_batches():
    agent = made(rounds=30, confirm=7, batch=5)
    assert agent.first == 20
    asked = run(agent, 30, batch=5)
    counts = Counter(asked[20:])
    assert len(counts) == 4 and min(counts.values()) >= 1


def test_a_leader_that_fails_when_tried_again_is_left_behind():
    agent = made(confirm=2, rounds=12)
    asked = run(agent, 12, lost={10})
    assert asked[10] != asked[11]
    assert agent.recommend().policy == asked[11]


def test_confirming_chooses_better_under_noise_than_the_best_single_observation():
    """Random search in much noise: its best observation is lucky, the mean of several is less so."""
    truth = -((GRID[:, 0] - 0.6) ** 2) + 0.3 * GRID[:, 0]
    regret = {"plain": [], "confirmed": []}
    for seed in range(40):
        agents = {
            "plain": make_agent("random", SPACE, Composition(2), seed=seed),
            "confirmed": made("random", rounds=60, confirm=24, seed=seed),
        }
        for name, agent in agents.items():
            rng = np.random.default_rng(seed)
            for _ in range(60):
                row = agent.ask()[0]
                agent.tell([row], [truth[row] + rng.normal(0, 0.3)])
            regret[name].append(truth.max() - truth[agent.recommend().policy])
    assert np.mean(regret["confirmed"]) < 0.7 * np.mean(regret["plain"])


@pytest.mark.parametrize(("rounds", "confirm"), [(5, 5), (5, 6), (5, 0)])
def test_no_rounds_before_are_refused(rounds, confirm):
    with pytest.raises(ValueError, match=f"confirm={confirm} of 5 rounds"):
        made(rounds=rounds, confirm=confirm)
