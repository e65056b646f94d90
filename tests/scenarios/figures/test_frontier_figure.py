"""The frontier is drawn by its means: wide intervals neither hide it nor press it together."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from scenarios.figures.frontier import frontier_figure
from scenarios.questions.estimate import Estimate
from scenarios.questions.frontier import Frontier, FrontierPoint


def frontier(half, many=12):
    points = []
    for i in range(many):
        values = {"total": float(i), "worst": (many - 1 - i) ** 2 / many}
        objectives = {name: Estimate(x, x - half, x + half) for name, x in values.items()}
        points.append(FrontierPoint({"x": i}, objectives, 0, True, i == many // 2, 1.0))
    return Frontier("q", "all", ["total", "worst"], ["days", "days"], ["minimize"] * 2, points)


def bars(axes):
    """How many horizontal intervals are drawn."""
    return len(axes.collections[0].get_segments())


@pytest.mark.parametrize("half", [0.1, 1.0, 30.0, 1e4])
def test_the_means_take_most_of_the_axis_however_wide_the_intervals(half):
    (axes,) = frontier_figure(frontier(half)).axes
    low, high = axes.get_xlim()
    assert low < 0 and high > 11
    assert 11 / (high - low) > 0.35


def test_narrow_intervals_are_all_there_and_inside():
    (axes,) = frontier_figure(frontier(0.1)).axes
    assert bars(axes) == 12
    assert axes.get_xlim()[0] < -0.1 and axes.get_xlim()[1] > 11.1
    assert not [one for one in axes.lines if one.get_marker() in "<>^v" and len(one.get_xdata())]


def test_of_wide_intervals_some_are_drawn_with_arrows_where_they_go_on():
    (axes,) = frontier_figure(frontier(30.0)).axes
    assert bars(axes) == 6
    arrows = {one.get_marker(): len(one.get_xdata()) for one in axes.lines if one.get_marker() in "<>^v"}
    assert arrows == dict.fromkeys("<>^v", 6)
    assert "95 % credible, of some" in axes.get_legend_handles_labels()[1]


def test_the_order_of_the_points_is_that_of_the_line():
    (axes,) = frontier_figure(frontier(30.0)).axes
    (line,) = [one for one in axes.lines if one.get_label() == "frontier"]
    assert list(line.get_xdata()) == list(range(12)) and line.get_linestyle() == "-"
    assert to_hex(line.get_color()) == "#0072b2"
    assert line.get_zorder() > max(one.get_zorder() for one in axes.collections[:2])
    assert np.isfinite(axes.get_xlim()).all()
