"""`policyloop doctor` tells what an installation stands on, and notices one that computes wrongly."""

import json
from pathlib import Path

import pytest

from scenarios.cli import invoke
from scenarios.commands import doctor


def told(capsys):
    code = invoke(["doctor", "--format", "json"])
    return code, {one["name"]: one for one in json.loads(capsys.readouterr().out)}


def test_an_installation_that_works_is_told_to(capsys):
    code, findings = told(capsys)
    assert code == 0 and all(one["good"] for one in findings.values())
    assert {"policyloop", "Python", "threads", "extra [dask]", "a season of flu", "an agent"} <= set(findings)


def test_the_table_has_a_line_for_each_finding_and_a_verdict(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda: [doctor.Finding("one", "found", True)])
    assert invoke(["doctor"]) == 0
    assert capsys.readouterr().out == "ok   one: found\nall is well\n"


def test_a_season_that_differs_from_the_stored_one_is_noticed(capsys, monkeypatch):
    wrong = (doctor.SICK_DAYS[0] + 1e-4, *doctor.SICK_DAYS[1:])
    monkeypatch.setattr(doctor, "SICK_DAYS", wrong)
    code, findings = told(capsys)
    assert code == 1 and not findings["a season of flu"]["good"]
    assert [name for name, one in findings.items() if not one["good"]] == ["a season of flu"]


def test_a_posterior_that_differs_from_its_closed_form_is_noticed(monkeypatch):
    from optimizer import GaussianProcess

    right = GaussianProcess.predict
    monkeypatch.setattr(
        GaussianProcess, "predict", lambda self, X: (right(self, X)[0] * 1.001, right(self, X)[1])
    )
    assert not doctor.gaussian_process()[1]


def test_what_raises_is_a_finding_on_one_line():
    def broken():
        raise RuntimeError("no\nBLAS")

    finding = doctor._tested("a test", broken)
    assert not finding.good and finding.found.startswith("RuntimeError: no") and "\n" not in finding.found


@pytest.mark.parametrize("installed, good", [("0.1", False), (None, False), ("999.0", True)])
def test_a_package_that_is_missing_or_too_old_is_noticed(monkeypatch, installed, good):
    monkeypatch.setattr(doctor, "_version", lambda name: installed)
    monkeypatch.setattr(doctor, "_asked", lambda name: ">=1.26")
    finding = doctor._package("numpy")
    assert finding.good is good and (good or ">=1.26 is needed" in finding.found)


def test_the_versions_asked_for_are_those_of_the_distribution():
    assert doctor._asked("numpy").startswith(">=1")
    assert doctor._asked("no-such-package") == ""


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path):
    assert not doctor._writable("a folder", tmp_path / "missing").good
    assert doctor._writable("a folder", tmp_path).good and list(Path(tmp_path).iterdir()) == []


def test_an_extra_that_is_missing_is_told_and_is_no_fault():
    finding = doctor._extra("dask", ("no_such_module",))
    assert finding.good and "pip install 'policyloop[dask]'" in finding.found


def test_a_library_that_cannot_be_imported_leaves_the_other_findings(capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, findings = told(capsys)
    assert code == 1 and "ModuleNotFoundError" in findings["folder of matplotlib"]["found"]
    assert findings["a season of flu"]["good"]
