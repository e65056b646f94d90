"""A study of an environment with levers of all kinds: its tables, resuming and merging; and old studies."""

import json
import shutil
from pathlib import Path

import clinic
import pandas as pd
import pytest
from studies import assert_same

import simulators
from scenarios import load, run
from scenarios.study.facts import Facts
from scenarios.study.levers import changes, in_words, read_levers, spelled
from scenarios.study.store import Store
from scenarios.study.study import Study
from simulators import OneOf, Real, Whole

LABELS = ["share", "nurses", "beds", "tariff"]
OLD = Path(__file__).parents[1] / "old" / "whole_numbers_rounded.study.sqlite"


def exactly(path):
    """A table of a CSV, to the last bit: pandas before 3 has to be asked for that."""
    exact = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
    return pd.read_csv(path, **exact)


@pytest.fixture
def clinic_file(scenario_file):
    """Write a scenario on the clinic; options in TOML."""

    def write(options="", **changes):
        usual = {"environment": "clinic:Clinic", "samples": 0, "agents": '["d-gpucb", "random"]', "rounds": 9}
        return scenario_file(options=options, **{**usual, **changes})

    return write


@pytest.fixture(scope="module")
def whole_study(tmp_path_factory):
    """A finished study of the clinic."""
    home = tmp_path_factory.mktemp("clinic")
    (home / "c.toml").write_text(
        'name = "c"\nrounds = 9\ntrials = 2\nagents = ["d-gpucb", "gp-ucb", "random"]\n'
        '[environment]\nname = "clinic:Clinic"\n[prior]\nsamples = 0\n'
    )
    return run(load(home / "c.toml"), out=home / "c.sqlite")


@pytest.mark.parametrize(
    ("lever", "words"),
    [
        (Real(0.5, 2), "0.5..2, persons"),
        (Whole(1, 20), "whole 1..20, persons"),
        (Whole(0, 20, 5), "whole 0..20 in steps of 5, persons"),
        (OneOf(("flat", "peak")), "one of flat, peak, persons"),
    ],
)
def test_a_lever_is_stored_as_it_is_spelled_and_read_back(lever, words):
    assert read_levers(["x"], json.loads(json.dumps([spelled(lever)]))) == [lever]
    assert in_words(lever, "persons") == words


def test_policies_that_ran_are_on_the_grid_and_every_round_succeeded(whole_study):
    frame = whole_study.to_dataframe()
    assert len(frame) == 54 and set(frame["status"]) == {"ok"}
    space = clinic.Clinic().policy_space
    assert space.contains([one.policy for one in whole_study.rounds()]).all()
    assert space.contains([one.policy for one in whole_study.recommendations()]).all()


def test_the_table_holds_floats_ints_and_names(whole_study):
    frame = whole_study.to_dataframe()
    kinds = [str(frame[f"x_{label}"].dtype) for label in LABELS]
    assert kinds[:3] == ["float64", "int64", "int64"]
    assert pd.api.types.is_string_dtype(frame["x_tariff"])
    assert (
        set(frame["x_tariff"]) <= {"flat", "peak", "dynamic"} and frame["x_beds"].isin(range(10, 31, 5)).all()
    )
    names = ("flat", "peak", "dynamic")
    row = frame.iloc[0]
    stored = next(
        one for one in whole_study.rounds() if (one.trial, one.agent, one.round) == (1, "d-gpucb", 1)
    )
    assert [row["x_share"], row["x_nurses"], row["x_beds"], names.index(row["x_tariff"])] == stored.policy


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_exported_table_is_read_back_with_its_kinds(whole_study, ending, tmp_path):
    path = whole_study.export(tmp_path / f"t.{ending}")
    read = exactly if ending == "csv" else pd.read_parquet
    pd.testing.assert_frame_equal(read(path), whole_study.to_dataframe(), check_exact=True)


