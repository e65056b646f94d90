import numpy as np
import pytest
from countries import country, ode

from simulators import FluODE

STANDARD = {"name": "standard"}
COLUMNS = {"hospitalisation": np.full(3, 0.01), "current": np.full(3, 0.3)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"efficacy": [0.1, 0.2]}, r"efficacy must be one number, or 3.*shape \(2,\)"),
        ({"current": [0.1] * 4}, "current must be one number, or 3"),
        ({"current": 1.5}, "current of group 'band 0' is 1.5; .* <= 1"),
        ({"outcome": "death"}, "outcome='death' must be one of .*did you mean 'deaths'"),
        ({"outcome": "deaths"}, "outcome: 'deaths' needs the column 'death'"),
        ({"outcome_weights": {"qalys": 1.0}}, "outcome_weights: 'qalys' needs the column 'qaly_loss'"),
        ({"outcome_weights": {"beds": 1.0}}, "outcome_weights: outcome='beds' must be one of"),
        ({"outcome_weights": {"infections": 0.0}}, "must have an outcome with a weight"),
        ({"outcome": "infections", "outcome_weights": {"cost": 1}}, "exclude each other"),
        ({"hospitalisation": 1.2}, "hospitalisation of group 'band 0' is 1.2"),
        ({"hospital_stay": 0}, "hospital_stay=0"),
        (
            {"budget": "default", "budget_doses": 1e9},
            r"budget_doses=1000000000.0 must be at most the persons",
        ),
        ({"budget": "default", "budget_doses": -1}, "budget_doses=-1 must be a finite number >= 0"),
        ({"budget": 0.1, "budget_doses": 5}, "exclude each other"),
        ({"budget": "default", "budget_cost": 5}, "budget_cost=5 needs products with a cost"),
        ({"levers": {}}, "levers={} must be a table"),
        ({"levers": {"old": []}}, "levers: 'old' = .* must be a list of groups"),
        ({"levers": {"old": ["band 7"]}}, "levers: 'old': unknown group 'band 7'"),
        ({"levers": {"a": ["band 0"], "b": ["band 0"]}}, "levers: 'b' has the group 'band 0' in 'a' already"),
        ({"levers": {"a": ["band 0", "band 0"]}}, "levers: 'a' has the group 'band 0' twice"),
        ({"levers": {"a": ["band 0"]}, "budget": 0.01}, "budget=0.01 is infeasible: .* no lever holds"),
        ({"products": {}}, "products={} must be a list of tables"),
        ({"products": [{"efficacy": 0.5}]}, "must be a table with a name"),
        ({"products": [STANDARD, STANDARD]}, "products: 'standard' is there twice"),
        ({"products": [{**STANDARD, "price": 3}]}, "products: 'standard': unknown key 'price'"),
        ({"products": [{**STANDARD, "cost": -3}]}, "products: 'standard': cost=-3"),
        (
            {"products": [{**STANDARD, "efficacy": 2}]},
            "products: 'standard': efficacy of group 'band 0' is 2",
        ),
        ({"products": [{**STANDARD, "only": []}]}, "products: 'standard' may go to no group"),
        ({"products": [{**STANDARD, "only": ["all"]}]}, "products: 'standard': only: unknown group or lever"),
        (
            {"products": [{**STANDARD, "only": ["band 0"]}], "levers": {"old": ["band 2"]}},
            "products: 'standard' may go to no group that a lever holds",
        ),
        (
            {"products": [{**STANDARD, "only": ["band 0"]}], "levers": {"a": ["band 0", "band 1"]}},
            "only has some groups of the lever 'a'",
        ),
        ({"products": [STANDARD], "pack": 100}, "pack=100 does not go with products"),
        ({"latent_period": -1}, "latent_period=-1"),
        ({"latent_period": 0.01}, "latent_period=0.01 must be 0, or 0.1 days or more"),
        ({"waning_period": 0}, "waning_period=0"),
        ({"latent_period": 2, "intervention": "treatment"}, "latent_period=2 has no meaning"),
        ({"outcome": "peak beds", "intervention": "treatment"}, "outcome='peak beds' has no meaning"),
        ({"levers": {"a": ["band 0"]}, "intervention": "treatment"}, "levers=.* has no meaning"),
        ({"orientation": "row"}, "orientation='row' says how files are read"),
        ({"contacts": [[1]]}, "contacts: a Country has its own"),
    ],
)
def test_a_wrong_parameter_is_refused_in_one_line_that_names_it(options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        ode(3, columns=COLUMNS, **options)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": ["a", "a"]}, "must be names that differ"),
        ({"groups": []}, "must be names that differ"),
        ({"groups": ["a", "b"]}, "population is missing"),
        ({"groups": ["a", "b"], "population": 10}, "contacts is missing"),
        ({"groups": ["a", "b"], "population": 10, "contacts": [[1]]}, "contacts must be a 2 x 2 matrix"),
        ({"groups": ["a"], "population": 9, "contacts": {}}, "a matrix, or some by setting"),
        (
            {"groups": [f"g{j}" for j in range(101)], "population": 9, "contacts": np.eye(101)},
            "there are 101",
        ),
        ({"groups": ["a"], "population": 9, "contacts": [[1]]}, "budget is missing"),
        ({"groups": "no-such.csv", "contacts": "c.csv"}, "no-such.csv"),
        ({"groups": "no-such.csv"}, "needs contacts"),
        ({"groups": "a.csv", "contacts": "c.csv", "population": 3}, "persons are in the table"),
    ],
)
def test_groups_that_cannot_be_had_are_refused_in_one_line(options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        FluODE(**options)
    assert "\n" not in str(refusal.value)


def test_more_doses_than_persons_are_refused_to_the_dose():
    N = country(3).persons.sum()
    ode(3, budget="default", budget_doses=N)
    with pytest.raises(ValueError, match="one dose a person"):
        ode(3, budget="default", budget_doses=N + 1)
