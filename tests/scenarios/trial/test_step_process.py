"""A step that fails in any way costs its round, and nothing else."""

import os
import time

import psutil
import pytest
from studies import results, start, wait_for_rounds

from scenarios import UserError, load, run
from scenarios.trial.step_process import StepProcesses

LIMIT = "step_seconds = 1.0"


@pytest.mark.parametrize(
    ("fault", "limits", "words"),
    [
        ("raise", LIMIT, "ZeroDivisionError: two lines of trouble (policy"),
        ("raise", "", "ZeroDivisionError: two lines of trouble (policy"),
        ("nan", LIMIT, "every outcome is nan"),
        ("hang", LIMIT, "the step took longer than 1 s and was stopped"),
        ("exit", "", "SimulationError: the simulator asked to exit with code 3"),
        ("exit", LIMIT, "the simulator's process ended with exit code 3"),
        ("segfault", LIMIT, "the simulator's process was killed (SIGSEGV)"),
        ("eaten", LIMIT, "the simulator's process was killed (SIGKILL): out of memory?"),
        ("eat", "step_megabytes = 700", "MemoryError"),
    ],
)
def test_a_step_that_fails_costs_its_round_alone(fault, limits, words, faulty, tmp_path):
    healthy = run(load(faulty(rounds=8)), out=tmp_path / "healthy.sqlite")
    path = faulty(limits, rounds=8, options=f'fault = "{fault}"')
    study = run(load(path), out=tmp_path / "s.sqlite")
    failed = [one.round for one in study.failures]
    assert 0 < len(failed) < 8
    assert all(words in one.error and "\n" not in one.error for one in study.failures)
    rest = [[one for one in results(which)[1] if one.round not in failed] for which in (study, healthy)]
    assert rest[0] == rest[1]


def test_a_simulator_that_kills_worker_after_worker_is_told_of_the_limit_that_helps(faulty, tmp_path):
    path = faulty(trials=2, options='fault = "segfault"')
    process = start("run", path, "--out", tmp_path / "s.sqlite", "--jobs", 2, "--rounds", 20)
    _, error = process.communicate(timeout=100)
    assert process.returncode == 1 and "a worker process died" in error and "Traceback" not in error
    assert "it happened 3 times in a row (in trial 1 of random or trial 2 of random)" in error
    assert "step_seconds in [environment], or --step-timeout" in error


def test_limits_change_no_result_and_may_change_when_a_study_goes_on(faulty, tmp_path):
    plain = run(load(faulty(rounds=6)), out=tmp_path / "plain.sqlite")
    limited = tmp_path / "limited.sqlite"
    run(load(faulty("step_seconds = 30.0", rounds=3)), out=limited)
    grown = run(load(faulty("step_megabytes = 4000", rounds=6)), out=limited, resume=True)
    assert results(grown)[1:] == results(plain)[1:]


def test_kernels_are_learned_within_the_limits_too(faulty, caplog, tmp_path):
    agents = {"agents": '["gp-ucb"]', "samples": 12, "rounds": 2}
    free = run(load(faulty(**agents)), out=tmp_path / "free.sqlite")
    limited = run(load(faulty(LIMIT, **agents)), out=tmp_path / "limited.sqlite")
    assert limited.worlds == free.worlds and results(limited)[1] == results(free)[1]
    with caplog.at_level("WARNING"):
        study = run(load(faulty(LIMIT, options='fault = "hang"', **agents)), out=tmp_path / "s.sqlite")
    assert "of 12 samples failed and are left out; the last: the step took longer than 1 s" in caplog.text
    assert len(study.to_dataframe()) == 2


def test_the_time_limit_is_an_option_of_the_command_line(faulty, policyloop, tmp_path):
    path = faulty(options='fault = "hang"', rounds=3)
    code, _, error = policyloop("run", path, "--step-timeout", 0.5, "--out", tmp_path / "s.sqlite", "--quiet")
    assert code == 1 and "took longer than 0.5 s" in error
    code, _, error = policyloop("run", path, "--step-timeout", 0, "--out", tmp_path / "t.sqlite")
    assert code == 2 and "--step-timeout = 0" in error and error.count("\n") == 1


def test_an_environment_with_memory_is_refused_limits_and_batches(scenario_file, tmp_path):
    for limits, head in ((LIMIT, ""), ("", "batch = 2\n")):
        path = scenario_file(environment="weather-live", agents='["random"]', samples=0)
        path.write_text(head + path.read_text().replace("[prior]", f"{limits}\n[prior]"))
        with pytest.raises(UserError, match=r"(batch|step_seconds).*accepted only without memory"):
            run(load(path), out=tmp_path / "s.sqlite")


def test_batches_are_spread_over_processes_and_end_the_same_however_cut(faulty, tmp_path):
    settings = {"rounds": 10, "agents": '["d-gpucb", "random"]', "samples": 12}
    path = faulty(head="batch = 4\n", **settings)
    whole = run(load(path), out=tmp_path / "whole.sqlite")
    assert whole.scenario.batch == 4
    paths = whole.to_dataframe().pivot(index="round", columns="agent", values="x_x")
    assert paths.nunique().tolist() == [10, 10]  # the policies of a batch differ
    spread = run(load(path), out=tmp_path / "spread.sqlite", jobs=4)
    assert results(spread)[1:] == results(whole)[1:]
    grown = tmp_path / "grown.sqlite"
    for rounds in (3, 6, 10):  # cut inside a batch
        run(load(path, {"rounds": rounds}), out=grown, resume=True)
    assert results(run(load(path), out=grown, resume=True))[1:] == results(whole)[1:]


def test_the_steps_of_a_batch_take_place_at_the_same_time(faulty, tmp_path):
    log = tmp_path / "log"
    path = faulty(head="batch = 3\n", rounds=3, options=f'pause = 1.0, log = "{log}"')
    spec = load(path).environment
    with StepProcesses(spec, spec.options, count=3) as steps:
        began = time.monotonic()
        first = next(iter(steps.take([(1, [0.1]), (2, [0.2]), (3, [0.3])])))
        assert first.seconds >= 1 and len(log.read_text().split()) == 3
        assert time.monotonic() - began < 60


def test_no_child_process_outlives_its_run(faulty, tmp_path):
    path = faulty(LIMIT.replace("1.0", "60.0"), rounds=1000, options="pause = 0.05")
    out = tmp_path / "s.sqlite"
    process = start("run", path, "--out", out, "--quiet")
    wait_for_rounds(process, out, 3)
    children = psutil.Process(process.pid).children(recursive=True)
    assert any("step_child" in " ".join(child.cmdline()) for child in children)
    os.kill(process.pid, 9)
    process.communicate()
    assert psutil.wait_procs(children, timeout=10)[1] == []
