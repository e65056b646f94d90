"""A full disk, a locked file, damage, an old version, a clock set back: no stored round is lost."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from studies import assert_same, start

from scenarios import UserError, load, run
from scenarios.study import file
from scenarios.study.checksums import seal_all
from scenarios.study.store import Store, WriterLock
from scenarios.study.study import Study

ROOT = Path(__file__).parents[3]

OLD = Path(__file__).parents[1] / "old"


@pytest.fixture
def whole(scenario_file, tmp_path):
    return run(load(scenario_file()), out=tmp_path / "whole.sqlite")


@pytest.fixture
def half(scenario_file, tmp_path):
    return run(load(scenario_file(), {"rounds": 2}), out=tmp_path / "half.sqlite").path


@pytest.fixture(params=[1, 2])
def old(request, tmp_path):
    """A study of flu, six rounds of ten, as earlier versions wrote it."""
    return Path(shutil.copy(OLD / f"schema_{request.param}.study.sqlite", tmp_path / "old.sqlite"))


def version_of(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_an_old_study_is_read_as_it_is(old, policyloop):
    before = old.read_bytes()
    study = Study(old)
    frame = study.to_dataframe()
    assert frame["status"].tolist() == ["ok"] * 18 and frame["regret"].between(0, 10).all()
    assert [one["began"] for one in study.runs] == [study.meta["created"]]
    assert len(study.recommendations()) == 3 and study.world(1).priors
    for command in ("show", "compare", "plot", "export"):
        code, out, error = policyloop(command, old)
        assert code == 0 and out and error == ""
    assert old.read_bytes() == before


def test_an_old_study_goes_on_only_where_that_is_accepted_and_is_upgraded_then(old, policyloop):
    before, frame = version_of(old), Study(old).to_dataframe()
    code, _, error = policyloop("resume", old, "--rounds", 8)
    assert code == 2 and "agents of an earlier version" in error and error.count("\n") == 1
    assert "--accept-changes" in error and len(Study(old).rounds()) == 18
    assert before < file.SCHEMA_VERSION
    code, _, error = policyloop("resume", old, "--rounds", 8, "--accept-changes", "--quiet")
    assert (code, error) == (0, "") and version_of(old) == file.SCHEMA_VERSION
    ended = Study(old)
    pd.testing.assert_frame_equal(
        ended.to_dataframe().query("round <= 6").reset_index(drop=True), frame, check_exact=True
    )
    assert len(ended.rounds()) == 24
    assert ended.runs[-1]["accepted"] == ["it was written by agents of an earlier version"]
    assert "accepted" in policyloop("show", old)[1]


def test_an_upgrade_that_is_killed_leaves_the_old_study(old, monkeypatch):
    before, version = Study(old).rounds(), version_of(old)
    steps = (*file._STEPS[:-1], file._STEPS[-1] + "INSERT INTO nowhere VALUES (1);")
    monkeypatch.setattr(file, "_STEPS", steps)
    with pytest.raises(UserError, match="nowhere"):
        Store(old, resume=True)
    monkeypatch.undo()
    assert version_of(old) == version
    assert Study(old).rounds() == before


def test_an_upgraded_study_has_the_tables_of_a_new_one(old, half):
    Store(old, resume=True).close()
    tables = []
    for path in (old, half):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            tables.append(sorted(connection.execute("SELECT name, sql FROM sqlite_master").fetchall()))
    assert tables[0] == tables[1]


@contextlib.contextmanager
def small_disk(folder):
    """A disk of 300 kB where this process may mount one; None elsewhere."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True, check=False
    )
    try:
        yield folder if mounted.returncode == 0 else None
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", folder], check=True)


LONG = {"rounds": 150, "agents": ["random", "uniform"], "samples": 0}


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_full_disk_ends_the_run_in_words_and_keeps_what_was_stored(jobs, faulty, tmp_path):
    path = faulty(trials=2)
    whole = run(load(path, LONG), out=tmp_path / "whole.sqlite")
    with small_disk(tmp_path / "disk") as disk:
        if disk is None:
            pytest.skip("this process may not mount a small disk")
        filler = disk / "filler"
        filler.write_bytes(bytes(100_000))
        options = ("--rounds", 150, "--agents", "random,uniform", "--samples", 0, "--jobs", jobs)
        process = start("run", path, "--out", disk / "s.sqlite", *options, "--quiet")
        _, error = process.communicate(timeout=100)
        assert process.returncode == 1 and "full" in error and "what was stored before is kept" in error
        assert "Traceback" not in error and "Free space on its disk first. Go on with:" in error
        kept = Study(disk / "s.sqlite").rounds()
        assert 0 < len(kept) < 600
        filler.unlink()
        # Where the disk was too full to end the log, it is a part of the study.
        for part in ("s.sqlite", "s.sqlite-wal"):
            if (disk / part).exists():
                (tmp_path / part).write_bytes((disk / part).read_bytes())
    assert_same(run(load(path, LONG), out=tmp_path / "s.sqlite", resume=True), whole)


