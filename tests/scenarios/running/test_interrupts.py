"""Ctrl-C once finishes the rounds in flight; twice ends the run at once."""

import os
import re
import signal
import time

import pytest
from studies import assert_same, start, wait_for_rounds

from scenarios import load, run
from scenarios.study.study import Study


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_once_loses_no_round_in_flight(jobs, faulty, tmp_path):
    out, log = tmp_path / "s.sqlite", tmp_path / "log"
    path = faulty(trials=2, rounds=200, options=f'pause = 0.4, log = "{log}"')
    process = start("run", path, "--out", out, "--jobs", jobs)
    wait_for_rounds(process, out, 3)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in error
    assert "finishing the rounds in flight; Ctrl-C again stops at once" in error
    kept = Study(out).rounds()
    assert len(kept) == len(log.read_text().split()) < 100  # every step that began is a round that is stored
    assert f"{len(kept)} rounds are stored" in error and "--resume" in error
    few = load(path, {"rounds": max(one.round for one in kept), "trials": max(one.trial for one in kept)})
    whole = run(few.model_copy(update={"trials": 2}), out=tmp_path / "whole.sqlite")
    values = {(one.trial, one.round): one.outcomes for one in whole.rounds()}
    assert all(values[one.trial, one.round] == one.outcomes for one in kept)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_twice_ends_a_step_that_takes_for_ever(jobs, faulty, tmp_path):
    out = tmp_path / "s.sqlite"
    path = faulty(trials=2, rounds=200, limits="step_seconds = 300.0", options='fault = "hang"')
    process = start("run", path, "--out", out, "--jobs", jobs)
    wait_for_rounds(process, out, 1)
    time.sleep(1)
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(1)
    assert process.poll() is None  # it waits for the step in flight
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and time.monotonic() - began < 30 and "Traceback" not in error
    kept = len(Study(out).rounds())
    assert re.search(rf"stopped; {kept} rounds are stored", error)


def test_an_interrupted_run_goes_on_by_its_study_alone(faulty, policyloop, tmp_path):
    out = tmp_path / "s.sqlite"
    path = faulty(trials=2, rounds=6, options="pause = 0.3")
    process = start("run", path, "--out", out)
    wait_for_rounds(process, out, 2)
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=60)
    path.unlink()
    assert len(Study(out).rounds()) < 12
    assert policyloop("resume", out, "--quiet")[0] == 0
    assert_same(Study(out), run(Study(out).scenario, out=tmp_path / "whole.sqlite"))
