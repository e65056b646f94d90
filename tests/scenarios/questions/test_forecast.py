"""The next hours: forecasts by scikit-learn from what was read by then, and a skill by number."""

import json

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor

from scenarios import UserError, load, run
from scenarios.questions import forecaster
from scenarios.questions.forecast import forecast, measured, timed
from scenarios.questions.forecaster import Forecaster
from scenarios.study.records import StoredRound
from scenarios.trial.trial import replay
from simulators.stations.sphere import points_on_sphere

TEXT = """
name = "hours"
rounds = {rounds}
trials = 1
seed = 3
agents = ["d-gpucb", "gp-ucb", "random"]
[environment]
name = "{environment}"
options = {{ sensors = 40 }}
[prior]
samples = 60
restarts = 0
"""


def studied(folder, environment="weather-live", rounds=40):
    path = folder / f"{environment}.toml"
    path.write_text(TEXT.format(environment=environment, rounds=rounds))
    return run(load(path), out=folder / f"{environment}.study.sqlite")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Kernels are learned from few readings, to save time."""
    monkeypatch.setattr(forecaster, "SAMPLES", 80)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return studied(tmp_path_factory.mktemp("hours"))


@pytest.fixture(scope="module")
def world(study):
    return replay(study.scenario, 1, "d-gpucb", study.world(1), study.history(1, "d-gpucb"))


def reading(number, row, objective, expected=None):
    empty = dict.fromkeys(StoredRound._fields)
    told = {"round": number, "row": row, "objective": objective, "expected": expected, "status": "ok"}
    return StoredRound(**empty | told)


class Fixed:
    """Forecasts 10 everywhere, give or take 2."""

    def tell(self, row, hour, one):
        pass

    def objective(self, row, hour):
        return 10.0, 8.0, 12.0


def test_a_skill_is_that_of_the_hand():
    values = [11.0, 14.0, 13.0, None, 9.0, 12.0, 16.0]
    rows = [0, 1, 0, 0, 1, 0, 1]
    truth = [11.5, 14.5, 12.5, 12.0, 8.5, 11.0, 15.0]
    rounds = [
        (float(t), reading(t + 1, row, value, exact))
        for t, (row, value, exact) in enumerate(zip(rows, values, truth, strict=True))
    ]
    one, two = measured(Fixed(), rounds, 2)
    # An hour ahead, hours 2, 4, 5, 6 have an earlier reading of their station: 11, 14, 13, 9.
    assert one.rounds == 4 and one.skill is None  # too few to tell
    assert one.rmse == pytest.approx(np.sqrt((9 + 1 + 4 + 36) / 4))
    assert one.persistence_rmse == pytest.approx(np.sqrt((4 + 25 + 1 + 49) / 4))
    # Six hours were forecast; the truth of hours 3, 4, 5 lies in 8..12.
    assert (one.forecast, one.covered) == (6, 0.5)
    # Two hours ahead, hour 2 persists from hour 0, and hours 4, 5, 6 from 1, 2, 4.
    assert two.rounds == 4 and two.persistence_rmse == pytest.approx(one.persistence_rmse)
    assert two.forecast == 5

    more = [(t + 7.0 * k, reading(1, one.row, one.objective)) for k in range(3) for t, one in rounds]
    many = measured(Fixed(), more, 1)[0]
    assert many.rounds >= 5 and many.covered is None
    assert many.skill == pytest.approx(1 - (many.rmse / many.persistence_rmse) ** 2)


def test_readings_of_one_hour_are_all_known_before_the_next_is_forecast():
    class Counting(Fixed):
        told = 0

        def tell(self, row, hour, one):
            self.told += 1

        def objective(self, row, hour):
            assert self.told in (2, 4)
            return super().objective(row, hour)

    rounds = [(hour, reading(1, row, 10.0)) for hour in (0.0, 1.0, 2.0) for row in (0, 1)]
    assert measured(Counting(), rounds, 1)[0].rounds == 4


@pytest.mark.parametrize("kernel", ["climate", "matern-3/2"])
def test_a_forecast_is_the_posterior_of_what_was_read_by_then(study, world, kernel):
    environment, _ = world
    made = Forecaster(environment, kernel)
    rounds = timed(study, study.history(1, "d-gpucb"))
    assert [hour for hour, _ in rounds] == list(range(40))
    for hour, one in rounds[:20]:
        made.tell(one.row, hour, one)
    row, then = 7, 23.0
    found = made.readings(row, then)

    def seen(row, hour):
        return [*(points_on_sphere(*environment.policy_space.candidates[row]) / 1000.0), hour]

    for j, process in enumerate(made.groups):
        known = [(hour, one) for hour, one in rounds[:20] if one.outcomes[j] is not None]
        X = np.array([seen(one.row, hour) for hour, one in known])
        y = np.array([one.outcomes[j] for _, one in known])
        mean = environment.set_aside[1][
            np.sort(np.random.default_rng(0).permutation(len(environment.set_aside[1]))[:80]), j
        ].mean()
        noise = environment.noise_variances[j]
        oracle = GaussianProcessRegressor(process.kernel, alpha=noise, optimizer=None).fit(X, y - mean)
        expected, deviation = oracle.predict([seen(row, then)], return_std=True)
        assert found[j][0] == pytest.approx(expected[0] + mean, abs=1e-5)
        assert found[j][2] - found[j][1] == pytest.approx(2 * 1.96 * deviation[0], rel=1e-4)


def test_the_objective_of_a_forecast_is_composed_of_its_readings(study, world):
    environment, _ = world
    made = Forecaster(environment)
    rounds = timed(study, study.history(1, "d-gpucb"))
    for hour, one in rounds:
        made.tell(one.row, hour, one)
    row = rounds[-1][1].row
    mean, low, high = made.objective(row, 40.0)
    ends = np.array(made.readings(row, 40.0))
    draws = np.random.default_rng(1).standard_normal((20_000, 3))
    felt = environment.compose(ends[:, 0] + (ends[:, 2] - ends[:, 0]) / 1.96 * draws, np.full(20_000, row))
    assert mean == pytest.approx(felt.mean(), abs=0.05 * felt.std())
    np.testing.assert_allclose([low, high], np.quantile(felt, [0.025, 0.975]), atol=0.2 * felt.std())
    means, variances = made.moments(np.arange(40), 40.0)
    assert means.shape == variances.shape == (40, 3)
    worth = [made.objective(row, 40.0)[0] for row in range(40)]
    assert worth[made.best(40.0)] >= max(worth) - 1.0  # by fewer samples


def test_a_forecast_knows_the_climate_of_a_place_and_the_time_of_day(study):
    found = forecast(study, hours=3, agent="gp-ucb")
    product = forecast(study, hours=3, agent="gp-ucb", kernel="matern-3/2")
    for one, other in zip(found.skills, product.skills, strict=True):
        assert one.rmse < other.rmse and one.rounds == other.rounds >= 5
        assert one.persistence_rmse == other.persistence_rmse
        assert one.skill > 0.2 and one.covered > 0.8
    assert [one.hours for one in found.hours] == [1, 2, 3]
    assert [one.time for one in found.hours] == [40.0, 41.0, 42.0]


def test_the_station_of_a_forecast_is_the_one_that_is_recommended(study, policyloop):
    advice = next(one for one in study.recommendations() if one.agent == "gp-ucb")
    code, out, _ = policyloop("forecast", study.path, "--agent", "gp-ucb", "--hours", 2, "--format", "json")
    told = json.loads(out)
    assert code == 0 and [one["hours"] for one in told["hours"]] == [1, 2] and told["trial"] == 1
    first = told["hours"][0]["recommended"]
    assert first["policy"] == advice.policy
    assert first["station"]["id"] == study.environment.station(advice.policy).id
    assert first["low"] < first["mean"] < first["high"] and set(first["groups"]) == set(told["units"])
    assert told["hours"][0]["best"]["mean"] >= first["mean"] - 0.5
    code, out, _ = policyloop("forecast", study.path, "--agent", "gp-ucb", "--hours", 2)
    assert code == 0 and first["station"]["id"] in out and "RMSE of persistence" in out


def test_what_cannot_be_forecast_is_one_line(study, policyloop, tmp_path):
    with pytest.raises(UserError, match="--hours 0; accepted: 1 to 72"):
        forecast(study, hours=0)
    with pytest.raises(UserError, match="--kernel cubic; accepted: climate, rbf"):
        forecast(study, kernel="cubic")
    with pytest.raises(UserError, match="--agent nobody; accepted: d-gpucb, gp-ucb"):
        forecast(study, agent="nobody")
    with pytest.raises(UserError, match="--trial 2; accepted: 1 to 1"):
        forecast(study, trial=2)
    still = studied(tmp_path, "weather", rounds=3)
    code, _, error = policyloop("forecast", still.path)
    assert code == 2 and error.count("\n") == 1 and "no network of stations in a weather that lives" in error
