"""--simulate: what is run, on which seeds, in which worlds; strange code has to be accepted first."""

import numpy as np
import pytest
from pages import Page, check_sound
from studies import study_of

import bridges
import scenarios
import simulators
from scenarios.reporting.known import gathered
from scenarios.reporting.simulating import CHOSEN, NOTHING, TODAY, simulate


@pytest.fixture(scope="module")
def flu(tmp_path_factory):
    return study_of(
        tmp_path_factory.mktemp("flu"),
        'name = "s"\nrounds = 12\ntrials = 1\nseed = 5\nagents = ["d-gpucb"]\n[environment]\n'
        'name = "flu-ode"\noptions = { days = 100 }\n[prior]\nsamples = 0\n',
    )


@pytest.fixture(scope="module")
def simulated(flu):
    return simulate(gathered(flu), seeds=6)


def row(simulated, variant, share, policy):
    return next(
        one for one in simulated.rows if (one.variant, one.share, one.policy) == (variant, share, policy)
    )


def test_values_are_those_of_evaluate(flu, simulated):
    entries = ",".join(map(repr, gathered(flu).chosen.point.policy))
    found = scenarios.evaluate(flu.scenario, ["current", entries], seeds=6)
    assert row(simulated, "", 0.0, TODAY).objective == found.policies[0].objective
    assert row(simulated, "", 0.0, CHOSEN).objective == found.policies[1].objective
    assert row(simulated, "", 0.0, CHOSEN).difference == found.policies[1].difference


def test_intervals_end_where_evaluates_do(tmp_path):
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 12\ntrials = 1\nseed = 5\nagents = ["d-gpucb"]\n[environment]\n'
        'name = "flu-ode"\noptions = { days = 40, noise_variance = 4.0 }\n[prior]\nsamples = 0\n'
    )
    study = scenarios.run(scenarios.load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
    rows = simulate(gathered(study), seeds=6).rows
    found = scenarios.evaluate(study.scenario, ["current"], seeds=6).policies[0].objective
    (today,) = [one.objective for one in rows if (one.variant, one.policy) == ("", TODAY)]
    assert today == found and today.low == 0.0
    assert all(one.objective.low >= 0.0 for one in rows)


@pytest.mark.parametrize("share", [-0.1, 0.1])
@pytest.mark.parametrize("option", ["r0", "efficacy"])
def test_worlds_have_the_option_moved_by_a_tenth(flu, simulated, option, share):
    base = simulators.make("flu-ode", days=100)
    moved = np.minimum(np.asarray(getattr(base, option)) * (1 + share), 9.0 if option == "r0" else 1.0)
    world = simulators.make("flu-ode", days=100, **{option: moved.tolist()})
    seeds = [bridges.as_int(bridges.seed_sequence(5, 0, "evaluate", number)) for number in range(6)]
    values = []
    for seed in seeds:
        world.reset(seed)
        values.append(float(world.step(base.current_policy).values.sum()))
    assert row(simulated, option, share, TODAY).objective.mean == pytest.approx(np.mean(values), rel=1e-12)


def test_other_budgets_run_what_what_if_answers(flu, simulated):
    limit = flu.environment.space["constraint"][2][0]
    (answer,) = scenarios.what_if(flu, budget=1.1 * limit)
    assert row(simulated, "budget", 0.1, CHOSEN).entries == answer.best.policy


def test_no_vaccine_at_all_is_a_course_to_compare_with(simulated):
    assert not any(row(simulated, "", 0.0, NOTHING).entries.values())
    assert simulated.infos[NOTHING].info["infected"].sum() > simulated.infos[CHOSEN].info["infected"].sum()


def test_the_page_tells_doses_a_case_averted(flu, simulated, tmp_path):
    found = Page(scenarios.report(flu, tmp_path / "r.html", simulate=True, seeds=6).read_text())
    check_sound(found)
    persons = np.array(flu.environment.persons)
    cases = [simulated.infos[name].info["attack_rate"] @ persons for name in (NOTHING, CHOSEN)]
    doses = np.array(gathered(flu).chosen.point.policy) @ persons
    assert f"{doses / (cases[0] - cases[1]):.2f} doses a case averted" in found.text
    assert "efficacy +10 %" in [table_row[0] for table in found.tables for table_row in table]


def test_strange_code_is_refused_unless_trusted(tmp_path, policyloop, monkeypatch):
    (tmp_path / "mine.py").write_text("def f(x):\n    return {'a': (x[0] - 0.3) ** 2}\n")
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 7\ntrials = 1\nagents = ["d-ei"]\n[environment]\nname = "function"\n'
        f"[environment.options]\nf = '{tmp_path / 'mine.py'}:f'\npolicy = {{ x = [0, 1] }}\n"
        'groups = ["a"]\nsense = "minimize"\n[prior]\nsamples = 0\n'
    )
    study = scenarios.run(scenarios.load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
    monkeypatch.setattr("scenarios.commands.trust._agreed", lambda *asked: False)
    out = tmp_path / "r.html"
    assert policyloop("report", study.path, "--out", out, "--quiet")[0] == 0
    code, _, said = policyloop("report", study.path, "--out", tmp_path / "s.html", "--simulate", "--quiet")
    assert (code, said.count("\n")) == (2, 1) and "--trust" in said
    assert not (tmp_path / "s.html").exists()
    code, _, _ = policyloop(
        "report", study.path, "--out", out, "--simulate", "--seeds", 5, "--trust", "--quiet", "--force"
    )
    assert code == 0 and "Simulated for this report" in out.read_text()


@pytest.mark.parametrize(
    ("option", "value"), [("--seeds", "0"), ("--jobs", "0"), ("--frontier", "total,none")]
)
def test_what_cannot_be_done_is_one_line(flu, tmp_path, policyloop, option, value):
    more = [] if option == "--frontier" else ["--simulate"]
    code, _, said = policyloop(
        "report", flu.path, "--out", tmp_path / "r.html", "--quiet", option, value, *more
    )
    assert (code, said.count("\n")) == (2, 1)
    assert list(tmp_path.iterdir()) == []
