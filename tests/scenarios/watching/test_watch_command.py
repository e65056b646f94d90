"""The command `policyloop watch`: what it says, what it serves, and how it ends."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request

import psutil
import pytest
from studies import valley_study

pytest.importorskip("aiohttp", reason="aiohttp is not installed: pip install 'policyloop[page]'")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("study")
    valley_study(made, 12)
    return made


@pytest.fixture
def watching(folder):
    """Start the command, and end it in any case; gives the process and what it has said."""
    begun = []

    def start(*arguments):
        command = [sys.executable, "-m", "policyloop", "watch", "--no-browser", *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command, cwd=folder, **pipes)
        begun.append(process)
        said = [process.stdout.readline()]
        while " at http" not in said[-1]:
            assert said[-1], process.stderr.read()
            said.append(process.stdout.readline())
        return process, said

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def address(said):
    return said[-1].partition(" at ")[2].split()[0]


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_study_is_served_until_a_signal_and_nothing_is_left(watching, name, code):
    process, said = watching("s.sqlite")
    url = address(said)
    with urllib.request.urlopen(url, timeout=60) as page:
        assert b"study.js" in page.read()
    found = post(f"{url}rounds", {})
    assert len(found["rounds"]["trial"]) == found["total"] == 48
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=60)
    assert process.returncode == code and "Traceback" not in err
    assert not [child for child in children if child.is_running()]


def test_without_an_argument_the_newest_study_is_said_and_shown(watching):
    _, said = watching()
    assert said[0] == "s.sqlite is the newest study of this folder\n"
    assert post(f"{address(said)}rounds", {})["about"]["file"] == "s.sqlite"


def test_a_port_that_is_taken_ends_it_with_one_line_and_exit_code_2(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "policyloop", "watch", "s.sqlite", "--no-browser", "--port", port]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 2 and ended.stderr.count("\n") == 1
    assert f"port={port}: cannot listen there" in ended.stderr


def test_every_start_has_an_address_of_its_own(watching):
    first, second = (address(watching("s.sqlite")[1]) for _ in range(2))
    assert first.split("/")[3] != second.split("/")[3] and len(first.split("/")[3]) >= 16


def test_other_commands_do_not_import_what_a_page_needs():
    code = (
        "import sys, scenarios.cli;"
        "print([one for one in sys.modules if {'aiohttp', 'watching'} & {*one.split('.')}])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ended.stdout == "[]\n"
