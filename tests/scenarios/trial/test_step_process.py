"""A step that fails in any way costs its round, and nothing else."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from studies import eventually, lines, results, start, wait_for_rounds

from scenarios import UserError, load, run
from scenarios.trial.step_process import StepProcesses

LIMIT = "step_seconds = 3.0"
"""Far more than a step takes even on a busy machine. A step that hangs takes as long."""


@pytest.mark.parametrize(
    ("fault", "limits", "words"),
    [
        ("raise", LIMIT, "ZeroDivisionError: two lines of trouble (policy"),
        ("raise", "", "ZeroDivisionError: two lines of trouble (policy"),
        ("nan", LIMIT, "every outcome is nan"),
        ("hang", LIMIT, "the step took longer than 3 s and was stopped"),
        ("exit", "", "SimulationError: the simulator asked to exit with code 3"),
        ("exit", LIMIT, "the simulator's process ended with exit code 3"),
        ("segfault", LIMIT, "the simulator's process was killed (SIGSEGV)"),
        ("eaten", LIMIT, "the simulator's process was killed (SIGKILL): out of memory?"),
        ("eat", "step_megabytes = 700", "MemoryError"),
    ],
)
def test_a_step_that_fails_costs_its_round_alone(fault, limits, words, faulty, tmp_path):
    rounds = 3 if fault == "hang" else 5  # the faults come in rounds 2 and 4
    healthy = run(load(faulty(rounds=rounds)), out=tmp_path / "healthy.sqlite")
    path = faulty(limits, rounds=rounds, options=f'fault = "{fault}"')
    study = run(load(path), out=tmp_path / "s.sqlite")
    failed = [one.round for one in study.failures]
    assert failed == ([2] if fault == "hang" else [2, 4])
    assert all(words in one.error and "\n" not in one.error for one in study.failures)
    rest = [[one for one in results(which)[1] if one.round not in failed] for which in (study, healthy)]
    assert rest[0] == rest[1]


@pytest.mark.slow
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


@pytest.mark.slow
def test_kernels_are_learned_within_the_limits_too(faulty, caplog, tmp_path):
    agents = {"agents": '["gp-ucb"]', "samples": 5, "rounds": 1}
    free = run(load(faulty(**agents)), out=tmp_path / "free.sqlite")
    limited = run(load(faulty(LIMIT, **agents)), out=tmp_path / "limited.sqlite")
    assert limited.worlds == free.worlds and results(limited)[1] == results(free)[1]
    with caplog.at_level("WARNING"):
        study = run(load(faulty(LIMIT, options='fault = "hang"', **agents)), out=tmp_path / "s.sqlite")
    assert "1 of 5 samples failed and are left out; the last: the step took longer than 3 s" in caplog.text
    assert len(study.to_dataframe()) == 1


def test_the_time_limit_is_an_option_of_the_command_line(faulty, policyloop, tmp_path):
    path = faulty(options='fault = "hang"', rounds=3)
    code, _, error = policyloop("run", path, "--step-timeout", 2.5, "--out", tmp_path / "s.sqlite", "--quiet")
    assert code == 1 and "1 round failed" in error and "took longer than 2.5 s" in error
    code, _, error = policyloop("run", path, "--step-timeout", 0, "--out", tmp_path / "t.sqlite")
    assert code == 2 and "--step-timeout = 0" in error and error.count("\n") == 1


def test_an_environment_with_memory_is_refused_limits_and_batches(scenario_file, tmp_path):
    for limits, head in ((LIMIT, ""), ("", "batch = 2\n")):
        path = scenario_file(environment="weather-live", agents='["random"]', samples=0)
        path.write_text(head + path.read_text().replace("[prior]", f"{limits}\n[prior]"))
        with pytest.raises(UserError, match=r"(batch|step_seconds).*accepted only without memory"):
            run(load(path), out=tmp_path / "s.sqlite")


BATCHES = {"rounds": 10, "agents": '["d-gpucb", "random"]', "samples": 12}


def test_batches_end_the_same_however_cut(faulty, tmp_path):
    path = faulty(head="batch = 4\n", **BATCHES)
    whole = run(load(path), out=tmp_path / "whole.sqlite")
    assert whole.scenario.batch == 4
    paths = whole.to_dataframe().pivot(index="round", columns="agent", values="x_x")
    assert paths.nunique().tolist() == [10, 10]  # the policies of a batch differ
    grown = tmp_path / "grown.sqlite"
    for rounds in (3, 6, 10):  # cut inside a batch
        run(load(path, {"rounds": rounds}), out=grown, resume=True)
    assert results(run(load(path), out=grown, resume=True))[1:] == results(whole)[1:]


@pytest.mark.slow
def test_batches_are_spread_over_processes_and_end_the_same(faulty, tmp_path):
    path = faulty(head="batch = 4\n", **BATCHES)
    whole = run(load(path), out=tmp_path / "whole.sqlite")
    spread = run(load(path), out=tmp_path / "spread.sqlite", jobs=4)
    assert results(spread)[1:] == results(whole)[1:]


def test_the_steps_of_a_batch_take_place_at_the_same_time(faulty, tmp_path):
    log, gate = tmp_path / "log", tmp_path / "gate"
    path = faulty(head="batch = 3\n", rounds=3, options=f'log = "{log}", gate = "{gate}"')
    spec = load(path).environment

    def taken(steps):
        return steps.take([(1, [0.1]), (2, [0.2]), (3, [0.3])])

    with StepProcesses(spec, spec.options, count=3) as steps, ThreadPoolExecutor(1) as pool:
        ended = pool.submit(lambda: sorted(one.which for one in taken(steps)))
        eventually(lambda: lines(log) == 3)  # all three have begun
        assert not ended.done()  # and wait for the gate
        gate.touch()
        assert ended.result(60) == [0, 1, 2]


def test_an_interrupt_that_another_thread_receives_ends_the_wait_for_a_step(faulty, tmp_path):
    # Like one that comes just before the main thread begins to wait: no system call is cut short by it.
    log, gate = tmp_path / "log", tmp_path / "gate"
    spec = load(faulty("step_seconds = 120.0", options=f'log = "{log}", gate = "{gate}"')).environment

    def interrupt():
        eventually(lambda: lines(log) == 1)
        signal.raise_signal(signal.SIGINT)

    with StepProcesses(spec, spec.options) as steps, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(interrupt)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            list(steps.take([(1, [0.1])]))
        assert time.monotonic() - began < 100  # not by the step's time limit
        waiting.result(60)


@pytest.mark.slow
def test_no_child_process_outlives_its_run(faulty, tmp_path):
    path = faulty(LIMIT.replace("1.0", "60.0"), rounds=1000, options="pause = 0.05")
    out = tmp_path / "s.sqlite"
    process = start("run", path, "--out", out, "--quiet")
    wait_for_rounds(process, out, 3)
    children = psutil.Process(process.pid).children(recursive=True)
    assert any("step_child" in " ".join(child.cmdline()) for child in children)
    os.kill(process.pid, 9)
    process.communicate()
    assert psutil.wait_procs(children, timeout=60)[1] == []


def test_a_child_that_dies_while_it_waits_to_be_used_again_costs_nothing(faulty):
    spec = load(faulty(LIMIT)).environment
    outcomes = []
    for _ in range(2):
        with StepProcesses(spec, spec.options) as steps:
            [child] = steps._children
            outcomes += [one.outcomes.values.tolist() for one in steps.take([(1, [0.1])])]
        child._process.kill()
        child._process.wait()
    assert outcomes[0] == outcomes[1]
