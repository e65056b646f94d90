"""The other end is a real program, in Python, or in Perl where it is installed."""

import os
import re
import select
import shutil
import sys
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

from bridges import CommandEnvironment
from simulators import SimulationError, check_environment

POLICY = {"north": (1, 20), "nurses south": (1, 20)}

GOOD = """
import json, random, sys
asked = json.load(sys.stdin)
random.seed(asked["seed"])
print("simulating", file=sys.stderr)
x = asked["policy"]
json.dump({"south": 90 / x["nurses south"] + random.gauss(0, 1), "north": 40 / x["north"]}, sys.stdout)
"""


def environment(tmp_path, text, policy=POLICY, **options):
    (tmp_path / "model.py").write_text(text)
    command = [sys.executable, "-S", "model.py"]
    return CommandEnvironment(command, policy, ["north", "south"], folder=tmp_path, **options)


def failure(env, policy=(2, 3)):
    env.reset(5)
    with pytest.raises(SimulationError) as error:
        env.step(policy)
    assert "\n" not in str(error.value)
    assert f"north=2, nurses south=3 and seed {error.value.seed}" in str(error.value)
    return str(error.value)


def test_a_program_keeps_the_contract(tmp_path):
    assert check_environment(environment(tmp_path, GOOD, budget=25)) == []


def test_a_program_reads_whole_numbers_and_names_of_categories(tmp_path):
    text = """
import json, sys
asked = json.load(sys.stdin)["policy"]
assert [type(x) for x in asked.values()] == [int, str, float, float], asked
json.dump([asked["buses"], asked["share[south]"] * (asked["tariff"] == "by zone")], sys.stdout)
"""
    policy = {"buses": {"whole": (0, 9)}, "tariff": {"one_of": ["flat", "by zone"]}, "share[*]": (0, 1)}
    env = environment(tmp_path, text, policy=policy)
    assert env.step([3, "by zone", 0, 0.5]).values.tolist() == [3, 0.5]
    (tmp_path / "model.py").write_text("1 / 0")
    with pytest.raises(SimulationError, match=r"asked with buses=3, tariff=flat, share.north.=0, share"):
        env.step([3, 0, 0, 0.5])


def test_the_outcomes_are_those_of_the_program(tmp_path):
    env = environment(tmp_path, GOOD)
    env.reset(1)
    assert env.step([8, 9]).values[0] == 5.0


@pytest.mark.skipif(shutil.which("perl") is None, reason="Perl is not installed")
def test_a_program_in_another_language_answers_with_a_list(tmp_path):
    (tmp_path / "model.pl").write_text(
        "use JSON::PP; my $asked = decode_json(join '', <STDIN>); srand($asked->{seed});"
        "my $x = $asked->{policy}; print encode_json([40 / $x->{north}, undef]);"
    )
    env = CommandEnvironment(["perl", "model.pl"], POLICY, ["north", "south"], folder=tmp_path)
    assert np.array_equal(env.step([8, 9]).values, [5.0, np.nan], equal_nan=True)


def test_no_shell_reads_the_command(tmp_path):
    text = "import json, sys; json.dump([len(sys.argv[1]), len(sys.argv)], sys.stdout)"
    (tmp_path / "model.py").write_text(text)
    words = ["$HOME; touch stolen | *"]
    command = [sys.executable, "-S", "model.py", *words]
    env = CommandEnvironment(command, POLICY, ["north", "south"], folder=tmp_path)
    assert env.step([1, 1]).values.tolist() == [len(words[0]), 2]
    assert not (tmp_path / "stolen").exists()


def test_variables_reach_the_program(tmp_path):
    text = "import os; print([int(os.environ['NORTH']), 1])"
    assert environment(tmp_path, text, variables={"NORTH": "7"}).step([1, 1]).values[0] == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; print('no licence\\nfound', file=sys.stderr); sys.exit(3)", "ended with exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
        ("print('Loading...'); print([1, 2])", "nothing else, to standard output; it wrote 'Loading... "),
        ("pass", "must write one JSON object or list, and nothing else, .* it wrote nothing"),
        ("print('{')", "it wrote '{'"),
        (
            "print('Loading...'); print([1, 2])",
            r"with 'Loading...' before its answer: .*answer = .result.json",
        ),
        ("print([1, 2]); print('Done.')", "with 'Done.' after its answer"),
        ("print('\\ufeff[1, 2]')", r"standard output with a byte order mark \(BOM, UTF-8\)"),
        ("import sys; sys.stdout.buffer.write('[1, 2]'.encode('utf-16'))", r"\(BOM, UTF-16\); it must write"),
        ('print(\'{"north": 1, "south": 2, "north": 3}\')', "answered with the key 'north' twice"),
        ("print('\\udcff' and [1])", "answered 1 values for the 2 groups"),
        ("print('{\"north\": 1}')", "no group south"),
        ("print('[1, \"2\"]')", "outcome of south is '2', not a number"),
        ("print('[1, Infinity]')", "outcome of south is infinite"),
        ("import sys; sys.stdout.buffer.write(bytes(range(128, 256)))", "it wrote '"),
        ("1 / 0", "standard error ends: .*ZeroDivisionError: division by zero"),
    ],
)
def test_what_a_program_does_wrong_is_one_line(tmp_path, text, message):
    assert re.search(message, failure(environment(tmp_path, text)))


def test_the_tail_of_standard_error_is_quoted(tmp_path):
    text = "import sys; sys.stderr.write('x' * 5000 + ' no licence\\nfound\\n'); sys.exit(1)"
    message = failure(environment(tmp_path, text))
    assert "no licence found;" in message
    assert len(message) < 700


