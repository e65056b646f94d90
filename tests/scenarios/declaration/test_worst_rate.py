"""The worst group per person of it: what is told per person of all, times all persons by the group's."""

import numpy as np
import pytest
from studies import study_of

import scenarios
import simulators
from bridges.worst_rate import WorstRate
from scenarios.declaration.rates import by_size, worst_rate
from scenarios.errors import UserError
from scenarios.study.study import Study

UNIT = "deaths per 100,000 persons"


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_it_is_the_worst_of_the_scaled_outcomes_with_their_slopes(sense):
    rng = np.random.default_rng(0)
    rate, outcomes = WorstRate(sense, (2.0, 5.0, 1.25)), rng.normal(size=(20, 3))
    scaled = outcomes * [2.0, 5.0, 1.25]
    np.testing.assert_allclose(rate(outcomes), scaled.max(1) if sense == "minimize" else scaled.min(1))
    step = 1e-6 * np.eye(3)
    slopes = np.stack([(rate(outcomes + h) - rate(outcomes - h)) / 2e-6 for h in step], axis=1)
    np.testing.assert_allclose(rate.slopes(outcomes), slopes, atol=1e-6)
    assert (np.abs(slopes) <= rate.bounds(3) + 1e-6).all()


def test_of_two_normal_groups_the_moments_are_those_of_draws():
    rate, means, variances = (
        WorstRate("minimize", (2.0, 4.0)),
        np.array([[1.0, 0.6]]),
        np.array([[0.04, 0.01]]),
    )
    draws = np.random.default_rng(1).normal(means, np.sqrt(variances), (400_000, 2))
    found = rate.moments(means, variances)
    assert found.mean[0] == pytest.approx(rate(draws).mean(), abs=3e-3)
    assert found.variance[0] == pytest.approx(rate(draws).var(), rel=0.02)


def test_a_rate_is_of_the_persons_of_the_group():
    """Of 1,000 persons 100 are old, and 3 of them die: 300 of all per 100,000, 3,000 of the old."""
    rate = worst_rate("minimize", [UNIT] * 2, [900.0, 100.0])
    assert rate(np.array([[500.0, 300.0]])) == pytest.approx([3000.0])
    # Of two worlds each has all persons.
    again = worst_rate("minimize", [UNIT] * 4, [900.0, 100.0] * 2, worlds=2)
    assert again.scales == pytest.approx([10 / 9, 10.0] * 2)


@pytest.mark.parametrize(("units", "persons"), [(["days"] * 2, [1.0, 2.0]), ([UNIT] * 2, None)])
def test_it_is_refused_where_there_is_no_such_rate(units, persons):
    with pytest.raises(UserError, match="objective 'worst-rate': accepted where"):
        worst_rate("minimize", units, persons)


def test_what_is_said_where_groups_are_compared_by_their_sizes():
    said = by_size("worst-group", [UNIT] * 2, [900.0, 100.0], ["young", "old"])
    assert "per 100,000 persons of ALL groups together" in said and "(young has most)" in said
    assert "worst-rate compares" in said
    for text, units, persons in (
        ("total", [UNIT] * 2, [900.0, 100.0]),
        ("worst-rate", [UNIT] * 2, [900.0, 100.0]),
        ("worst-group", ["days"] * 2, [900.0, 100.0]),
        ("worst-group", [UNIT] * 2, [100.0, 100.0]),
        ("worst-group", [UNIT] * 2, None),
    ):
        assert by_size(text, units, persons, ["young", "old"]) == ""


@pytest.fixture(scope="module")
def flu(tmp_path_factory):
    return study_of(
        tmp_path_factory.mktemp("flu"),
        'name = "s"\nobjective = "worst-group"\nrounds = 12\ntrials = 1\nseed = 3\nagents = ["d-ei"]\n'
        '[environment]\nname = "flu-ode"\noptions = { days = 100 }\n[prior]\nsamples = 0\n',
    )


def test_a_study_is_asked_for_the_worst_rate_and_told_what_its_own_objective_compares(flu):
    (own,) = scenarios.what_if(flu)
    assert any("worst-group compares what is per person of ALL groups" in one for one in own.remarks)
    (asked,) = scenarios.what_if(flu, objective="worst-rate")
    assert not any("compares what is" in one for one in asked.remarks)
    assert asked.unit == "sick days per person of the group"
    persons = np.array(flu.environment.persons)
    means = np.array([one.mean for one in asked.best.groups.values()])
    assert asked.best.objective.mean >= (means * persons.sum() / persons).max() * 0.99
    traced = scenarios.frontier(Study(flu.path), ["worst-group", "worst-rate"], points=2)[0]
    assert len(traced.remarks) == 1 and traced.to_dict()["remarks"] == traced.remarks


def test_check_tells_it_of_a_scenario(flu, policyloop):
    code, out, _ = policyloop("check", flu.path.with_name("s.toml"))
    assert code == 0 and out.endswith("it is ready, with 1 caution\n")
    assert "- worst-group compares what is per person of ALL groups together" in out


def test_a_scenario_is_run_for_the_worst_rate(tmp_path):
    (tmp_path / "s.toml").write_text(
        'name = "s"\nobjective = "worst-rate"\nrounds = 2\ntrials = 1\nagents = ["random"]\n'
        '[environment]\nname = "flu-ode"\noptions = { days = 100 }\n[prior]\nsamples = 0\n'
    )
    study = scenarios.run(scenarios.load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
    environment = simulators.make("flu-ode", days=100)
    persons = environment.population
    for one in study.rounds():
        rates = environment.expected([one.policy])[0] * persons.sum() / persons
        assert one.expected == pytest.approx(rates.max())
