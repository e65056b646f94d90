"""The figure of regrets: an axis on which every agent can be read."""

from types import SimpleNamespace

import numpy as np
import pytest

from scenarios.figures import regret


@pytest.fixture
def drawn(monkeypatch):
    """The axes of curves that end at given regrets."""

    def draw(*ends, measure="regret", **options):
        rounds = np.arange(1, 21)
        curves = {
            f"agent {i}": SimpleNamespace(
                rounds=rounds, mean=end * rounds / 20, low=end * rounds / 30, high=end * rounds / 15, trials=5
            )
            for i, end in enumerate(ends)
        }
        monkeypatch.setattr(regret, "curves", lambda *_: curves)
        monkeypatch.setattr(regret, "looks", lambda _: dict.fromkeys(curves, ("#000000", "-")))
        study = SimpleNamespace(
            scenario=SimpleNamespace(name="s", rounds=20), environment=SimpleNamespace(objective_unit="days")
        )
        return regret.regret_figure(study, measure, False, **options).axes[0]

    return draw


def test_the_axis_is_logarithmic_where_one_agent_would_press_the_others_flat(drawn):
    assert drawn(2.0, 2.5, 58.0).get_yscale() == "log"
    assert drawn(2.0, 2.5, 8.0).get_yscale() == "linear"
    assert drawn(2.0, 58.0, measure="objective").get_yscale() == "linear"
    assert drawn(2.0, 58.0, log=False).get_yscale() == "linear"


def test_all_curves_are_inside_the_frame(drawn):
    for ends in ([2.0, 58.0], [2.0, 5.0]):
        low, high = drawn(*ends).get_ylim()
        assert low <= min(ends) / 20 and max(ends) <= high


def test_an_agent_without_any_regret_leaves_the_axis_linear(drawn):
    assert drawn(0.0, 5.0).get_yscale() == "linear"