def test_show_and_compare_know_the_kinds(whole_study, policyloop):
    code, out, _ = policyloop("show", whole_study.path)
    assert code == 0
    assert "  share: 0..1, of patients\n  nurses: whole 1..20, persons\n" in out
    assert "  beds: whole 10..30 in steps of 5, beds\n  tariff: one of flat, peak, dynamic\n" in out
    found = json.loads(policyloop("compare", whole_study.path, "--format", "json")[1])
    best = min(
        (one for one in whole_study.recommendations() if one.agent == "d-gpucb"), key=lambda one: one.expected
    )  # of two trials the median is the better one
    said = found["d-gpucb"]["recommendation"]
    share, nurses, beds, tariff = best.policy
    assert said["policy"] == {
        "share": share,
        "nurses": int(nurses),
        "beds": int(beds),
        "tariff": ("flat", "peak", "dynamic")[int(tariff)],
    }
    assert isinstance(said["policy"]["nurses"], int) and said["trial"] == best.trial
    assert said["objective"]["noise_free"] == best.expected
    assert said["groups"]["numbers"]["mean"] == best.group_means[0]
    theirs = found["random"]["recommendation"]["groups"]["numbers"]
    assert theirs["mean"] is None and theirs["noise_free"] is not None  # known, though not predicted
    table = policyloop("compare", whole_study.path)[1]
    line = next(line for line in table.splitlines() if "true optimum" in line)
    cells = [cell.strip() for cell in line.split("│")[1:-1]]
    assert cells[2:] == ["12", "20", "peak"]  # 0.6 of 1..20 is 12.4


def test_current_practice_may_name_its_categories(clinic_file, tmp_path, policyloop):
    options = 'current = [0.5, 10, 20, "dynamic"]'
    path = clinic_file(options, agents='["current", "random"]', rounds=3, samples=10)
    study = run(load(path), out=tmp_path / "s.sqlite")
    assert study.environment.current_policy == [0.5, 10, 20, 2]
    assert {tuple(one.policy) for one in study.rounds() if one.agent == "current" and one.round > 1} <= {
        (0.5, 10, 20, 2)
    }
    out = policyloop("compare", study.path)[1]
    line = next(line for line in out.splitlines() if "current practice" in line)
    assert [cell.strip() for cell in line.split("│")[1:-1]][1:] == ["0.500", "10", "20", "dynamic"]


def test_a_failed_round_names_the_categories(clinic_file, policyloop, tmp_path):
    code, _, err = policyloop(
        "run", clinic_file("fails = true", rounds=1, trials=1), "--out", tmp_path / "s.sqlite", "--quiet"
    )
    assert code == 1
    assert "'flat'" in err or "'peak'" in err or "'dynamic'" in err
    assert (
        Study(tmp_path / "s.sqlite").rounds()[0].error.startswith("SimulationError: no beds left (policy [0.")
    )
    assert Study(tmp_path / "s.sqlite").rounds()[0].error.split(",")[3].split("]")[0].strip().isalpha()


def test_a_study_goes_on_as_if_it_had_never_stopped(clinic_file, tmp_path):
    run(load(clinic_file(rounds=7)), out=tmp_path / "s.sqlite")
    grown = run(load(clinic_file(rounds=12)), out=tmp_path / "s.sqlite", resume=True)
    assert_same(grown, run(load(clinic_file(rounds=12)), out=tmp_path / "whole.sqlite"))


OTHER = {
    "other limits": ({"whole": (1, 25)}, "policy.nurses: whole 1..20 stored, whole 1..25 now"),
    "another kind": ((1, 20), "policy.nurses: whole 1..20 stored, 1..20 now"),
    "categories": ({"one_of": ("few", "many")}, "policy.nurses: whole 1..20 stored, one of few, many now"),
}


