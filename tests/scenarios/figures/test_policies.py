"""The figure of recommended policies: each kind and unit on an axis of its own."""

import clinic
import numpy as np
import pytest

from scenarios import load
from scenarios.figures.plot import plot
from scenarios.figures.policies import policy_figure
from scenarios.study.facts import Facts
from scenarios.study.records import Advice, StoredOptimum, StoredRound, WorldRecord
from scenarios.study.store import Store
from scenarios.study.study import Study

BEST = [0.6, 12.0, 20.0, 1.0]


@pytest.fixture
def study(tmp_path):
    """Write a study of three trials whose recommendations are those given, of one agent."""

    def write(policies, options="{}", optimum=BEST):
        path = tmp_path / "c.toml"
        path.write_text(
            f'name = "c"\nrounds = 1\ntrials = {len(policies)}\nagents = ["random"]\n[environment]\n'
            f'name = "clinic:Clinic"\noptions = {options}\n'
        )
        scenario = load(path)
        environment = clinic.Clinic(**scenario.environment.options)
        nothing = [None] * 12
        with Store(tmp_path / "c.sqlite", force=True) as store:
            store.set_meta(
                {
                    "created": "", "versions": {}, "environment": Facts.of(environment)._asdict(),
                    "scenario": scenario.model_dump(mode="json"),
                }
            )  # fmt: skip
            known = StoredOptimum(optimum, None, 0.0, [0.0, 0.0]) if optimum else None
            store.set_world("all", WorldRecord(None, {}, known))
            for trial, x in enumerate(policies, start=1):
                value = float(environment.expected([x]).sum())
                store.add(
                    [
                        StoredRound(
                            trial,
                            "random",
                            1,
                            x,
                            None,
                            [value, 0.0],
                            None,
                            value,
                            value,
                            [value, 0.0],
                            value,
                            0.0,
                            0.0,
                            "ok",
                            "",
                        )  # fmt: skip
                    ],
                    [Advice(trial, "random", 1, x, *nothing, value, value)],
                )
        return Study(tmp_path / "c.sqlite")

    return write


def heights(axes, label):
    return [
        bar.get_height()
        for container in axes.containers
        if container.get_label() == label
        for bar in container
    ]


def test_shares_whole_numbers_and_categories_have_axes_of_their_own_with_their_units(study):
    figure = policy_figure(study([[0.6, 12, 20, 1], [0.6, 11, 20, 1], [0.1, 2, 30, 2]]))
    named = {axes.get_ylabel(): [text.get_text() for text in axes.get_xticklabels()] for axes in figure.axes}
    assert named == {
        "recommended (of patients)": ["share"],
        "recommended (persons)": ["nurses"],
        "recommended (beds)": ["beds"],
        "share of trials": ["flat", "peak", "dynamic"],
    }
    assert figure.axes[3].get_xlabel() == "recommended tariff"


def test_bars_are_the_median_trial_dots_all_trials_and_shares_of_categories_are_counted(study):
    figure = policy_figure(study([[0.6, 12, 20, 1], [0.6, 11, 20, 1], [0.1, 2, 30, 2]]))
    nurses, tariff = figure.axes[1], figure.axes[3]
    assert heights(nurses, "random") == [11] and heights(nurses, "true optimum") == [12]
    assert sorted(y for line in nurses.lines for y in line.get_ydata()) == [2, 11, 12]
    assert heights(tariff, "random") == pytest.approx([0, 2 / 3, 1 / 3])
    assert heights(tariff, "true optimum") == [0, 1, 0]
    assert "median of 3 trials" in figure.get_suptitle()


def test_the_axis_of_whole_numbers_has_whole_ticks_alone(study):
    figure = policy_figure(study([[0.6, 1, 10, 1]], optimum=None))
    figure.canvas.draw()
    ticks = figure.axes[1].get_yticks()
    assert np.array_equal(ticks, np.rint(ticks)) and len(ticks) >= 2
    assert (figure.axes[0].get_yticks() % 1 != 0).any()
    assert "one trial" in figure.get_suptitle()


def test_numbers_of_one_kind_and_unit_share_an_axis_and_a_missing_unit_leaves_no_brackets(study):
    options = "{ policy = { a = [0, 1], b = [0, 2], n = { whole = [1, 4] } } }"
    figure = policy_figure(study([[0.5, 1.5, 2]], options, optimum=None))
    labels = [[text.get_text() for text in axes.get_xticklabels()] for axes in figure.axes]
    assert labels == [["a", "b"], ["n"]]
    assert [axes.get_ylabel() for axes in figure.axes] == ["recommended", "recommended"]


def test_many_categories_with_awkward_names_are_drawn_to_files(study, tmp_path):
    names = [f"plan {i} with a long name, $\\\\frac{{$" for i in range(14)]
    quoted = ", ".join(f'"{name}"' for name in names)
    options = f"{{ policy = {{ plan = {{ one_of = [{quoted}] }}, other = {{ one_of = [{quoted}] }} }} }}"
    drawn = plot(study([[3, 1], [4, 1]], options, optimum=None), tmp_path / "figures")
    assert (tmp_path / "figures" / "recommended_policy.png").stat().st_size > 10_000
    assert len(drawn) == 6


def test_every_bar_says_its_value_also_one_of_height_zero(study):
    axes = policy_figure(study([[0.6, 12.0, 0.0, 1.0]])).axes
    written = [text.get_text() for one in axes for text in one.texts]
    assert {"0.600", "12", "0", "0%", "100%"} == set(written)