@pytest.mark.slow
def test_a_file_size_quota_ends_the_run_in_words_and_keeps_what_was_stored(faulty, tmp_path):
    path, out = faulty(trials=2), tmp_path / "s.sqlite"
    code = (
        "import resource, signal\n"
        "from scenarios.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "main()"
    )
    options = ["--rounds", "150", "--agents", "random,uniform", "--samples", "0", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", code, "run", path, "--out", out, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "what was stored before is kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert 0 < len(Study(out).rounds()) < 600
    whole = run(load(path, LONG), out=tmp_path / "whole.sqlite")
    assert_same(run(load(path, LONG), out=out, resume=True), whole)


HOLD = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


@contextlib.contextmanager
def held(path, seconds):
    """Another program has the file open, and in the middle of a change."""
    program = subprocess.Popen(
        [sys.executable, "-c", HOLD, path, str(seconds)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout.readline() == "held\n"
        yield
    finally:
        program.kill()
        program.communicate()


def test_a_store_that_another_program_holds_for_a_while_is_waited_for(scenario_file, half, whole):
    with held(half, 1.5):
        assert_same(run(load(scenario_file()), out=half, resume=True), whole)


def test_a_store_that_another_program_keeps_is_refused_in_words(
    scenario_file, policyloop, half, whole, monkeypatch
):
    monkeypatch.setattr(file, "BUSY_SECONDS", 0.2)
    with held(half, 60):
        assert len(Study(half).rounds()) == 12  # readers need not wait
        code, _, error = policyloop("resume", half, "--rounds", 4, "--quiet")
        assert code != 0 and "another program holds it locked" in error and "Traceback" not in error
    assert policyloop("resume", half, "--rounds", 4, "--quiet")[0] == 0
    assert_same(Study(half), whole)


@pytest.mark.slow
def test_a_second_run_is_refused_while_the_first_one_writes(faulty, policyloop, tmp_path, monkeypatch):
    monkeypatch.setattr(WriterLock, "PATIENCE", 0.1)
    path, out = faulty(rounds=20_000, options="pause = 0.05"), tmp_path / "s.sqlite"
    process = start("run", path, "--out", out)
    try:
        while not out.exists() or len(tryrounds(out)) < 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        for option in ("--resume", "--force"):
            code, _, error = policyloop("run", path, "--out", out, option)
            assert code == 2 and "another policyloop is writing this study" in error
        count = len(Study(out).rounds())
        target = tmp_path / "t.csv"
        for arguments in (("compare", out), ("export", out, "--out", target), ("show", out)):
            assert policyloop(*arguments)[0] in (0, 1)
        assert len(target.read_text().splitlines()) > count
    finally:
        process.kill()
        process.communicate()


def tryrounds(path):
    try:
        return Study(path).rounds()
    except UserError:
        return []


def test_damage_is_found_before_anything_is_added(scenario_file, policyloop, half):
    data = bytearray(half.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 512] = os.urandom(512)
    half.write_bytes(data)
    code, _, error = policyloop("run", scenario_file(), "--out", half, "--resume", "--quiet")
    assert code == 2 and "damaged" in error and error.count("\n") == 1
    assert half.read_bytes() == bytes(data)


def test_a_clock_that_is_set_back_changes_nothing(scenario_file, whole, tmp_path, monkeypatch):
    now = [2e9]

    def backwards():
        now[0] -= 3600
        return now[0]

    monkeypatch.setattr(time, "time", backwards)
    out = tmp_path / "s.sqlite"
    run(load(scenario_file(), {"rounds": 2}), out=out)
    study = run(load(scenario_file()), out=out, resume=True)
    monkeypatch.undo()
    with sqlite3.connect(out) as connection:  # the second run began before the first
        connection.execute("UPDATE runs SET began = '\"1970-01-01T00:00:00+00:00\"' WHERE run = 2")
        seal_all(connection)
    connection.close()
    assert_same(study, whole)
    assert_same(Study(out), whole)
    times = [seconds for one in study.rounds() for seconds in (one.seconds, one.step_seconds)]
    assert min(times) >= 0 and max(times) < 60
