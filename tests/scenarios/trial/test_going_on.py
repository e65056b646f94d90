"""A study goes on from what agents had learned, in the world it was made in, or says what has changed."""

import contextlib
import json
import sqlite3

import numpy as np
import pytest
from studies import assert_same

import bridges
import simulators
from optimizer.prior.learned import Learned
from optimizer.prior.own_rounds import OwnRounds
from scenarios import UserError, load, run
from scenarios.study import inputs
from scenarios.study.checksums import seal_all
from scenarios.study.info import CAP, plain_info, read_info
from scenarios.study.store import Store
from scenarios.study.study import Study

LEARNING = """
name = "learning"
rounds = 9
trials = 1
seed = 4
batch = {batch}
agents = ["d-gpucb", "gp-ucb", "d-ts", "random"]
[environment]
name = "valley"
[prior]
samples = 0
"""


@pytest.fixture(params=[1, 2])
def scenario(request, tmp_path):
    path = tmp_path / "learning.toml"
    path.write_text(LEARNING.format(batch=request.param))
    return path


def shorten(study, rounds):
    """What a study was after some rounds of every trial."""
    with contextlib.closing(sqlite3.connect(study)) as connection, connection:
        for table in ("rounds", "details"):
            connection.execute(f"DELETE FROM {table} WHERE round > ?", (rounds,))
        connection.execute("DELETE FROM recommendations")


def test_a_study_goes_on_from_what_was_learned_to_the_same_end(scenario, tmp_path, monkeypatch):
    whole = run(load(scenario), out=tmp_path / "whole.sqlite")
    path = run(load(scenario, {"rounds": 8}), out=tmp_path / "s.sqlite").path
    learned, original = [], OwnRounds.learn

    def noting(self, X, Y, noise, **options):
        learned.append(len(Y))
        return original(self, X, Y, noise, **options)

    monkeypatch.setattr(OwnRounds, "learn", noting)
    assert_same(run(load(scenario), out=path, resume=True), whole)
    # Of the eight rounds only the last batch is learned from again, since it is asked for again.
    assert set(learned) <= {7, 8, 9}


def test_kernels_of_every_learning_are_kept_and_all_of_the_last_two(scenario, tmp_path):
    study = run(load(scenario), out=tmp_path / "s.sqlite")
    kernels, learned = study.details("kernels"), study.details("learned")
    assert {one.agent for one in kernels} == {"d-gpucb", "gp-ucb", "d-ts"}
    rounds = [one.round for one in kernels if one.agent == "d-gpucb"]
    assert rounds[0] <= 6 and rounds[-1] == 9 and len(rounds) >= 2
    assert [one.round for one in learned if one.agent == "d-gpucb"] == rounds[-2:]
    last = Learned.from_dict(learned[-1].value)
    assert len(last.mixture().components) == 24
    assert len(Learned.from_dict(kernels[-1].value).mixture().components) == 1


def test_a_policy_that_is_not_the_one_asked_for_is_named_and_refused(scenario, tmp_path):
    path = run(load(scenario, {"rounds": 8}), out=tmp_path / "s.sqlite").path
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        changed = "UPDATE rounds SET policy = '[0.123]' WHERE agent = 'random' AND round = 8"
        connection.execute(changed)
        seal_all(connection)
    with pytest.raises(UserError, match=r"random: round 8 is stored with policy \[0\.123\], but .* asks for"):
        run(load(scenario), out=path, resume=True)
    assert len(Study(path).rounds()) <= 36
    assert len(run(load(scenario), out=path, resume=True, accept_changes=True).rounds()) == 36


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"agents": -1}, "agents of version -1"),
        ({"platform": "Plan9 vax"}, "run on Plan9 vax, now on"),
        ({"packages": {"numpy": "0.1"}}, "numpy 0.1, now "),
        ({"files": {"/data/gone.csv": "0" * 64}}, "/data/gone.csv is gone"),
    ],
)
def test_what_has_changed_is_named_and_refused_unless_accepted(change, words, tmp_path, policyloop):
    scenario = tmp_path / "learning.toml"
    scenario.write_text(LEARNING.format(batch=1).replace('"d-gpucb", "gp-ucb", "d-ts", ', '"gp-ucb", '))
    path = run(load(scenario, {"rounds": 4}), out=tmp_path / "s.sqlite").path
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        stored = json.loads(connection.execute("SELECT inputs FROM runs").fetchone()[0])
        connection.execute("UPDATE runs SET inputs = ?", (json.dumps(stored | change),))
        seal_all(connection)
    assert policyloop("resume", path)[0] == 0  # nothing is left to do
    code, _, error = policyloop("resume", path, "--rounds", 9)
    assert code == 2 and words in error and error.count("\n") == 1
    assert policyloop("resume", path, "--rounds", 9, "--accept-changes")[0] == 0
    assert words in Study(path).runs[-1]["accepted"][0]
    assert words in policyloop("show", path)[1]
    assert policyloop("resume", path, "--rounds", 10)[0] == 0


