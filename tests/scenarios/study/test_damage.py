"""A study file that is damaged, read-only, or no file: each command says so, and what to do next."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from studies import valley_study

from scenarios import UserError
from scenarios.study.store import Store
from scenarios.study.study import Study

GARBAGE = {
    "zeros": bytes(2000),
    "ones": b"\xff" * 2000,
    "digits": b"0" * 2000,
    "text": b"\x00garbled," * 222,
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return valley_study(tmp_path_factory.mktemp("sound"), 60)


@pytest.fixture(params=GARBAGE)
def broken(request, sound, tmp_path):
    """The same study with 2,000 bytes overwritten in its middle."""
    path = tmp_path / "s.study.sqlite"
    data = bytearray(sound.path.read_bytes())
    garbage = GARBAGE[request.param]
    middle = len(data) * 2 // 3
    data[middle : middle + len(garbage)] = garbage
    path.write_bytes(data)
    return path


def test_what_can_be_read_of_a_damaged_study_is_read_with_a_warning(sound, broken, policyloop, tmp_path):
    for command in ("show", "compare", "plot", "export"):
        code, out, error = policyloop(command, broken)
        assert code == 0 and out and error.startswith(f"policyloop: {broken}: the study is damaged (")
        assert error.count("\n") == 1 and "that can be read" in error
    whole, kept = sound.rounds(), Study(broken, damaged=True).rounds()
    assert (
        0.5 * len(whole) < sum(one in whole for one in kept) < len(whole)
    )  # two or three pages of 13 are lost
    assert len(kept) == len({(one.trial, one.agent, one.round) for one in kept})
    assert len((tmp_path / "s.csv").read_text().splitlines()) == len(kept) + 1


def test_nothing_is_built_on_a_damaged_study(sound, broken, policyloop, tmp_path):
    before, out = broken.read_bytes(), tmp_path / "out.sqlite"
    merge = ("merge", sound.path, broken, "--out", out)
    scenario = sound.path.parent / "s.toml"
    for arguments in (("resume", broken), ("run", scenario, "--out", broken, "--resume"), merge):
        code, _, error = policyloop(*arguments)
        assert code == 2 and "damaged" in error and error.count("\n") == 1
        assert f"`policyloop repair {broken} --out NEW` keeps what is whole" in error
        assert "--force or another --out" in error
    with pytest.raises(UserError, match="the study is damaged"):
        Study(broken)
    assert broken.read_bytes() == before and not out.exists()
    assert policyloop("run", scenario, "--out", broken, "--force", "--quiet")[0] == 0
    assert len(Study(broken).rounds()) == 240


def test_a_sound_study_is_not_warned_of(sound, policyloop):
    assert policyloop("show", sound.path)[2] == "" and Study(sound.path).damage == ""


@pytest.mark.parametrize("content", [b"ten years of work" * 100, b"SQLite format 3\0" + bytes(5000)])
def test_a_foreign_file_is_refused_with_the_next_step(content, sound, policyloop, tmp_path):
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)
    scenario = sound.path.parent / "s.toml"
    for arguments in (("show", path), ("resume", path), ("run", scenario, "--out", path, "--force")):
        code, _, error = policyloop(*arguments)
        assert code == 2 and error.count("\n") == 1 and "another --out" in error
    assert path.read_bytes() == content


def test_a_folder_is_no_study(sound, policyloop, tmp_path):
    run_it = ("run", sound.path.parent / "s.toml", "--out", tmp_path)
    for arguments in (
        run_it,
        (*run_it, "--resume"),
        (*run_it, "--force"),
        ("show", tmp_path),
        ("resume", tmp_path),
    ):
        code, _, error = policyloop(*arguments)
        assert code == 2 and error == f"policyloop: {tmp_path}: is a folder; give the name of a file\n"


def test_a_study_that_is_not_there_is_begun_by_run(policyloop, tmp_path):
    for command in ("resume", "show", "compare"):
        code, _, error = policyloop(command, tmp_path / "none.sqlite")
        assert code == 2 and f"policyloop run SCENARIO --out {tmp_path / 'none.sqlite'}" in error


def test_a_read_only_study_is_refused_before_anything_is_done(sound):
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # unlike a test's own, others may enter it
    try:
        folder.chmod(0o777)
        path = folder / "s.sqlite"
        shutil.copy(sound.path, path)
        path.chmod(0o444)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if os.getuid() == 0:
                    os.setuid(65534)  # root may write what is read-only
                Store(path, resume=True)
            except UserError as error:
                code = 0 if "is read-only; make it writable" in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [one.name for one in folder.iterdir()] == ["s.sqlite"]
    finally:
        shutil.rmtree(folder)


def test_a_study_whose_facts_are_lost_cannot_be_read(sound, policyloop, tmp_path):
    path = tmp_path / "s.sqlite"
    shutil.copy(sound.path, path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for table in ("meta", "meta_copy"):
            connection.execute(f"UPDATE {table} SET value = substr(value, 2) WHERE key = 'scenario'")
    code, _, error = policyloop("show", path)
    assert code == 2 and "cannot be read" in error and "another --out" in error and error.count("\n") == 1
