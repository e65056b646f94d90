"""A study is followed while it is written, by its new rounds only, and never in the writer's way."""

import os
import shutil

import pytest
from growing import begun
from studies import valley_study

from scenarios.errors import UserError
from scenarios.study.store import Store
from scenarios.watching import following
from scenarios.watching.following import Follower, newest
from scenarios.watching.story import MOST, Story, columns


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Every look looks."""
    monkeypatch.setattr(following, "LEAST_SECONDS", 0.0)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, request):
    return valley_study(tmp_path_factory.mktemp("finished"), 6)


def keys(rounds):
    return sorted((one.trial, one.agent, one.round) for one in rounds)


def test_every_round_is_seen_once_in_whatever_order_it_is_written(finished, tmp_path):
    path, rounds = tmp_path / "grows.sqlite", finished.rounds()
    with begun(finished, path) as store:
        store.add(rounds[:3])
        follower = Follower(path)
        assert follower.look().known == 3
        store.add([rounds[8], rounds[5]])
        assert follower.look().known == 5
        store.add([one for one in rounds[3:] if one not in (rounds[5], rounds[8])])
        assert follower.look().known == len(rounds)
    assert keys(follower.rounds) == keys(rounds)
    assert follower.look().seconds_left is None and not follower.look().problem


def test_rounds_before_the_last_look_are_not_read_again(finished, tmp_path, monkeypatch):
    path, rounds = tmp_path / "grows.sqlite", finished.rounds()
    asked = []
    reading = following.read_rounds
    monkeypatch.setattr(following, "read_rounds", lambda c, *key: asked.append(key) or reading(c, *key))
    with begun(finished, path) as store:
        store.add([one for one in rounds if one.trial == 1])
        follower = Follower(path)
        store.add([one for one in rounds if (one.trial, one.agent) == (2, "random")])
        follower.look()
    assert asked == [(2, "random")]


def test_an_unchanged_file_is_not_opened(finished, monkeypatch):
    follower = Follower(finished.path)
    follower.look(), follower.look()
    monkeypatch.setattr(following, "connect", lambda *a, **k: pytest.fail("opened"))
    assert follower.look().known == len(finished.rounds())


def test_the_writer_is_never_kept_waiting(finished, tmp_path, monkeypatch):
    """A look during a transaction sees what was there before it; one between leaves no lock."""
    path, rounds = tmp_path / "grows.sqlite", finished.rounds()
    with begun(finished, path) as store:
        store.add(rounds[:2])
        follower = Follower(path)
        store.read().execute("PRAGMA busy_timeout=0")
        store.read().execute("BEGIN IMMEDIATE")
        assert follower.look().known == 2
        store.read().execute("COMMIT")
        store.add(rounds[2:4])  # with no patience: a lock left behind would be an error
        assert follower.look().known == 4
    with Store(path, resume=True) as store:
        store.add(rounds[4:5])
    assert follower.look().known == 5


def test_another_study_of_the_same_name_is_begun_anew(finished, tmp_path):
    path = tmp_path / "s.sqlite"
    shutil.copy(finished.path, path)
    follower = Follower(path)
    assert follower.look().generation == 0
    (tmp_path / "other").mkdir()
    other = valley_study(tmp_path / "other", 2)
    os.replace(other.path, path)
    seen = follower.look()
    assert (seen.generation, seen.known) == (1, len(other.rounds()))


def test_a_file_that_is_gone_is_a_problem_and_no_end(finished, tmp_path):
    path = tmp_path / "s.sqlite"
    shutil.copy(finished.path, path)
    follower = Follower(path)
    path.rename(tmp_path / "elsewhere.sqlite")
    assert "no such study" in follower.look().problem
    (tmp_path / "elsewhere.sqlite").rename(path)
    assert not follower.look().problem


def test_time_left_is_that_of_the_rounds_left_at_the_pace_seen(finished, tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(following, "monotonic", lambda: clock[0])
    path, rounds = tmp_path / "grows.sqlite", finished.rounds()
    with begun(finished, path) as store:
        store.add(rounds[:2])
        follower = Follower(path)
        assert follower.look().seconds_left is None
        clock[0] += 10.0
        store.add(rounds[2:6])
        assert follower.look().seconds_left == pytest.approx(10 / 4 * (len(rounds) - 6))
        clock[0] += 7.0
        assert follower.look().silent_seconds == pytest.approx(7.0)


def test_the_newest_study_is_the_one_written_last(finished, tmp_path):
    for i, name in enumerate(("b.sqlite", "a.sqlite")):
        shutil.copy(finished.path, tmp_path / name)
        os.utime(tmp_path / name, (1e9 + i, 1e9 + i))
    (tmp_path / "foreign.sqlite").write_text("not a database")
    assert newest(tmp_path).name == "a.sqlite"


def test_a_folder_without_a_study_and_a_study_that_is_not_there_are_said(tmp_path):
    with pytest.raises(UserError, match="there is no study in this folder"):
        newest(tmp_path)
    with pytest.raises(UserError, match="no such study"):
        Follower(tmp_path / "none.sqlite")


def test_a_page_is_told_what_it_does_not_know_in_parts(finished, monkeypatch):
    story, rounds = Story(Follower(finished.path)), finished.rounds()
    monkeypatch.setattr("scenarios.watching.story.MOST", 5)
    assert MOST > 5
    known, told = 0, []
    while True:
        part = story.new_rounds({"generation": 0 if known else None, "known": known}, None)
        assert ("about" in part) == (known == 0)
        assert part["from"] == known
        told += list(zip(*(part["rounds"][name] for name in ("trial", "agent", "round")), strict=True))
        known = len(told)
        if not part["more"]:
            break
    assert told == [(one.trial, one.agent, one.round) for one in rounds]
    assert columns(rounds)["policy"] == [one.policy for one in rounds]


@pytest.mark.parametrize("known", [-1, 10**9, "1", None, 1.5])
def test_what_a_page_says_to_know_is_not_believed(finished, known):
    story = Story(Follower(finished.path))
    assert story.new_rounds({"generation": 0, "known": known}, None)["from"] == 0


def test_what_agents_recommend_is_seen_once_it_is_written(finished, tmp_path):
    path = tmp_path / "grows.sqlite"
    with begun(finished, path) as store:
        store.add(finished.rounds())
        follower = Follower(path)
        assert follower.advice == []
        store.add([], finished.recommendations()[:3])
        follower.look()
        assert follower.advice == finished.recommendations()[:3]
        answer = Story(follower).new_rounds({}, None)
    assert [(one["trial"], one["agent"]) for one in answer["advice"]] == [
        (one.trial, one.agent) for one in finished.recommendations()[:3]
    ]
    assert answer["rounds"]["expected"] == [one.expected for one in follower.rounds]
