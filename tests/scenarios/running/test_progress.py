"""The time left is told from the pace of recent rounds, once there are enough of them."""

import io
import time

import pytest
from studies import a_round

from scenarios.running.progress import PlainLines

ROUND = a_round(status="ok", agent="random", objective=1.0, expected=None)


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def lines(clock, times, total):
    """Show rounds that come at some times, and return the lines between the first and the last."""
    out = io.StringIO()
    shown = PlainLines(out, every=0.0)
    shown.start("s", total, 0, -1.0)
    for moment in times:
        clock[0] = 1000.0 + moment
        shown.seen(ROUND)
    shown.stop()
    return out.getvalue().splitlines()[1:-1]


def test_a_slow_start_is_no_measure_of_the_rest(clock):
    told = lines(clock, [16.0 + 0.25 * i for i in range(40)], total=72)
    assert not [line for line in told[:9] if "left" in line]
    assert told[39] == "s: 40 of 72 rounds, 0:08 left, best so far: random 1.000"


def test_the_pace_is_that_of_the_later_rounds(clock):
    cheap, costly = [0.01 * i for i in range(20)], [1.0 + 3.0 * i for i in range(30)]
    assert "0:30 left" in lines(clock, cheap + costly, total=60)[-1]


@pytest.mark.parametrize(("sign", "best"), [(-1.0, "random 1.000"), (1.0, "random 5.000")])
def test_the_best_is_told_in_the_objectives_sense_and_noise_free_where_that_is_known(clock, sign, best):
    shown = PlainLines(out := io.StringIO(), every=0.0)
    shown.start("s", 9, 0, sign)
    for value, expected, status in ((3, 2, "ok"), (-9, 5, "ok"), (9, 1, "ok"), (0, None, "failed")):
        shown.seen(ROUND._replace(status=status, objective=value, expected=expected))
    assert out.getvalue().splitlines()[-1].endswith(f"1 failed, best so far: {best}")


def test_after_the_last_round_it_says_what_goes_on(clock, monkeypatch):
    assert "0:00" not in lines(clock, range(20), total=20)[-1]
    monkeypatch.undo()
    monkeypatch.setattr("scenarios.running.progress._SLOW", 0.0)
    out = io.StringIO()
    shown = PlainLines(out)
    shown.start("s", 1, 0, -1.0)
    shown.seen(ROUND)
    shown._ending.join(5)
    assert "all rounds are stored; recommending" in out.getvalue()
    shown.stop()


def test_a_display_serves_several_runs(clock):
    shown = PlainLines(out := io.StringIO(), every=0.0)
    for name, stored in (("first", 0), ("second", 3)):
        shown.start(name, stored + 2, stored, -1.0)
        shown.seen(ROUND)
        shown.seen(ROUND)
        shown.stop()
    ending = "recommending, and simulating again"
    assert out.getvalue().splitlines() == [
        "first: 2 rounds",
        "first: 1 of 2 rounds, best so far: random 1.000",
        f"first: 2 of 2 rounds, {ending}, best so far: random 1.000",
        "first: 2 of 2 rounds stored",
        "second: 5 rounds, 3 stored already",
        "second: 4 of 5 rounds, best so far: random 1.000",
        f"second: 5 of 5 rounds, {ending}, best so far: random 1.000",
        "second: 5 of 5 rounds stored",
    ]
