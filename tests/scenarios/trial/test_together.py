"""Limits, all kinds of levers, missing groups, ensembles, batches, objectives and replicates go together."""

import itertools

import numpy as np
import pytest
from scipy.optimize import Bounds
from studies import assert_same

import scenarios
import simulators
from scenarios import load, run
from simulators import Outcomes, PolicySpace
from simulators.contract.levers import as_lever

LEVERS = {"share": (0, 1), "beds": {"whole": (10, 30), "step": 5}, "tariff": {"one_of": ("flat", "peak")}}


class Ward(simulators.Environment):
    """Costs u^2 + 0.2 c, waits (1 - u + shift)^2 + 0.1 (1 - c); u is the mean share of two ranges."""

    groups, group_units, objective_unit, sense = ("costs", "waits"), ("hours",) * 2, "hours", "minimize"

    def __init__(self, levers=False, missing=False, shift=0.0):
        if levers:
            kinds = {label: as_lever(label, given) for label, given in LEVERS.items()}
            self.policy_space = PolicySpace(list(kinds), [""] * 3, levers=list(kinds.values()))
        else:
            self.policy_space = PolicySpace(("share", "beds"), ("", ""), bounds=Bounds([0, 10], [1, 30]))
        self.missing, self.shift = missing, shift

    def expected(self, policies):
        X = np.asarray(policies, dtype=float)
        u = (X[:, 0] + (X[:, 1] - 10) / 20) / 2
        c = X[:, 2] if X.shape[1] == 3 else np.zeros(len(X))
        return np.stack([u**2 + 0.2 * c, (1 - u + self.shift) ** 2 + 0.1 * (1 - c)], axis=1)

    def step(self, policy):
        values = self.expected(self.policy_space.check(policy)[None])[0] + self.rng.normal(0, 0.01, 2)
        if self.missing and self.rng.random() < 0.4:
            values[0] = np.nan
        return Outcomes(values, np.full(2, 1e-4))


@pytest.fixture(scope="module", autouse=True)
def ward():
    simulators.register("ward-together", Ward)


PARTS = {
    "limits": {"tail": '[[limits]]\ngroup = "waits"\nat_most = 0.5'},
    "levers": {"options": "levers = true"},
    "missing groups": {"options": "missing = true"},
    "one world": {"tail": '[ensemble]\nshift = [0.0, 0.1]\npick = "one"'},
    "all worlds": {"tail": '[ensemble]\nshift = [0.0, 0.1]\nobjective = "worst"'},
    "batches": {"head": "batch = 3"},
    "objectives": {"head": 'objectives = ["total", "worst-group"]'},
    "replicates": {"environment": "replicates = 2"},
}
PAIRS = [
    pair for pair in itertools.combinations(PARTS, 2) if pair != ("one world", "all worlds")
] + [
    ("limits", "levers", "missing groups", "one world", "batches"),
    ("limits", "levers", "missing groups", "all worlds", "batches", "objectives", "replicates"),
]  # fmt: skip
ROUNDS = 9


def written(folder, parts, rounds=ROUNDS):
    def joined(key, between):
        return between.join(PARTS[part][key] for part in parts if key in PARTS[part])

    options, keys = joined("options", ", "), joined("environment", chr(10))
    path = folder / "together.toml"
    path.write_text(
        f'name = "together"\nrounds = {rounds}\ntrials = 1\nseed = 2\nagents = ["d-ei", "ei"]\n'
        f"{joined('head', chr(10))}\n"
        f'[environment]\nname = "ward-together"\noptions = {{ {options} }}\n{keys}\n'
        f"[prior]\nsamples = 0\n{joined('tail', chr(10))}\n"
    )
    return path


def assert_levers(study):
    for one in study.rounds():
        share, beds, tariff = one.policy
        assert 0 <= share <= 1 and beds in (10, 15, 20, 25, 30) and tariff in (0, 1)


def assert_limits(study):
    for one in study.recommendations():  # some are known to keep it: waits are (1 - u)^2 and more
        outcomes = one.expected_outcomes
        assert outcomes is None or min(outcomes[1::2]) <= 0.55
    assert study.limits[0].at_most == 0.5


def assert_missing(study):
    seen = [one.outcomes for one in study.history(1, "d-ei")]
    seen += [row for one in study.details("runs") for row in one.value]  # a mean is of those that are there
    costs = np.array(seen, dtype=float)[:, 0]
    assert np.isnan(costs).any() and np.isfinite(costs).any()


def assert_one_world(study):
    seen = np.array([one.outcomes for one in study.history(1, "d-ei")], dtype=float)
    worlds = np.isfinite(seen[-1].reshape(2, 2)).any(axis=1)
    assert worlds.sum() == 1
    told = np.array([one.outcomes for one in study.history(1, "ei")], dtype=float)
    assert np.isfinite(told.reshape(-1, 2, 2)).any(axis=2).all()  # who knows the whole alone pays for all


def assert_all_worlds(study):
    seen = np.array([one.outcomes for one in study.history(1, "d-ei")], dtype=float)
    assert np.isfinite(seen.reshape(-1, 2, 2)).any(axis=2).all()


def assert_batches(study):
    last = [tuple(one.policy) for one in study.history(1, "d-ei")[-3:]]
    assert len(set(last)) == len(last)


def assert_objectives(study):
    assert list(study.scenario.objectives) == ["total", "worst-group"]


def assert_replicates(study):
    assert {np.array(one.value).shape[0] for one in study.details("runs")} == {2}


CHECKS = dict(zip(PARTS, (assert_limits, assert_levers, assert_missing, assert_one_world, assert_all_worlds,
                          assert_batches, assert_objectives, assert_replicates), strict=True))  # fmt: skip


@pytest.mark.parametrize(
    "parts",
    [parts if len(parts) > 2 else pytest.param(parts, marks=pytest.mark.slow) for parts in PAIRS],
    ids=" and ".join,
)
def test_they_go_together_and_a_study_resumes_to_the_same_end(parts, tmp_path, policyloop):
    study = run(load(written(tmp_path, parts)), out=tmp_path / "s.sqlite")
    assert {one.status for one in study.rounds()} <= {"ok", "partial"}
    assert len(study.rounds()) == 2 * ROUNDS and len(study.recommendations()) == 2
    for part in parts:
        CHECKS[part](study)
    if len(parts) > 2:
        run(load(written(tmp_path, parts, rounds=9)), out=tmp_path / "parts.sqlite")
        again = run(load(written(tmp_path, parts)), out=tmp_path / "parts.sqlite", resume=True)
        assert_same(study, again)
    for words in (("compare", study.path), ("what-if", study.path, "--limit", "costs <= 0.9")):
        code, _, err = policyloop(*words)
        assert code == 0, err


WEIGHED = "weights = { costs = 2.0 }\nobjectives = ['costs', 'waits']"


@pytest.mark.parametrize(
    ("parts", "more", "words"),
    [
        (("limits",), "confirm = 2", "confirm does not go with limits"),
        (("objectives",), "confirm = 2", "confirm does not go with objectives"),
        (("objectives",), 'objective = "worst-group"', "objective or objectives, and not both"),
        (("objectives",), WEIGHED, "weights are of the total"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name_when_the_scenario_is_read(parts, more, words, tmp_path):
    path = written(tmp_path, parts)
    text = path.read_text()
    if more.count("\n"):
        text = text.replace(PARTS["objectives"]["head"], "")
    path.write_text(text.replace("seed = 2\n", f"seed = 2\n{more}\n", 1))
    with pytest.raises(scenarios.UserError) as refused:
        load(path)
    assert words in str(refused.value) and str(refused.value).count("\n") == 0
