"""What a study file holds comes back bit for bit, to one writer and any reader."""

import csv
import math
import sqlite3

import numpy as np
import pandas as pd
import pytest
from studies import a_round, valley_study

from scenarios import UserError
from scenarios.study.reading import read_rounds, read_worlds
from scenarios.study.store import Store, WriterLock
from scenarios.study.study import Study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return valley_study(tmp_path_factory.mktemp("study"), 5, "{ fail_at = [4], missing_at = [2] }")


def test_floats_and_missing_values_come_back_exactly(tmp_path):
    with Store(tmp_path / "s") as store:
        store.add([a_round(), a_round(round=2, row=7, noise_variance=[1e-300, 0.1])])
        first, second = read_rounds(store.read())
    assert first == a_round(outcomes=[math.pi, None], objective=None, expected_outcomes=[1 / 7, None])
    assert second.noise_variance == [1e-300, 0.1] and second.row == 7


def test_a_round_is_never_overwritten(tmp_path):
    with Store(tmp_path / "s") as store:
        store.add([a_round()])
        with pytest.raises(sqlite3.IntegrityError):
            store.add([a_round(round=2), a_round(objective=1.0)])
        assert len(read_rounds(store.read())) == 1


def test_a_second_writer_is_refused_and_a_reader_is_not(study, monkeypatch):
    monkeypatch.setattr(WriterLock, "PATIENCE", 0.1)
    with Store(study.path, resume=True):
        for choice in ({"resume": True}, {"force": True}):
            with pytest.raises(UserError, match="another policyloop is writing"):
                Store(study.path, **choice)
        assert len(Study(study.path).to_dataframe()) == 20
    Store(study.path, resume=True).close()
    assert sorted(path.name for path in study.path.parent.iterdir()) == ["s.sqlite", "s.toml"]


def test_a_run_killed_before_its_first_table_can_be_resumed(tmp_path):
    (tmp_path / "s").touch()
    with pytest.raises(UserError, match="exists"):
        Store(tmp_path / "s")
    with Store(tmp_path / "s", resume=True) as store:
        assert store.created and read_worlds(store.read()) == {}


def test_the_table_has_the_columns_of_the_contract(study):
    frame = study.to_dataframe()
    assert list(frame.columns) == [
        "trial", "agent", "round", "x_x", "y_left", "y_right", "objective", "expected", "regret",
        "cumulative_regret", "seconds", "status",
    ]  # fmt: skip
    assert len(frame) == 2 * 2 * 5
    assert frame["trial"].unique().tolist() == [1, 2] and frame["round"].unique().tolist() == [1, 2, 3, 4, 5]


def test_failed_rounds_are_marked_have_no_objective_and_are_charged_their_regret(study):
    frame = study.to_dataframe()
    failed = frame[frame["status"] == "failed"]
    assert failed["round"].unique().tolist() == [2, 4] and len(failed) == 8
    assert failed[["objective", "y_left", "y_right"]].isna().all(axis=None)
    assert (failed["regret"] >= 0).all()
    assert len(study.failures) == 8 and "the pump broke" in study.failures[1].error


def test_regret_is_the_distance_to_the_known_optimum(study):
    frame = study.to_dataframe()
    by_hand = ((frame[["x_x"]].to_numpy() - [0.2, 0.8]) ** 2 + 1).sum(axis=1)
    assert np.allclose(frame["expected"], by_hand, rtol=1e-12)
    assert np.allclose(frame["regret"], by_hand - 2.18, atol=1e-9)
    assert study.optimum(1).policy == pytest.approx([0.5], abs=1e-5)
    sums = frame.groupby(["trial", "agent"])["regret"].sum().sort_index()
    last = frame[frame["round"] == 5].set_index(["trial", "agent"])["cumulative_regret"].sort_index()
    assert np.allclose(sums, last)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_export_returns_every_bit(study, kind, tmp_path):
    path, frame = study.export(tmp_path / f"t.{kind}"), study.to_dataframe()
    if kind == "csv":
        with path.open() as file:
            rows = list(csv.DictReader(file))
        back = pd.DataFrame(
            {
                name: [row[name] if kind == "O" else float(row[name] or "nan") for row in rows]
                for name, kind in ((name, "O" if name in ("agent", "status") else "f") for name in frame)
            }
        )
    else:
        back = pd.read_parquet(path)
    pd.testing.assert_frame_equal(back, frame, check_exact=True, check_dtype=kind == "parquet")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_export_refuses_another_ending(study, tmp_path):
    with pytest.raises(UserError, match=r"\.csv or \.parquet"):
        study.export(tmp_path / "t.xlsx")


def test_a_recommendation_holds_prediction_and_truth(study):
    advice = study.recommendations()
    assert [(one.trial, one.agent) for one in advice] == [
        (1, "random"), (1, "uniform"), (2, "random"), (2, "uniform"),
    ]  # fmt: skip
    for one in advice:
        x = one.policy[0]
        assert one.expected == pytest.approx((x - 0.2) ** 2 + (x - 0.8) ** 2 + 2)
        assert one.simple_regret == pytest.approx(one.expected - 2.18, abs=1e-9)
