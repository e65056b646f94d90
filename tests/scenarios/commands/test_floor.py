"""Deaths are not fewer than none: no interval that is shown reaches below zero, however noisy a season is."""

import json
import re

import pytest

from scenarios import Study


def numbers(told):
    """All intervals of an answer as plain data: tables with low and high."""
    if isinstance(told, dict):
        if "low" in told and "high" in told:
            yield told
        for below in told.values():
            yield from numbers(below)
    elif isinstance(told, list):
        for below in told:
            yield from numbers(below)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Hardly anybody dies, and a season's figure is off by more than that."""
    from scenarios.cli import invoke

    folder = tmp_path_factory.mktemp("floor")
    assert invoke(["new", "own-country", "mine", "--folder", str(folder)]) == 0
    path = folder / "mine" / "scenario.toml"
    text = path.read_text(encoding="utf-8").replace('"hospitalisations"', '"deaths"\nnoise_variance = 1.0')
    path.write_text(text, encoding="utf-8")
    agents = "d-gpucb,uniform,current"
    few = ["--trials", "1", "--rounds", "14", "--agents", agents, "--quiet"]
    assert invoke(["run", str(path), *few, "--out", str(folder / "s.sqlite")]) == 0
    return folder / "s.sqlite"


def test_noisy_observations_lie_below_zero_but_no_recommendation_does(study, policyloop):
    rounds = Study(study).to_dataframe()
    assert (rounds[[name for name in rounds if name.startswith("y_")]] < 0).any().any()
    code, out, _ = policyloop("compare", study, "--format", "json")
    found = [one for told in json.loads(out).values() for one in numbers(told["recommendation"])]
    found = [one for one in found if one["low"] is not None]
    assert code == 0 and len(found) >= 8  # three objectives, and the groups of an agent that knows them
    assert all(one["low"] >= 0 for one in found)
    assert any(one["low"] == 0 for one in found)  # without the floor it would lie below


def test_what_if_and_evaluate_end_at_zero_as_well(study, policyloop):
    code, out, _ = policyloop("what-if", study, "--budget", "0.3", "--format", "json")
    found = list(numbers(json.loads(out)))
    assert code == 0 and len(found) > 5 and all(one["low"] >= 0 and one["mean"] >= 0 for one in found)
    scenario = study.parent / "mine" / "scenario.toml"
    code, out, _ = policyloop(
        "evaluate", scenario, "--policy", "current", "--seeds", "6", "--format", "json", "--quiet"
    )
    (policy,) = json.loads(out)["policies"]
    groups = list(numbers(policy["groups"]))
    assert code == 0 and len(groups) == 5 and all(one["low"] >= 0 for one in groups)


def test_show_and_report_have_no_interval_from_below_zero(study, policyloop, tmp_path):
    code, out, _ = policyloop("show", study)
    assert code == 0 and not re.search(r"\[-\d", out)
    assert policyloop("report", study, "--out", tmp_path / "r.html")[0] == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    (table,) = re.findall(r"<table>\s*<caption>Outcomes by group.*?</table>", page, re.DOTALL)
    rows = [re.findall(r"<td.*?</td>", row, re.DOTALL) for row in table.split("<tr")]
    shown = [cell for row in rows for cell in row[:2]]  # before and after; differences may be negative
    assert len(shown) == 12 and not any(re.search(r"[\u2212-]\d", cell) for cell in shown)
