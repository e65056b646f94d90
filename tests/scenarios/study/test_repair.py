"""What is whole of a damaged study is kept, and nothing that is read was not written."""

import contextlib
import itertools
import runpy
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from studies import assert_same, valley_study

from scenarios import UserError, load, run
from scenarios.study.checksums import seal_all
from scenarios.study.repairing import repair
from scenarios.study.soundness import first_gap, whole_trials
from scenarios.study.study import Study

BENCHMARK = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "bench_damage.py"))


@pytest.fixture
def sound(tmp_path):
    return valley_study(tmp_path, 6)


def damaged(study, path, *changes, sealed=False):
    path.write_bytes(study.path.read_bytes())
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for change in changes:
            connection.execute(change)
        if sealed:
            seal_all(connection)
    return path


def test_a_repaired_study_keeps_whole_rounds_says_what_is_lost_and_goes_on_to_the_same_end(
    sound, tmp_path, policyloop
):
    change = "UPDATE rounds SET regret = 7 WHERE agent = 'random' AND trial = 1 AND round = 4"
    path, new = damaged(sound, tmp_path / "bad.sqlite", change), tmp_path / "new.sqlite"
    before = path.read_bytes()
    code, out, error = policyloop("repair", path, "--out", new)
    assert (code, error) == (0, "") and path.read_bytes() == before
    assert "trial 1, random: rounds 4 are lost" in out and "set aside: 2 rounds" in out
    kept = Study(new)
    assert kept.damage == "" and len(kept.rounds()) == 21 and len(kept.recommendations()) == 3
    aside = (tmp_path / "new-set-aside.csv").read_text().splitlines()
    assert len(aside) == 3 and aside[1].startswith("1,random,5,")
    assert policyloop("resume", new, "--quiet")[0] == 0
    assert_same(Study(new), sound)


@pytest.mark.parametrize("table", ["meta", "meta_copy", "runs", "worlds"])
def test_every_other_table_may_lose_rows_too(table, sound, tmp_path, policyloop):
    column = "value" if table.startswith("meta") else "seed" if table == "worlds" else "began"
    path = damaged(sound, tmp_path / "bad.sqlite", f"UPDATE {table} SET {column} = '7'")
    with pytest.raises(UserError, match=f"{'copy' if 'meta' in table else table}|a row of meta"):
        Study(path)
    assert policyloop("repair", path, "--out", tmp_path / "new.sqlite")[0] == 0
    kept = Study(tmp_path / "new.sqlite")
    assert kept.rounds() == sound.rounds() and kept.scenario == sound.scenario


def test_a_sound_study_and_the_same_file_are_refused(sound, tmp_path, policyloop):
    for out, words in ((tmp_path / "new.sqlite", "nothing to repair"), (sound.path, "another --out")):
        code, text, error = policyloop("repair", sound.path, "--out", out)
        assert (code, text, error.count("\n")) == (2, "", 1) and words in error
    assert not (tmp_path / "new.sqlite").exists()
    assert repair(damaged(sound, tmp_path / "bad.sqlite", "DELETE FROM worlds"), tmp_path / "c.sqlite")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "UPDATE rounds SET round = 7 WHERE round = 6 AND trial = 1 AND agent = 'random'",
            "round 7: is none",
        ),
        ("UPDATE rounds SET agent = 'x' WHERE agent = 'random'", "x, round 1: is none of this study's"),
        ("DELETE FROM rounds WHERE round = 3 AND trial = 2", "round 3 is missing, and later ones are there"),
        ("UPDATE rounds SET policy = '[0.1,0.2]' WHERE round = 1", r"its policy \[0.1, 0.2\] is none"),
        ("UPDATE rounds SET policy = '[null]' WHERE round = 1", r"its policy \[None\] is none"),
        ("UPDATE rounds SET outcomes = '[0.1]' WHERE round = 1", "1 outcomes, but there are 2 groups"),
        ("UPDATE rounds SET noise_variance = '[0.1]' WHERE round = 1", "1 noise variances, but there are 2"),
        ("UPDATE rounds SET row = 3 WHERE round = 2", "its candidate row is 3"),
        ("UPDATE rounds SET status = 'failed' WHERE round = 2", 'its status is "failed", and 0 of 2'),
        ("UPDATE rounds SET outcomes = '[null,null]' WHERE round = 2", 'its status is "ok", and 2 of 2'),
        ("UPDATE rounds SET seconds = NULL WHERE round = 2", "its times are missing"),
        ("DELETE FROM rounds WHERE round = 6", "recommended after 6 rounds, but 5 are stored"),
        ("UPDATE recommendations SET rounds = 9", "a recommendation that is none of this study's"),
        ("DELETE FROM worlds", "what was learned of its world before its rounds is missing"),
    ],
)
def test_what_no_run_writes_is_damage_even_with_right_checksums(change, words, sound, tmp_path):
    path = damaged(sound, tmp_path / "bad.sqlite", change, sealed=True)
    with pytest.raises(UserError, match=words):
        Study(path)
    with pytest.raises(UserError, match="damaged"):
        run(load(tmp_path / "s.toml"), out=path, resume=True)


@pytest.mark.slow
def test_nothing_of_a_damaged_file_is_read_that_was_not_written(tmp_path):
    study = BENCHMARK["make"](tmp_path, "valley", 7)
    whole, rng = BENCHMARK["contents"](study), np.random.default_rng(3)
    files = {"": study.path.read_bytes()}
    size = len(files[""])
    pairs = list(itertools.combinations(range(size // 4096), 2))
    kinds = [
        BENCHMARK["flipped"](files, "", rng.integers(8 * size, size=120)),
        BENCHMARK["flipped"](files, "", rng.choice(800, size=60, replace=False)),  # of the header
        BENCHMARK["zeroed"](files, "", 40, rng),
        BENCHMARK["swapped"](files, [pairs[i] for i in rng.choice(len(pairs), size=40, replace=False)]),
        BENCHMARK["cut"](files, "", rng.integers(size, size=40)),
    ]
    found = [
        BENCHMARK["outcome"](tmp_path / "damaged.sqlite", copy, [whole])[0]
        for copies in kinds
        for copy in copies
    ]
    assert set(found) == {"noticed", "harmless"} and found.count("noticed") > 100


@pytest.mark.parametrize(
    ("rounds", "batch", "gap"),
    [({1, 2, 3, 5, 6}, 3, None), ({1, 3, 4}, 3, 2), ({1, 2, 3}, 1, None), ({1, 3}, 1, 2), ({2}, 4, None)],
)
def test_of_the_last_batch_any_round_may_be_missing_and_of_those_before_none(rounds, batch, gap):
    assert first_gap(rounds, batch) == gap


@pytest.mark.parametrize(
    ("rows", "whole"),
    [
        ("", {}),
        ("1a1 1a2 1b1 2a1 2a2", {(1, "a"): 2, (1, "b"): 1, (2, "a"): 2}),
        ("1a1 1a3", None),
        ("1a2 1a3", None),
        ("1a1 1a1", None),
        ("1a1 1b1 1a2", None),
        ("1b1 1a2", None),
        ("2a1 1a2", None),
    ],
)
def test_trials_are_whole_whose_rounds_stand_in_order_without_a_gap(rows, whole):
    found = [(int(row[0]), row[1], int(row[2])) for row in rows.split()]
    columns = {name: [row[i] for row in found] for i, name in enumerate(("trial", "agent", "round"))}
    assert whole_trials(columns) == whole
