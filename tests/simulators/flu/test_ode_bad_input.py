import numpy as np
import pytest

from simulators import FluODE

HOLE = np.full((5, 5), 1.0)
HOLE[1, 2] = np.nan
BELOW = np.full((5, 5), 1.0)
BELOW[4, 0] = -0.25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contacts": HOLE}, "contacts: row '20-49', column '50-64' is nan; it must be a finite number >= 0"),
        ({"contacts": BELOW}, r"contacts: row '70\+', column '0-19' is -0.25"),
        ({"contacts": [[1, 2], [3, 4]]}, "contacts must be a 5 x 5 matrix"),
        ({"contacts": [[1, 2], [3]]}, "contacts must be a 5 x 5 matrix"),
        ({"contacts": np.zeros((5, 5))}, "no infection through"),
        ({"contacts": "del-vale-2013"}, "did you mean 'del-valle-2013'"),
        ({"contacts": "mistry-2021-oregon", "groups": 9}, "groups=5 only"),
        ({"intervention": "vacination"}, "did you mean 'vaccination'"),
        ({"groups": 7}, "groups=7 must be one of 5, 9"),
        ({"population": [1, 2]}, r"population must be one number, or 5.*shape \(2,\)"),
        ({"population": [1, 1, 0, 1, 1]}, "population of group '50-64' is 0; it must be a finite number > 0"),
        ({"susceptibility": -1}, "susceptibility of group '0-19' is -1"),
        ({"efficacy": 1.1}, "efficacy of group '0-19' is 1.1; .* >= 0 and <= 1"),
        ({"efficacy": 0.5, "intervention": "treatment"}, "efficacy=0.5 has no meaning"),
        ({"infectious_period": 0}, "infectious_period=0 must be a finite number > 0"),
        ({"infectious_period": 4, "intervention": "treatment"}, "infectious_period=4 needs r0"),
        ({"r0": -1}, "r0=-1 must be a finite number > 0"),
        ({"r0": "high"}, "r0='high' must be"),
        ({"initial_infected": 1e9}, r"initial_infected of group '0-19' is 1e\+09; it must be at most"),
        ({"noise_variance": [1, 1, 1, 1, -1]}, r"noise_variance of group '70\+' is -1"),
        ({"days": 0}, "days=0 must be a finite number > 0"),
        ({"days": True}, "days=True must be"),
        ({"step_days": 0}, "step_days=0 must be"),
        ({"budget": -0.1}, "budget=-0.1 must be a finite number >= 0"),
        ({"budget": "all"}, "budget='all' must be a number >= 0, 'default' or 'none'"),
        ({"budget": 0.3, "bounds": (0.5, 1)}, "budget=0.3 is infeasible: .* at least 0.5"),
        ({"budget": 99, "intervention": "treatment"}, "budget=99 is infeasible: .* in 9.84..24.6"),
        ({"budget_weights": [1, 2, 3]}, "budget_weights must be one number, or 5"),
        ({"bounds": (1, 0)}, "bounds of '0-19' are upside down: lower 1 is above upper 0"),
        ({"bounds": ([0, 0, 0, 0.9, 0], [1, 1, 1, 0.8, 1])}, "bounds of '65-69' are upside down"),
        ({"bounds": (0, 2)}, "bounds: upper limit of group '0-19' is 2; .* <= 1"),
        ({"bounds": (-1, 1), "intervention": "treatment"}, "bounds: lower limit of group '0-19' is -1"),
        ({"bounds": 0.5}, "bounds=0.5 must be a pair"),
    ],
)
def test_a_wrong_parameter_is_refused_in_one_line_that_names_it(options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        FluODE(**options)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0.1] * 4, "5 entries"),
        ([0, 0, 1.2, 0, 0], "'50-64' is 1.2, outside its bounds 0..1"),
        ([1] * 5, "outside the constraint's limits"),
    ],
)
def test_a_policy_outside_is_refused_and_never_projected(policy, message):
    with pytest.raises(ValueError, match=message):
        FluODE().step(policy)


def test_expected_wants_finite_rows_of_the_right_length():
    env = FluODE()
    with pytest.raises(ValueError, match="row 1"):
        env.expected([[0] * 5, [0, 0, np.nan, 0, 0]])
    with pytest.raises(ValueError, match=r"\(n, 5\)"):
        env.expected([0.0] * 5)
    assert env.expected(np.empty((0, 5))).shape == (0, 5)


def test_the_word_none_lifts_the_budget_as_none_does():
    assert FluODE(budget="none").policy_space.constraint is None
    assert FluODE(budget=None).policy_space.constraint is None
    assert FluODE().policy_space.constraint is not None
