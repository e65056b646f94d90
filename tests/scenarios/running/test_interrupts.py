"""Ctrl-C once finishes the rounds in flight; twice ends the run at once."""

import os
import re
import signal

import pytest
from studies import assert_same, eventually, lines, start, wait_for_line

from scenarios import load, run
from scenarios.study.study import Study

JOBS = [1, pytest.param(2, marks=pytest.mark.slow)]


def gated(faulty, tmp_path, free, **changes):
    """A scenario whose steps wait for the gate after the first few, the gate, and the log of the steps."""
    gate, log = tmp_path / "gate", tmp_path / "log"
    options = f'log = "{log}", gate = "{gate}", free = {free}'
    return faulty(trials=2, options=options, **changes), gate, log


@pytest.mark.parametrize("jobs", JOBS)
def test_ctrl_c_once_loses_no_round_in_flight(jobs, faulty, tmp_path):
    out = tmp_path / "s.sqlite"
    path, gate, log = gated(faulty, tmp_path, free=3, rounds=200)
    process = start("run", path, "--out", out, "--jobs", jobs)
    eventually(lambda: lines(log) == 3 + jobs, process)
    os.killpg(process.pid, signal.SIGINT)
    wait_for_line(process, "finishing the rounds in flight; Ctrl-C again stops at once")
    gate.touch()
    _, error = process.communicate(timeout=100)
    assert process.returncode == 130 and "Traceback" not in error
    kept = Study(out).rounds()
    assert len(kept) == lines(log) == 3 + jobs  # every step that began is a round that is stored
    assert f"{len(kept)} rounds are stored" in error and "--resume" in error
    whole = run(load(path, {"rounds": max(one.round for one in kept)}), out=tmp_path / "whole.sqlite")
    values = {(one.trial, one.round): one.outcomes for one in whole.rounds()}
    assert all(values[one.trial, one.round] == one.outcomes for one in kept)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_twice_ends_a_step_that_takes_for_ever(jobs, faulty, tmp_path):
    out = tmp_path / "s.sqlite"
    path, _, log = gated(faulty, tmp_path, free=2, rounds=200, limits="step_seconds = 300.0")
    process = start("run", path, "--out", out, "--jobs", jobs)
    eventually(lambda: lines(log) == 2 + jobs, process)
    os.killpg(process.pid, signal.SIGINT)
    wait_for_line(process, "finishing the rounds in flight")
    assert process.poll() is None  # it waits for the steps in flight
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=100)
    assert process.returncode == 130 and "Traceback" not in error
    kept = len(Study(out).rounds())
    assert kept == 2 and re.search(rf"stopped; {kept} rounds are stored", error)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_by_its_study_alone(faulty, policyloop, tmp_path):
    out = tmp_path / "s.sqlite"
    path, gate, log = gated(faulty, tmp_path, free=2, rounds=6)
    process = start("run", path, "--out", out)
    eventually(lambda: lines(log) == 3, process)
    os.killpg(process.pid, signal.SIGTERM)
    wait_for_line(process, "finishing the rounds in flight")
    gate.touch()
    process.communicate(timeout=100)
    path.unlink()
    assert len(Study(out).rounds()) == 3
    assert policyloop("resume", out, "--quiet")[0] == 0
    assert_same(Study(out), run(Study(out).scenario, out=tmp_path / "whole.sqlite"))
