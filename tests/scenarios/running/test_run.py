"""A run ends the same however it was cut, spread or grown."""

import os
import re
import signal
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest
from studies import assert_same, results, start, wait_for_rounds, workers_of

from scenarios import UserError, load, run
from scenarios.study.study import Study


def test_workers_change_nothing(flu, undisturbed, tmp_path):
    spread = run(load(flu), out=tmp_path / "spread.sqlite", jobs=2)
    assert_same(spread, undisturbed)
    assert [path.name for path in tmp_path.iterdir()] == ["spread.sqlite"]


def test_a_killed_run_resumes_to_the_same_end(flu, undisturbed, tmp_path):
    out = tmp_path / "killed.sqlite"
    process = start("run", flu, "--out", out)
    stored = wait_for_rounds(process, out, 17)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = Study(out).to_dataframe()
    assert stored <= len(kept) < 60
    ended = run(load(flu), out=out, resume=True)
    assert_same(ended, undisturbed)
    # The kept rounds were not run again: their times are those of the first run.
    pd.testing.assert_frame_equal(ended.to_dataframe().merge(kept), kept, check_exact=True)


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_ctrl_c_keeps_every_finished_round_and_says_how_to_go_on(jobs, flu, undisturbed, tmp_path):
    out = tmp_path / "stopped.sqlite"
    process = start("run", flu, "--out", out, "--jobs", jobs)
    stored = wait_for_rounds(process, out, 9)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    _, error = process.communicate(timeout=100)
    assert process.returncode == 130, error
    command = f"policyloop run {flu} --out {out} --resume"
    assert (command if jobs == "1" else command.replace("--resume", "--jobs 2 --resume")) in error
    assert "Traceback" not in error
    kept = len(Study(out).to_dataframe())
    assert stored <= kept < 60 and f"{kept} rounds are stored" in error
    assert_same(run(load(flu), out=out, resume=True), undisturbed)
    assert [path.name for path in tmp_path.iterdir()] == ["stopped.sqlite"]


@pytest.mark.slow
@pytest.mark.parametrize("background", [False, True])
def test_sigterm_of_a_scheduler_keeps_every_finished_round_too(background, flu, undisturbed, tmp_path):
    out = tmp_path / "stopped.sqlite"
    process = start("run", flu, "--out", out, background=background)
    wait_for_rounds(process, out, 9)
    process.terminate()
    _, error = process.communicate(timeout=100)
    assert process.returncode == 143 and "--resume" in error and "Traceback" not in error
    assert "a second SIGTERM stops at once" in error and "Ctrl-C" not in error
    assert_same(run(load(flu), out=out, resume=True), undisturbed)
    assert [path.name for path in tmp_path.iterdir()] == ["stopped.sqlite"]


@pytest.mark.slow
def test_ctrl_c_while_the_workers_start_prints_no_traceback(flu, tmp_path):
    process = start("run", flu, "--out", tmp_path / "stopped.sqlite", "--jobs", "2")
    while not workers_of(process):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=100)
    assert process.returncode == 130 and "Traceback" not in error


@pytest.mark.slow
def test_ctrl_c_before_the_first_round_leaves_nothing(flu, tmp_path):
    out = tmp_path / "stopped.sqlite"
    process = start("run", flu, "--out", out, "--samples", "3000")  # minutes of learning
    while not out.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=100)
    assert process.returncode == 130 and "nothing was written" in error and "Traceback" not in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_killed_workers_rounds_are_handed_to_another(flu, undisturbed, tmp_path):
    out = tmp_path / "lost.sqlite"
    process = start("run", flu, "--out", out, "--jobs", "2")
    wait_for_rounds(process, out, 9)
    kept = Study(out).to_dataframe()
    workers_of(process)[0].kill()
    _, error = process.communicate(timeout=100)
    assert process.returncode == 0 and "a worker process died" in error and "Traceback" not in error
    assert re.search(r"\(in trial \d of [\w-]+ or trial \d of [\w-]+\); its rounds are handed", error)
    ended = Study(out)
    assert_same(ended, undisturbed)
    # The kept rounds were not run again: their times are those of the first run.
    pd.testing.assert_frame_equal(ended.to_dataframe().merge(kept), kept, check_exact=True)


@pytest.mark.slow
def test_workers_end_soon_after_a_run_that_is_killed(flu, tmp_path):
    out = tmp_path / "s.sqlite"
    process = start("run", flu, "--out", out, "--jobs", "2", "--rounds", "1", "--samples", "3000")
    while len(found := workers_of(process)) < 2:  # one for each job, with minutes of work or with none
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(1)
    process.kill()
    process.communicate()
    assert psutil.wait_procs(found, timeout=60)[1] == []


