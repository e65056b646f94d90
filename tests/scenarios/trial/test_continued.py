"""A study that continues from another begins with its rounds learned, whatever was asked there."""

import numpy as np
import pytest
from studies import assert_same

import scenarios
from optimizer.agents.gp_agent import GPAgent
from scenarios.study.evidence import evidence
from scenarios.trial.world import World

TEXT = """
name = "{name}"
rounds = {rounds}
trials = 2
seed = {seed}
agents = ["d-ei", "gp-ucb", "random"]
{asked}
[environment]
name = "valley"
new_world_each_trial = {apart}
[prior]
samples = 0
"""


def declared(folder, name, asked="", rounds=7, seed=3, apart="false", more=""):
    path = folder / f"{name}.toml"
    path.write_text(TEXT.format(name=name, asked=asked, rounds=rounds, seed=seed, apart=apart) + more)
    return scenarios.load(path)


@pytest.fixture
def first(tmp_path):
    return scenarios.run(declared(tmp_path, "first"), out=tmp_path / "first.sqlite")


def test_agents_begin_with_what_was_observed(first, tmp_path):
    asked = f'continue_from = "{first.path}"\nweights = {{ right = 3.0 }}'
    plan = declared(tmp_path, "second", asked, rounds=3)
    world = World.of(plan, 1)
    agent = world.loop("d-ei", scenarios.study.records.WorldRecord(None, {}, None)).agent
    assert isinstance(agent, GPAgent)
    rounds = [one for trial in (1, 2) for one in first.history(trial, "d-ei")]
    np.testing.assert_array_equal(agent.belief.history.Y, [one.outcomes for one in rounds])
    aggregate = world.loop("gp-ucb", scenarios.study.records.WorldRecord(None, {}, None)).agent
    values = np.array([one.outcomes for one in rounds]) @ [1.0, 3.0]
    np.testing.assert_allclose(aggregate.belief.history.Y[:, 0], values)


def test_the_new_question_is_answered_from_the_first_round_on(first, tmp_path):
    asked = f'continue_from = "{first.path}"\nweights = {{ right = 3.0 }}'
    study = scenarios.run(declared(tmp_path, "second", asked, rounds=3), out=tmp_path / "second.sqlite")
    # f = (x - 0.2)^2 + 3 (x - 0.8)^2 is least at x = 0.65.
    found = [one.policy[0] for one in study.recommendations() if one.agent == "d-ei"]
    np.testing.assert_allclose(found, 0.65, atol=0.03)
    assert study.history(1, "d-ei")[0].regret < 0.01


def test_it_resumes_to_the_same_end(first, tmp_path):
    asked = f'continue_from = "{first.path}"'
    whole = scenarios.run(declared(tmp_path, "second", asked, rounds=5), out=tmp_path / "whole.sqlite")
    scenarios.run(declared(tmp_path, "second", asked, rounds=3), out=tmp_path / "parts.sqlite")
    parts = scenarios.run(
        declared(tmp_path, "second", asked, rounds=5), out=tmp_path / "parts.sqlite", resume=True
    )
    assert_same(parts, whole)


def test_worlds_of_their_own_continue_trial_by_trial(tmp_path):
    first = scenarios.run(declared(tmp_path, "first", apart="true"), out=tmp_path / "first.sqlite")
    plan = declared(tmp_path, "second", f'continue_from = "{first.path}"', rounds=2, apart="true")
    world = World.of(plan, 2)
    assert world.earlier is not None and world.earlier.trials == [2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"more": "[environment.options]\nfail_at = [3]"}, "another world"),
        ({"apart": "true"}, "new_world_each_trial"),
    ],
)
def test_a_study_of_another_world_is_refused(first, tmp_path, changes, words):
    changes = dict(changes)
    more = changes.pop("more", "")
    plan = declared(tmp_path, "second", f'continue_from = "{first.path}"', **changes)
    if more:
        options = {**plan.environment.options, "fail_at": [3]}
        plan = plan.model_copy(
            update={"environment": plan.environment.model_copy(update={"options": options})}
        )
    with pytest.raises(scenarios.UserError, match=words):
        scenarios.run(plan, out=tmp_path / "second.sqlite")
    assert not (tmp_path / "second.sqlite").exists()


def test_the_command_line_takes_the_study(first, tmp_path, policyloop):
    declared(tmp_path, "second", rounds=2)
    words = ["run", tmp_path / "second.toml", "--out", tmp_path / "second.sqlite", "--quiet"]
    code, _, err = policyloop(*words, "--continue-from", first.path)
    assert code == 0, err
    assert scenarios.Study(tmp_path / "second.sqlite").scenario.continue_from == str(first.path)
    code, _, err = policyloop(*words, "--force", "--continue-from", tmp_path / "none.sqlite")
    assert code == 2 and "none.sqlite" in err and len(err.strip().splitlines()) == 1


def test_a_question_is_answered_with_the_rounds_continued_from(first, tmp_path):
    asked = f'continue_from = "{first.path}"'
    study = scenarios.run(declared(tmp_path, "second", asked, rounds=2), out=tmp_path / "second.sqlite")
    (answer,) = scenarios.what_if(study, weights=["right=3"])
    assert answer.rounds == 2 * 7 + 2 * 2 and answer.best.policy["x"] == pytest.approx(0.65, abs=0.03)
    first.path.rename(tmp_path / "gone.sqlite")
    (found,) = evidence(study)
    assert found.forgotten and len(found.rounds) == 4


@pytest.mark.slow
def test_rounds_of_what_is_continued_do_not_share_their_noise(tmp_path):
    """Of the same seed, for three studies in a row: no two observations of the groups err alike."""
    last, errors = None, []
    for name in ("first", "second", "third"):
        asked = "" if last is None else f'continue_from = "{last}"'
        study = scenarios.run(declared(tmp_path, name, asked), out=tmp_path / f"{name}.sqlite")
        last = study.path
        errors += [
            np.subtract(one.outcomes, one.expected_outcomes)
            for trial in (1, 2)
            for one in study.history(trial, "d-ei")
        ]
    assert np.ptp(errors, axis=0).min() > 0  # the valley is noisy
    apart = np.abs(np.array(errors)[:, None] - np.array(errors)).max(axis=2)
    assert apart[~np.eye(len(errors), dtype=bool)].min() > 1e-12