@pytest.mark.parametrize("changed", OTHER.values(), ids=OTHER)
def test_a_study_of_other_levers_is_neither_resumed_nor_merged(
    changed, clinic_file, tmp_path, policyloop, monkeypatch
):
    path = clinic_file(agents='["random"]', rounds=2)
    first, second = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
    assert policyloop("run", path, "--out", first, "--quiet", "--share", "1/2")[0] == 0
    before = first.read_bytes()
    monkeypatch.setitem(clinic.POLICY, "nurses", changed[0])  # a simulator that was edited
    code, _, err = policyloop("run", path, "--out", first, "--resume")
    assert code == 2 and err.count("\n") == 1
    assert "was made with other levers, --resume cannot go on with it: " + changed[1] in err
    assert "another --out" in err and Study(first).rounds() and first.read_bytes()[:100] == before[:100]
    assert policyloop("run", path, "--out", second, "--quiet", "--share", "2/2")[0] == 0
    code, _, err = policyloop("merge", first, second, "--out", tmp_path / "both.sqlite")
    assert (
        code == 2 and err.count("\n") == 1 and "second.sqlite: has other levers than the first study" in err
    )


@pytest.fixture
def old_study(tmp_path, monkeypatch):
    """A study that was made when whole numbers were real numbers, rounded before the model got them."""
    monkeypatch.syspath_prepend(OLD.parent)
    return Path(shutil.copy(OLD, tmp_path / "old.sqlite"))


def test_a_study_made_before_levers_had_kinds_is_shown_as_real_numbers(old_study, policyloop, tmp_path):
    study = Study(old_study)
    assert study.environment.levers is None
    frame = study.to_dataframe()
    assert str(frame["x_nurses"].dtype) == "float64" and (frame["x_nurses"] % 1 != 0).any()
    code, out, err = policyloop("show", old_study)
    assert (code, err) == (0, "") and "  nurses: real\n" in out
    for words in (["compare"], ["plot", "--out", tmp_path / "f"], ["export", "--out", tmp_path / "t.csv"]):
        code, out, err = policyloop(words[0], old_study, *words[1:])
        assert (code, err) == (0, ""), words
    found = json.loads(policyloop("compare", old_study, "--format", "json")[1])
    assert isinstance(found["random"]["recommendation"]["policy"]["nurses"], float)
    pd.testing.assert_frame_equal(exactly(tmp_path / "t.csv"), frame, check_exact=True)


def test_resuming_a_study_whose_whole_numbers_were_rounded_says_what_to_write(old_study, policyloop):
    before = old_study.read_bytes()
    code, out, err = policyloop("resume", old_study, "--rounds", 8)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "old.sqlite: was made when whole = ['nurses'] were real numbers" in err
    assert "in place of whole write policy = { nurses = { whole = [1, 20] } } in the scenario" in err
    assert "another --out" in err and old_study.read_bytes() == before


def test_a_study_of_another_kind_than_an_old_one_is_refused_as_real_against_whole():
    now = [{"whole": [1, 20], "step": 1}, [0, 1]]
    assert changes(["n", "x"], None, ["n", "x"], now) == ["policy.n: real stored, whole 1..20 now"]
    assert changes(["n", "x"], None, ["n", "x"], [[0, 5], [0, 1]]) == []
    assert changes(["n"], [[0, 1]], ["n"], [[0, 1 + 1e-12]]) == []
    assert changes(["n"], [[0, 1]], ["n"], [[0, 2]]) == ["policy.n: 0..1 stored, 0..2 now"]
    assert changes(["n"], [[0, 1]], ["m"], [[0, 1]]) == ["policy: n stored, m now"]


def test_an_old_study_without_whole_numbers_goes_on(scenario_file, tmp_path):
    scenario = load(scenario_file(agents='["random"]', samples=0))
    study = run(scenario, out=tmp_path / "s.sqlite")
    with Store(study.path, resume=True) as store:
        store.set_meta({"environment": {k: v for k, v in study.meta["environment"].items() if k != "levers"}})
    grown = run(load(scenario_file(agents='["random"]', samples=0, rounds=6)), out=study.path, resume=True)
    assert len(grown.rounds()) == 12 and grown.environment.levers is None


def test_finite_and_real_environments_keep_their_facts():
    assert Facts.of(simulators.make("weather")).levers is None
    facts = Facts.of(simulators.make("flu-ode"))
    assert facts.levers == [[0.0, 1.0]] * 5 or all(len(one) == 2 for one in facts.levers)
    assert all(isinstance(entry, float) for entry in facts.entries([0.2] * 5))