def test_a_study_that_grows_is_the_study_that_was_larger_from_the_start(flu, undisturbed, tmp_path):
    out = tmp_path / "grown.sqlite"
    run(load(flu, {"rounds": 5, "trials": 1, "agents": ["random", "gp-ucb"]}), out=out)
    run(load(flu, {"rounds": 10, "trials": 1, "agents": ["gp-ucb", "random"]}), out=out, resume=True)
    assert_same(run(load(flu), out=out, resume=True), undisturbed)
    assert_same(run(load(flu), out=out, resume=True), undisturbed)  # nothing left to do


def test_agents_of_a_trial_share_the_first_policy(undisturbed):
    first = undisturbed.to_dataframe().query("round == 1")
    assert (first.groupby("trial")["x_0-19"].nunique() == 1).all()
    assert (first.groupby("trial")["y_0-19"].nunique() == 1).all()  # and its noise
    assert first["x_0-19"].nunique() == 2


def test_another_scenario_is_refused_with_the_difference(scenario_file, tmp_path):
    out = tmp_path / "s.sqlite"
    first = load(scenario_file(agents='["uniform", "random"]'))
    before = results(run(first, out=out))[1]
    text = Path(scenario_file(agents='["uniform", "random"]')).read_text()
    for old, new, words in [
        ("seed = 3", "seed = 4", ["seed: 3 stored, 4 now"]),
        ("rounds = 4", "rounds = 3", ["rounds: 4 stored, 3 now"]),
        ('["uniform", "random"]', '["uniform"]', ["random is stored"]),
        ("options = {  }", "options = { seed = 1 }", ["environment.options.seed: None stored, 1 now"]),
        ("samples = 10", "samples = 11\nfamily = 'rq'", ["prior.samples: 10 stored, 11 now", "prior.family"]),
    ]:
        assert old in text
        with pytest.raises(UserError) as refusal:
            run(load(scenario_file(text.replace(old, new))), out=out, resume=True)
        assert all(word in str(refusal.value) for word in words)
    assert results(Study(out))[1] == before
    run(load(scenario_file('title = "new words"\n' + text)), out=out, resume=True)


def test_force_replaces_a_study(scenario_file, tmp_path):
    path, out = scenario_file(agents='["uniform"]'), tmp_path / "s.sqlite"
    first = run(load(path), out=out)
    assert_same(run(load(path), out=out, force=True), first)
    assert len(run(load(path, {"trials": 1}), out=out, force=True).to_dataframe()) == 4


def test_a_failing_simulator_does_not_stop_the_study(scenario_file, policyloop, tmp_path):
    path = scenario_file(
        agents='["random", "uniform"]', rounds=20, trials=1, samples=0, options="fail_at = [4, 9]"
    )
    code, out, error = policyloop("run", path, "--out", tmp_path / "s.sqlite", "--quiet")
    assert code == 1  # the study is whole, but not every simulation was
    assert "4 rounds failed" in error and "the pump broke" in error and "policy" in error and "seed" in error
    assert "cumulative regret" in out
    frame = Study(tmp_path / "s.sqlite").to_dataframe()
    assert len(frame) == 40 and (frame["status"] == "failed").sum() == 4


def test_a_simulator_that_always_fails_while_kernels_are_learned_leaves_nothing(
    scenario_file, policyloop, tmp_path
):
    path = scenario_file(options=f"fail_at = {list(range(1, 20))}")
    code, _, error = policyloop("run", path, "--out", tmp_path / "s.sqlite", "--quiet")
    assert code == 1 and "the pump broke" in error and error.count("\n") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["small.toml"]


def test_a_new_world_each_trial_has_its_own_kernels_and_optimum(scenario_file, tmp_path):
    path = scenario_file(new_world="true", agents='["gp-ucb", "uniform"]', trials=3)
    study = run(load(path), out=tmp_path / "s.sqlite")
    assert sorted(study.worlds) == ["1", "2", "3"]
    assert len({world.seed for world in study.worlds.values()}) == 3
    assert len({study.optimum(trial).policy[0] for trial in (1, 2, 3)}) == 3
    assert study.to_dataframe()["regret"].min() > -1e-9
    assert_same(run(load(path), out=tmp_path / "t.sqlite"), study)


def test_names_from_a_file_are_no_markup(scenario_file, policyloop, tmp_path):
    path = scenario_file(agents='[{ name = "uniform", label = "[/bold] [red]x" }]', trials=1)
    code, out, _ = policyloop("run", path, "--out", tmp_path / "s.sqlite")
    assert code == 0 and "[/bold] [red]x" in out


def test_an_agent_may_have_its_own_settings_and_kernel(scenario_file, tmp_path):
    own, bold = 'label = "own kernel", kernel = "own"', 'label = "bold", beta = 50'
    agents = f'["gp-ucb", {{ name = "gp-ucb", {own} }}, {{ name = "gp-ucb", {bold} }}]'
    study = run(load(scenario_file(agents=agents, trials=1)), out=tmp_path / "s.sqlite")
    assert sorted(study.worlds["all"].priors) == ["groups", "own"]
    paths = study.to_dataframe().pivot(index="round", columns="agent", values="x_x")
    assert (paths["bold"] - paths["gp-ucb"]).abs().max() > 1e-6
