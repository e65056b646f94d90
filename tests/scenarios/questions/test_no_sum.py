"""What-if where the objective is no sum, and where names of groups mean more than one thing."""

import numpy as np
import pytest
from scipy.optimize import Bounds

import scenarios
import simulators
from scenarios import load, run
from scenarios.declaration.asked import in_members
from scenarios.errors import UserError
from scenarios.questions.question import limits, reweighing
from scenarios.study.stored_environment import StoredEnvironment, facts_of

AWKWARD = ("total", "every", "a, b", "a + b", "70+")


class Product(simulators.Environment):
    """Groups x and 1 - x, of which the objective is the product: largest at 0.5."""

    groups, group_units, objective_unit, sense = ("total", "rest"), ("", ""), "", "maximize"

    def __init__(self):
        self.policy_space = simulators.PolicySpace(("x",), ("",), bounds=Bounds([0.0], [1.0]))

    def expected(self, policies):
        x = np.asarray(policies)
        return np.concatenate([x, 1 - x], axis=1)

    def step(self, policy):
        return simulators.Outcomes(self.expected([policy])[0], np.full(2, 1e-6))

    def compose(self, outcomes, policies):
        return outcomes[..., 0] * outcomes[..., 1]

    def weights(self, policies):
        return None


@pytest.fixture
def study(tmp_path):
    simulators.register("product", Product)

    def made(environment="product", head="", tail="", samples=0, options=""):
        (tmp_path / "s.toml").write_text(
            f'name = "s"\nrounds = 12\ntrials = 1\nseed = 2\nagents = ["d-ei"]\n{head}\n[environment]\n'
            f'name = "{environment}"\noptions = {{ {options} }}\n[prior]\nsamples = {samples}\nrestarts = 0\n'
            f"{tail}"
        )
        return run(load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite", force=True)

    return made


@pytest.mark.parametrize("over", ["worst", pytest.param("cvar:0.5", marks=pytest.mark.slow)])
def test_the_objective_of_an_ensemble_is_stored_and_asked_again(study, over):
    options = 'intervention = "vaccination"'
    made = study("flu-ode", tail=f'[ensemble]\nr0 = [1.3, 1.5, 1.7]\nobjective = "{over}"\n', options=options)
    assert made.environment.composition["over"] == ("worst-group" if over == "worst" else "cvar")
    ensemble = simulators.make(
        "ensemble", of="flu-ode", vary={"r0": [1.3, 1.5, 1.7]}, objective=over,
        options={"intervention": "vaccination"},
    )  # fmt: skip
    stored = StoredEnvironment(made.environment)
    values, policies = np.random.default_rng(0).random((3, 4, 15)), np.zeros((3, 4, 5))
    np.testing.assert_allclose(stored.compose(values, policies), ensemble.compose(values, policies))
    np.testing.assert_allclose(stored.gradient(values, policies), ensemble.gradient(values, policies))
    assert stored.weights(policies[0]) is None and stored.constant_terms is None
    (answer,) = scenarios.what_if(made)
    best = ensemble.policy_space.check(list(answer.best.policy.values()))
    truth = ensemble.compose(ensemble.expected(best[None]), best[None])[0]
    assert answer.best.objective.mean == pytest.approx(truth, abs=0.1)
    (limited,) = scenarios.what_if(made, limits=["70+ <= 0.05"], limit_probability=0.5)
    assert [one.limit for one in limited.best.limits] == [f"r0={r}: 70+ <= 0.05" for r in (1.3, 1.5, 1.7)]


def test_policyloop_s_own_compositions_are_made_anew(study):
    (answer,) = scenarios.what_if(study())  # registered by this program, and nobody's file
    assert answer.best.policy["x"] == pytest.approx(0.5, abs=0.05)
    assert answer.best.objective.mean == pytest.approx(0.25, abs=0.01)
    (traced,) = scenarios.frontier(study(), ["rest", "worst-group"], points=2)
    assert traced.points


def test_code_of_others_is_not_run_and_said_so(study, policyloop, tmp_path):
    (tmp_path / "g.py").write_text("def g(outcomes, policies):\n    return outcomes[..., 0] ** 2\n")
    made = study("valley", head='objective = "g.py:g"')
    code, _, err = policyloop("what-if", made.path)
    assert code == 2 and "is code, which is not run to read a study" in err
    assert "--objective worst-group" in err and len(err.strip().splitlines()) == 1
    assert policyloop("what-if", made.path, "--objective", "worst-group")[0] == 0


def test_a_study_of_the_worst_group_is_asked_for_the_weighted_sum(study):
    (answer,) = scenarios.what_if(study("valley", head='objective = "group-gap"'), objective="weighted-sum")
    assert answer.best.objective.mean == pytest.approx(2.18, abs=0.03)
    (weighted,) = scenarios.what_if(study("valley", head='objective = "group-gap"'), weights=["left=0"])
    assert weighted.best.policy["x"] == pytest.approx(0.8, abs=0.1)


def test_weights_of_no_sum_are_refused(study, policyloop):
    code, _, err = policyloop("what-if", study().path, "--weights", "rest*2")
    assert code == 2 and "weights are of a weighted sum" in err


def test_a_group_of_all_members_is_that_of_each():
    groups = ["r0=1.3: old", "r0=1.3: young", "r0=1.5: old", "r0=1.5: young"]
    assert in_members({"old": 1.0}, groups) == [{"r0=1.3: old": 1.0}, {"r0=1.5: old": 1.0}]
    assert in_members({"old": 1.0, "young": 2.0}, groups)[1] == {"r0=1.5: old": 1.0, "r0=1.5: young": 2.0}
    assert in_members({"r0=1.5: old": 1.0}, groups) == [{"r0=1.5: old": 1.0}]
    assert in_members({"odl": 1.0}, groups) == [{"odl": 1.0}]
    assert [one.text for one in limits(["old + 2*young <= 3"], groups, None)] == [
        "r0=1.3: old + 2*r0=1.3: young <= 3",
        "r0=1.5: old + 2*r0=1.5: young <= 3",
    ]
    assert reweighing(["old*3"], groups).factors.tolist() == [3.0, 1.0, 3.0, 1.0]
    with pytest.raises(UserError, match="named twice"):
        reweighing(["old*3", "r0=1.3: old*2"], groups)


@pytest.mark.slow
def test_a_scenario_s_limits_and_weights_hold_for_every_member(study):
    tail = '[[limits]]\ngroup = "70+"\nat_most = 0.9\n[ensemble]\nr0 = [1.3, 1.5]\n'
    head = 'weights = { "70+" = 5.0 }'
    made = study("flu-ode", head=head, tail=tail)
    assert len(made.environment.limits) == 2 and len(made.limits) == 2
    weights = dict(zip(made.environment.groups, made.environment.composition["weights"], strict=True))
    assert weights["r0=1.3: 70+"] == weights["r0=1.5: 70+"] == 5.0


@pytest.mark.parametrize("word", ["total", "every"])
def test_a_group_that_is_called_like_a_word_needs_quotation_marks(word):
    with pytest.raises(UserError, match="in quotation marks"):
        limits([f"{word} <= 1"], AWKWARD, {"70+": 1.0})
    (limit,) = limits([f'"{word}" <= 1'], AWKWARD, {"70+": 1.0})
    assert dict(limit.weights) == {word: 1.0}


def test_names_with_commas_and_plus_signs_can_be_quoted():
    (limit,) = limits(['"a + b" + 2*"a, b" + 70+ <= 1'], AWKWARD, None)
    assert dict(limit.weights) == {"a + b": 1.0, "a, b": 2.0, "70+": 1.0}
    found = reweighing(['"a, b"*2,70+=3', "a + b*4"], AWKWARD)
    assert found.factors.tolist() == [1, 1, 2, 4, 1] and found.fixed[4] == 3


def test_a_group_called_total_is_no_objective_without_quotation_marks(study, policyloop):
    made = study()
    code, _, err = policyloop("frontier", made.path, "--between", "total", "--and", "rest", "--quiet")
    assert code == 2 and "is the name of a group and of an objective" in err
    (found,) = scenarios.frontier(made, ['"total"', "rest"], points=2)
    assert found.objectives == ['"total"', "rest"]


def test_facts_hold_the_sum_behind_a_named_objective():
    facts = facts_of(simulators.make("flu-ode"))
    assert facts.composition == {"weights": [1.0] * 5, "offset": 0.0}
