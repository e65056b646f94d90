"""Trials of one world that learn a prior each, from samples of their own."""

import pytest

import bridges
import simulators
from scenarios import UserError, load, run

TEXT = """
name = "apart"
rounds = 3
trials = 3
seed = 4
agents = ["d-gpucb", "random"]
[environment]
name = "valley"
[prior]
samples = 12
restarts = 0
each_trial = {each}
"""


@pytest.fixture
def studied(scenario_file, tmp_path):
    def made(each, name="s.sqlite", **changes):
        scenario = load(scenario_file(TEXT.format(each=each)), changes)
        return run(scenario, out=tmp_path / name)

    return made


def test_each_trial_learns_from_samples_of_its_own_and_all_share_the_optimum(studied):
    study = studied("true")
    assert sorted(study.worlds) == ["1", "2", "3"]
    for trial in (1, 2, 3):
        learned = bridges.learn_prior(
            simulators.make("valley"),
            family="rbf",
            samples=12,
            restarts=0,
            seed=bridges.seed_sequence(4, trial, "samples"),
        )
        assert study.worlds[str(trial)].priors["groups"] == learned.to_dict()
        assert study.worlds[str(trial)].seed is None
        assert study.optimum(trial) == study.optimum(1)
    assert study.worlds["1"].priors != study.worlds["2"].priors
    # All else of a trial is as before: an agent that does not learn sees no difference.
    shared = studied("false", "shared.sqlite")
    theirs, ours = (
        one.to_dataframe().query("agent == 'random'").drop(columns="seconds") for one in (shared, study)
    )
    assert theirs.equals(ours)


def test_more_trials_leave_those_before_as_they_were(studied):
    assert studied("true", trials=2).worlds.items() < studied("true", "more.sqlite").worlds.items()


@pytest.mark.parametrize("prior", ['source = "rounds"\neach_trial = true', "samples = 0\neach_trial = true"])
def test_a_prior_that_is_not_learned_from_samples_cannot_be_learned_each_trial(scenario_file, prior):
    text = TEXT.format(each="true").partition("[prior]")[0] + "[prior]\n" + prior
    with pytest.raises(UserError, match="each_trial is accepted only with source"):
        load(scenario_file(text))


def test_the_report_says_where_all_trials_share_one_prior(studied, policyloop):
    words = "All trials share one learned prior: intervals leave its luck out; prior.each_trial = true draws"
    for each, said in (("false", True), ("true", False)):
        study = studied(each, f"{each}.sqlite")
        assert (words in " ".join(policyloop("compare", study.path)[1].split())) == said