STARTS_A_CHILD = """
import os, subprocess, sys, time
os.chdir(os.environ["POLICYLOOP_FOLDER"])
line = os.open("line", os.O_WRONLY)
os.write(line, b"begun")
child = '''
import os, pathlib, sys, time
for _ in range(6000):
    time.sleep(0.01)
    if pathlib.Path("go on").exists():
        os.write(int(sys.argv[1]), b", lived on")
        break
'''
command = [sys.executable, "-S", "-c", child, str(line)]
subprocess.Popen(command, pass_fds=[line], start_new_session={session})
print([1, 2], flush=True)
print("waiting", file=sys.stderr, flush=True)
time.sleep({seconds})
"""


@contextmanager
def line_to(folder):
    """A line on which a program says that it has begun, and its child, once told to go on, that it lives.

    Yields a function that tells the child to go on, and returns what was said by the end of the last of them.
    """
    os.mkfifo(folder / "line")
    line = os.open(folder / "line", os.O_RDONLY | os.O_NONBLOCK)

    def said():
        (folder / "go on").touch()
        text = b""
        while select.select([line], [], [], 30)[0]:
            if not (more := os.read(line, 100)):
                return text.decode()
            text += more
        return f"{text.decode()}, and the line is still open"

    yield said
    os.close(line)


def test_a_program_that_takes_too_long_is_killed_with_all_it_started(tmp_path):
    text = STARTS_A_CHILD.format(session=False, seconds=600)
    with line_to(tmp_path) as said:
        message = failure(environment(tmp_path, text, seconds=3.0))
        assert said() == "begun"
    assert "took longer than 3 s and was killed; standard error ends: waiting" in message


@pytest.mark.parametrize("session", [False, True])
def test_the_answer_of_a_program_that_has_ended_counts_though_a_child_holds_its_output_open(
    tmp_path, session
):
    text = STARTS_A_CHILD.format(session=session, seconds=0)
    with line_to(tmp_path) as said:
        # The child holds the output open for longer than a step may take.
        assert environment(tmp_path, text, seconds=50).step([1, 1]).values.tolist() == [1, 2]
        # What it left in its own session is let be, all else is killed.
        assert said() == ("begun, lived on" if session else "begun")


def test_of_standard_error_only_the_end_is_kept(tmp_path):
    text = "import sys; [sys.stderr.write('x' * 2**20) for _ in range(60)]; sys.exit('no licence')"
    env = environment(tmp_path, text)
    tracemalloc.start()
    message = failure(env)
    assert tracemalloc.get_traced_memory()[1] < 5 << 20
    tracemalloc.stop()
    assert "no licence" in message and len(message) < 700


def test_a_program_that_writes_without_end_is_stopped(tmp_path):
    message = failure(environment(tmp_path, "while True: print('x' * 2**20)", seconds=30))
    assert "wrote more than 16 MB to standard output and was killed" in message


def test_a_message_larger_than_a_pipe_is_read_whole_or_not_at_all(tmp_path):
    many = {"policy": {f"{i:0>500}": (0, 1) for i in range(400)}, "groups": ["length"], "folder": tmp_path}
    for text, length in (("print([len(sys.stdin.read())])", 200_000), ("print([0])", 0)):
        (tmp_path / "model.py").write_text(f"import sys; {text}")
        env = CommandEnvironment([sys.executable, "-S", "model.py"], **many)
        assert env.step(np.ones(400)).values[0] >= length


def test_a_program_need_not_read_what_it_is_told(tmp_path):
    env = environment(tmp_path, "import os; os.close(0); print([1, 2])")
    assert env.step([1, 1]).values.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"command": "Rscript model.R"}, "must be a list of words, .* no shell reads it"),
        ({"command": []}, "must be a list of words"),
        ({"command": ["no-such-program"]}, "program 'no-such-program' is not on the PATH"),
        ({"command": ["./model.sh"]}, "model.sh' is not there"),
        ({"command": ["./text.txt"]}, "text.txt' is not executable"),
        ({"seconds": 0}, "seconds=0 must be a finite number > 0"),
        ({"cpu_seconds": 0.5}, "cpu_seconds=0.5 must be a whole number"),
        ({"megabytes": 0}, "megabytes=0 must be a whole number"),
        (
            {"variables": {"OMP_NUM_THREADS": 1}},
            "variables: 'OMP_NUM_THREADS' = 1; accepted: a text, such as '1'",
        ),
        ({"files": "data.csv"}, "files='data.csv' must be a list of names or patterns"),
        ({"files": ["data.csv"]}, "files: 'data.csv' names nothing in folder="),
        ({"files": ["../data.csv"]}, "must be a name or pattern in folder="),
        ({"answer": "/tmp/answer"}, "answer='/tmp/answer' must be a file's name"),
        ({"answer": "a", "input": "a"}, "answer='a' must differ from input"),
        ({"keep_folders": "some"}, "keep_folders='some'"),
        ({"folder": "no/such/folder"}, "folder='no/such/folder' is not a folder"),
    ],
)
def test_an_impossible_command_is_refused_in_one_line(tmp_path, changes, message):
    (tmp_path / "text.txt").write_text("no program")
    given = {"command": [sys.executable], "policy": POLICY, "groups": ["one"], "folder": tmp_path, **changes}
    with pytest.raises(ValueError, match=message) as refusal:
        CommandEnvironment(**given)
    assert "\n" not in str(refusal.value)
