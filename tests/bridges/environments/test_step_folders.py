"""Each step of a program runs in a folder of its own, and answers for its own policy alone."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from bridges import CommandEnvironment
from policyloop.watcher import watcher
from simulators import SimulationError, StepLost

POLICY = {"north": (1, 20), "south": (1, 20)}

BY_A_FILE = """
import json, os, sys, time
with open("state.json", "w") as file:
    json.dump(json.load(sys.stdin)["policy"], file)
time.sleep(0.3)
print(list(json.load(open("state.json")).values()))
"""


def environment(folder, text, *words, **options):
    (folder / "model.py").write_text(text)
    command = [sys.executable, "-S", "model.py", *words]
    return CommandEnvironment(command, POLICY, ["north", "south"], folder=folder, **options)


def left(folder):
    """Folders of steps that have not been removed."""
    return [*watcher().scratch.glob("*"), *folder.glob("kept-steps/*")]


def test_programs_side_by_side_answer_for_their_own_policy(tmp_path):
    (tmp_path / "state.json").write_text("{}")  # of an earlier trial by hand: it is none of theirs
    env = environment(tmp_path, BY_A_FILE)
    policies = [(1 + i, 20 - i) for i in range(8)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda policy: env.step(policy).values.tolist(), policies))
    assert answers == [list(policy) for policy in policies]
    assert (tmp_path / "state.json").read_text() == "{}" and left(tmp_path) == []


def test_a_program_finds_what_it_reads_and_its_own_folder(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("3")
    (tmp_path / "data" / "b.csv").write_text("4")
    (tmp_path / "five").write_text("5")
    text = """
import os, sys
from pathlib import Path
home = os.environ["POLICYLOOP_FOLDER"]
assert Path(__file__).parent == Path(home) and Path.cwd() != Path(home) and sys.argv[1:] == ["--out", "five"]
assert sorted(os.listdir()) == ["data", "five"], os.listdir()
print([int(open("data/a.csv").read()) + int(open("five").read()), int(open(home + "/data/b.csv").read())])
"""
    env = environment(tmp_path, text, "--out", "five", files=["data/a.csv", "fi*", "five"])
    assert env.step([1, 1]).values.tolist() == [8, 4]
    assert (tmp_path / "five").read_text() == "5"


FILES = """
import json
print("Welcome to version 7 of the model")
asked = json.load(open("in/policy.json"))["policy"]
with open("result.json", "w") as file:
    {write}
"""


def test_policy_and_answer_may_be_files_and_a_banner_is_let_be_then(tmp_path):
    text = (
        FILES.format(write="json.dump([asked['north'], 2], file)") + "import sys; assert not sys.stdin.read()"
    )
    env = environment(tmp_path, text, input="in/policy.json", answer="result.json")
    assert env.step([7, 1]).values.tolist() == [7, 2]


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (
            "import os; os.remove('result.json')",
            "its answer to the file result.json; there is none; its output",
        ),
        (
            "file.write('{')",
            "nothing else, to the file result.json; it wrote '{'; its output ends: Welcome to v",
        ),
        ("file.write('[1, 2')", "to the file result.json; it wrote"),
        ("file.write(' ' * (17 << 20))", "wrote more than 16 MB to the file result.json"),
        ("import os; os.remove('result.json'); os.mkfifo('result.json')", "there is none"),
    ],
)
def test_a_file_without_an_answer_is_named(tmp_path, write, message):
    env = environment(tmp_path, FILES.format(write=write), input="in/policy.json", answer="result.json")
    with pytest.raises(SimulationError, match=message):
        env.step([7, 1])


@pytest.mark.parametrize(
    ("keep", "failing", "kept"),
    [("none", True, 0), ("failed", True, 1), ("failed", False, 0), ("all", True, 1), ("all", False, 1)],
)
def test_a_folder_is_kept_when_asked(tmp_path, keep, failing, kept):
    answer = "print('{\"north\": 1}')" if failing else "print([1, 2])"
    env = environment(tmp_path, f"open('note', 'w').write('here'); {answer}", keep_folders=keep)
    if failing:
        with pytest.raises(SimulationError) as error:
            env.step([1, 1])
    else:
        env.step([1, 1])
    places = left(tmp_path)
    assert len(places) == kept
    for place in places:
        assert place.parent == tmp_path / "kept-steps"
        assert (place / "note").read_text() == "here" and "north" in (place / "input.json").read_text()
        assert (
            not failing
            or f"no group south; it must name north, south, each once; its folder is kept: {place}"
            in (str(error.value))
        )


def test_processor_time_is_capped(tmp_path):
    env = environment(tmp_path, "while True: pass", cpu_seconds=1)
    with pytest.raises(StepLost, match="took more than 1 s of processor time and was killed"):
        env.step([1, 1])


def test_memory_is_capped_for_a_program_and_what_it_starts(tmp_path):
    eat = "import time; time.sleep(0.2); bytes(300 << 20); print([1, 2])"
    for text in (eat, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {eat!r}], check=True)"):
        assert environment(tmp_path, text, megabytes=500).step([1, 1]).values.tolist() == [1, 2]
        with pytest.raises(SimulationError, match="MemoryError|returned non-zero exit status 1"):
            environment(tmp_path, text, megabytes=200).step([1, 1])
