"""A scenario whose acquisition and kernels are code runs, resumes, asks for trust, and is read as data."""

import json

import pytest
from studies import assert_same, start

from optimizer.prior import families
from scenarios import UserError, load, run, what_if
from scenarios.commands import trust
from scenarios.declaration.code import code_of, is_own
from scenarios.study.study import Study

CODE = """
import numpy as np
from optimizer import ScoredAcquisition
from sklearn.gaussian_process.kernels import RBF


class Rough(RBF):
    pass


def rough(length_scale, bounds):
    return Rough(length_scale, bounds)


class Spread(ScoredAcquisition):
    @classmethod
    def of(cls, search):
        return cls()

    def score_moments(self, mean, variance):
        return variance

    def slopes_in_moments(self, mean, variance):
        return np.zeros_like(mean), np.ones_like(mean)


def no_kernel(length_scale, bounds):
    return None
"""
SCENARIO = """
name = "code"
rounds = {rounds}
trials = 1
agents = [{{ name = "d-gpucb", acquisition = "{acquisition}", label = "d-spread" }}, "gp-ucb"]
[environment]
name = "flu-ode"
options = {{ days = 60 }}
[prior]
family = "{family}"
samples = {samples}
restarts = 0
"""


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(CODE)
    monkeypatch.setattr(families, "_registered", dict(families._registered))
    monkeypatch.setattr(families, "_classes", dict(families._classes))

    def written(rounds=12, acquisition="mine.py:Spread", family="mine.py:rough", samples=8):
        file = tmp_path / "code.toml"
        file.write_text(
            SCENARIO.format(rounds=rounds, acquisition=acquisition, family=family, samples=samples)
        )
        return load(file)

    return written


@pytest.mark.parametrize("samples", [8, pytest.param(0, marks=pytest.mark.slow)])
def test_a_resumed_study_is_the_one_that_was_run_at_once(samples, scenario, tmp_path):
    whole = run(scenario(13, samples=samples), out=tmp_path / "a.sqlite")
    run(scenario(11, samples=samples), out=tmp_path / "b.sqlite")
    run(scenario(13, samples=samples), out=tmp_path / "b.sqlite", resume=True)
    assert_same(whole, Study(tmp_path / "b.sqlite"))
    assert (whole.to_dataframe().status == "ok").all()


@pytest.mark.slow
def test_another_process_resumes_it_by_the_file_alone(scenario, tmp_path):
    out = tmp_path / "a.sqlite"
    run(scenario(3), out=out)
    process = start("resume", out, "--rounds", 4, "--quiet", "--jobs", 2)
    assert process.wait() == 0, process.stderr
    assert len(Study(out).rounds()) == 8


def test_what_it_names_is_code_and_the_files_are_known(scenario, tmp_path):
    named = code_of(scenario())
    where = str(tmp_path / "mine.py")
    assert {one.named for one in named} == {f"{where}:Spread", f"{where}:rough"}
    assert all(where in one.files for one in named) and not is_own(scenario())


def test_the_command_line_asks_before_it_imports_either(scenario, tmp_path, policyloop, monkeypatch):
    monkeypatch.setattr(trust, "_agreed", lambda *asked: False)
    (tmp_path / "mine.py").write_text("raise SystemExit('imported')")
    scenario()
    for family, acquisition in (("mine.py:rough", "ei"), ("rbf", "mine.py:Spread")):
        scenario(family=family, acquisition=acquisition)
        code, out, error = policyloop("run", tmp_path / "code.toml")
        assert (code, out, error.count("\n")) == (2, "", 1)
        assert "--trust" in error and "mine.py" in error and "imported" not in error


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"family": "rbg"}, "code.toml: prior.family = \"rbg\"; did you mean 'rbf'?; accepted: one of"),
        ({"family": "mine.py:no_kernel"}, "must make a scikit-learn Kernel, not None"),
        ({"family": "mine.py:nothing"}, "has no 'nothing'; it has Rough, rough"),
        ({"acquisition": "eii"}, "agents[0] (d-gpucb): unknown acquisition 'eii'; did you mean 'ei'?"),
        ({"acquisition": "mine.py:Rough"}, "must be a subclass of optimizer.Acquisition"),
        ({"acquisition": "nowhere.py:Spread"}, "there is no file"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line_before_anything_is_written(
    changes, said, scenario, tmp_path
):
    with pytest.raises(UserError) as caught:
        run(scenario(**changes), out=tmp_path / "a.sqlite")
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "a.sqlite").exists()


@pytest.mark.parametrize("samples", [8, pytest.param(0, marks=pytest.mark.slow)])
def test_who_reads_the_study_imports_nothing_and_says_so(samples, scenario, tmp_path):
    out = tmp_path / "a.sqlite"
    run(scenario(11, samples=samples), out=out)
    (tmp_path / "mine.py").write_text("raise SystemExit('imported')")
    kept = dict(families._registered), dict(families._classes)
    families._registered.clear()
    families._classes.clear()
    assert json.dumps([r.policy for r in Study(out).rounds()], default=str)
    with pytest.raises(UserError, match=r"not registered|is code") as caught:
        what_if(out)
    assert "\n" not in str(caught.value)
    families._registered.update(kept[0])
    families._classes.update(kept[1])
    assert what_if(out)[0].best is not None


def test_resume_asks_for_the_same_code(scenario, tmp_path):
    out = tmp_path / "a.sqlite"
    run(scenario(3), out=out)
    (tmp_path / "mine.py").write_text(CODE + "\n# another\n")
    with pytest.raises(UserError, match=r"mine\.py"):
        run(scenario(4), out=out, resume=True)