def test_a_data_file_and_a_models_code_are_known_by_their_content(tmp_path):
    (tmp_path / "beside.py").write_text("x = 1\n")
    (tmp_path / "model.py").write_text("import beside\nclass Clinic: pass\n")
    (tmp_path / "d.csv").write_text("1")
    text = (
        'name = "s"\nrounds = 1\ntrials = 1\nagents = ["random"]\n[environment]\nname = "model.py:Clinic"\n'
        f'options = {{ data = "{tmp_path / "d.csv"}", time = "12:00", folder = "." }}\n'
    )
    (tmp_path / "s.toml").write_text(text)
    before = inputs.inputs_of(load(tmp_path / "s.toml"))
    assert {path.rpartition("/")[2] for path in before["files"]} == {"beside.py", "model.py", "d.csv"}
    assert inputs.input_changes(before, before) == []
    (tmp_path / "beside.py").write_text("x = 2\n")
    (tmp_path / "d.csv").unlink()
    now = inputs.inputs_of(load(tmp_path / "s.toml"))
    assert sorted(inputs.input_changes(before, now)) == [
        f"{tmp_path / 'beside.py'} has changed",
        f"{tmp_path / 'd.csv'} is gone",
    ]


def test_what_a_simulator_says_of_its_step_is_kept_with_the_round(tmp_path):
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 2\ntrials = 1\nagents = ["random"]\n[environment]\nname = "flu-ode"\n'
        "options = { days = 50 }\n[prior]\nsamples = 0\n"
    )
    study = run(load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
    one = study.rounds()[1]
    environment = simulators.make("flu-ode", days=50)
    info = environment.step(np.array(one.policy)).info
    stored = study.details("info")
    assert [detail.round for detail in stored] == [1, 2]
    kept = read_info(stored[1].value)
    assert kept.keys() == info.keys()
    np.testing.assert_allclose(kept["infected"], info["infected"], rtol=1e-6)
    np.testing.assert_allclose(one.expected_outcomes, environment.expected([one.policy])[0])
    limited = (tmp_path / "s.toml").read_text().replace("[prior]", "step_seconds = 60\n[prior]")
    (tmp_path / "t.toml").write_text(limited)
    apart = run(load(tmp_path / "t.toml"), out=tmp_path / "t.sqlite")
    assert apart.details("info") == stored  # whoever takes the step
    (tmp_path / "u.toml").write_text("keep_info = false\n" + (tmp_path / "s.toml").read_text())
    assert run(load(tmp_path / "u.toml"), out=tmp_path / "u.sqlite").details("info") == []


def test_info_that_no_study_can_keep_is_left_out_and_said_once(caplog):
    info = {"model": object(), "nan": float("nan"), "curve": np.arange(20), "huge": "x" * (CAP + 1)}
    for _ in range(2):
        kept = plain_info({**info, "deep": {"a": np.float64(0.5)}, 3: (1, True)})
        assert kept.keys() == {"nan", "curve", "deep", "3"} and kept["nan"] is None
        np.testing.assert_array_equal(read_info(kept)["curve"], np.arange(20))
    assert len(caplog.records) == 2


def test_an_agent_refuses_what_another_kind_of_agent_learned():
    environment = simulators.make("flu-ode")
    agent = bridges.make_agent("d-gpucb", environment, seed=1)
    other = bridges.make_agent("gp-ucb", environment, seed=1)
    rng = np.random.default_rng(0)
    for x in bridges.search_space(environment).sample(12, rng):
        agent.tell([x], environment.step(x).values[None])
    with pytest.raises(ValueError, match="5 groups"):
        other.recall(agent.learned)
    with pytest.raises(ValueError, match="nothing that was learned"):
        Learned.from_dict({"family": "rbf"})


@pytest.mark.parametrize("after", ["log_run", "set_meta"])
def test_a_run_that_is_killed_while_it_begins_leaves_a_study_that_can_begin_again(
    after, scenario, tmp_path, monkeypatch
):
    original = getattr(Store, after)

    def killed(self, *values):
        original(self, *values)
        self.paid = True  # so that the file stays, as after a kill
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, after, killed)
    with pytest.raises(KeyboardInterrupt):
        run(load(scenario), out=tmp_path / "s.sqlite")
    monkeypatch.undo()
    assert (tmp_path / "s.sqlite").exists()
    study = run(load(scenario), out=tmp_path / "s.sqlite", resume=True)
    assert len(study.rounds()) == 36 and len(study.runs) == 2
