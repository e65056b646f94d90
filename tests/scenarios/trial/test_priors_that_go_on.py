"""Kernels of samples that go on being learned, correlated groups, and the climate: in whole scenarios."""

import numpy as np
import pytest
from studies import assert_same

from scenarios import UserError, forecast, load, run

TEXT = """
name = "s"
rounds = {rounds}
trials = 1
seed = 2
agents = ["d-gpucb", "gp-ucb"]
[environment]
name = "{environment}"
[environment.options]
{options}
[prior]
samples = 40
restarts = 0
{prior}
"""


def scenario(folder, prior, rounds=14, environment="weather", options="sensors = 60"):
    path = folder / "s.toml"
    path.write_text(TEXT.format(prior=prior, rounds=rounds, environment=environment, options=options))
    return load(path)


def learned_of(study):
    return [(one.round, one.agent) for one in study.details("learned")]


def test_kernels_go_on_from_five_rounds_and_a_stopped_study_ends_alike(tmp_path):
    prior = 'family = "matern-1/2"\ngoes_on = true\ncorrelated = true'
    whole = run(scenario(tmp_path, prior), out=tmp_path / "whole.sqlite")
    short = run(scenario(tmp_path, prior, rounds=8), out=tmp_path / "s.sqlite")
    again = run(scenario(tmp_path, prior), out=short.path, resume=True)
    assert_same(whole, again)
    assert {agent for _, agent in learned_of(whole)} == {"d-gpucb", "gp-ucb"}


def test_frozen_kernels_learn_nothing_in_the_trial(tmp_path):
    assert learned_of(run(scenario(tmp_path, 'family = "matern-1/2"'), out=tmp_path / "s.sqlite")) == []


def test_a_study_keeps_how_groups_go_together(tmp_path):
    study = run(scenario(tmp_path, "correlated = true", rounds=3), out=tmp_path / "s.sqlite")
    groups, own = (study.world(1).priors[name] for name in ("groups", "own"))
    R = np.array(groups["correlation"])
    assert R.shape == (3, 3) and R[0, 1] < -0.2 and np.linalg.eigvalsh(R).min() > 0
    assert "correlation" not in own


LIVE = {"environment": "weather-live", "options": "sensors = 30"}


@pytest.mark.parametrize(
    ("prior", "where", "says"),
    [
        ("goes_on = true", LIVE, "prior.goes_on: accepted only where the world does not live"),
        (
            "correlated = true",
            {"environment": "valley", "options": ""},
            "prior.correlated: accepted only where",
        ),
        ('family = "climate"', {}, 'prior.family = "climate" needs a world that lives'),
        ('family = "climate"\ngoes_on = true', LIVE, "goes_on is accepted with neither"),
        ('source = "rounds"\ngoes_on = true', {}, 'goes_on is accepted only with source = "samples"'),
    ],
)
def test_what_cannot_be_is_said_in_one_line(tmp_path, prior, where, says):
    with pytest.raises(UserError, match=says):
        run(scenario(tmp_path, prior, **where), out=tmp_path / "s.sqlite")
    assert not (tmp_path / "s.sqlite").exists()


def test_agents_know_the_climate_and_a_forecast_follows_from_python(tmp_path):
    study = run(scenario(tmp_path, 'family = "climate"', **LIVE), out=tmp_path / "s.sqlite")
    stored = study.world(1).priors["groups"]["kernels"][0]
    assert "ExpSineSquared" in str(stored) and "SpaceTimeKernel" in str(stored)
    found = forecast(study, hours=2)
    assert [one.hours for one in found.hours] == [1, 2]
    assert all(one.best.low < one.best.mean < one.best.high for one in found.hours)
