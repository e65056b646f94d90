"""Output files are whole or not there, whatever happens while they are written."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib.image
import pandas as pd
import pytest

from scenarios import load, run
from scenarios.cli import invoke
from scenarios.errors import UserError
from scenarios.outputs import whole_file, whole_folder, write_whole

ROOT = Path(__file__).parents[2]


def left(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_is_not_there_before_it_is_whole(tmp_path):
    target = tmp_path / "table.csv"
    with whole_file(target) as partial:
        partial.write_text("a,b\n")
        assert not target.exists() and partial.parent == tmp_path
    assert target.read_text() == "a,b\n" and left(tmp_path) == ["table.csv"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, ValueError("mine")])
def test_what_was_there_stays_where_writing_stops(tmp_path, stop):
    target = tmp_path / "table.csv"
    write_whole(target, "before")
    with pytest.raises(type(stop) if isinstance(stop, Exception) else stop), whole_file(target) as partial:
        partial.write_text("half")
        raise stop
    assert target.read_text() == "before" and left(tmp_path) == ["table.csv"]


def test_an_error_of_the_disk_is_one_line_that_names_the_file(tmp_path):
    full = pytest.raises(UserError, match=r"table.csv: cannot be written \(No space left on device\)$")
    with full, whole_file(tmp_path / "table.csv"):
        raise OSError(28, "No space left on device")
    with pytest.raises(UserError, match=r"b.csv: cannot be written \(No such file or directory\)$"):
        write_whole(tmp_path / "a" / "b.csv", "")
    with pytest.raises(UserError, match=r"cannot be written \(.*directory\)$"):
        write_whole(tmp_path, "")
    assert left(tmp_path) == []


def test_permissions_are_those_of_any_new_file_or_of_the_one_replaced(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "")
        (tmp_path / "secret").write_text("")
        (tmp_path / "secret").chmod(0o600)
        write_whole(tmp_path / "secret", "more")
        with whole_folder(tmp_path / "folder") as partial:
            (partial / "one").write_text("")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"new": 0o640, "secret": 0o600, "folder": 0o750, "one": 0o640}


def test_a_symbolic_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "link").symlink_to("there")
    write_whole(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "there").read_text() == "text"


def test_a_name_may_be_as_long_as_names_can_be(tmp_path):
    write_whole(tmp_path / ("x" * 255), "text")
    assert left(tmp_path) == ["x" * 255]


def test_a_folder_is_whole_or_not_there_and_replaces_none(tmp_path):
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "mine") as partial:
        (partial / "one").write_text("")
        raise KeyboardInterrupt
    with pytest.raises(UserError, match="is there already"), whole_folder(tmp_path / "mine"):
        (tmp_path / "mine").mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "s.toml").write_text(
        'name = "s"\nrounds = 40\ntrials = 2\nagents = ["random", "uniform"]\n'
        '[environment]\nname = "valley"\n[prior]\nsamples = 0\n'
    )
    run(load(folder / "s.toml"), out=folder / "s.sqlite")
    return folder / "s.sqlite"


SIZES = (100, 2000, 20_000)

# Files that Python opens to write end after so many bytes; those of SQLite, which reads the study, do not.
SMALL_DISK = """
import os, resource, sys
from policyloop.__main__ import main
MOST = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
def small(event, arguments):
    if event == "open" and str(arguments[1])[:1] in "wxa":
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, MOST))
sys.addaudithook(small)
for size in SIZES:
    os.mkdir(f"../{size}")
    os.chdir(f"../{size}")
    code = 0
    try:
        main()
    except SystemExit as ending:
        code = ending.code
    print(f"exit code {code}", file=sys.stderr, flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST))
"""


def on_small_disks(folder, *arguments):
    """A command, once for each of the sizes that its files may have: exit codes and standard errors."""
    (folder / "begin").mkdir()
    command = [sys.executable, "-c", SMALL_DISK.replace("SIZES", str(SIZES)), *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder / "begin", env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = re.split(r"^exit code (\d)\n", done.stderr, flags=re.MULTILINE)
    assert len(told) == 2 * len(SIZES) + 1 and told[-1] == ""
    return zip(SIZES, map(int, told[1::2]), told[:-1:2], strict=True)


COMMANDS = {
    "plot": ["plot", "STUDY", "--out", "figures"],
    "export": ["export", "STUDY", "--out", "table.csv"],
    "new": ["new", "simulator", "my-clinics"],
    "reproduce": ["reproduce", "1", "--quick", "--quiet", "--out", "again"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_one_line_and_leaves_whole_files_alone(study, tmp_path, name):
    arguments = [study if word == "STUDY" else word for word in COMMANDS[name]]
    for size, code, error in on_small_disks(tmp_path, *arguments):
        if code == 0:
            assert size > 100
            continue
        assert code == 2 and error.count("\n") == 1, error
        assert "cannot be written (" in error and "File too large)" in error
        assert name != "new" or not (tmp_path / str(size) / "my-clinics").exists()
        for path in (tmp_path / str(size)).rglob("*"):
            if path.is_file():
                whole(path)


def whole(path):
    """Read a file as what it says it is."""
    match path.suffix:
        case ".svg":
            ElementTree.parse(path)
        case ".png":
            matplotlib.image.imread(path)
        case ".csv":
            assert path.read_bytes().endswith(b"\n") and len(pd.read_csv(path))
        case ".json":
            pd.read_json(path, typ="series")
        case _:
            assert path.name.endswith("lock"), path


@pytest.mark.parametrize(
    "words",
    [
        "show STUDY",
        *[
            pytest.param(words, marks=pytest.mark.slow)
            for words in ("list", "compare STUDY", "compare STUDY --format csv")
        ],
    ],
)
def test_a_full_disk_below_standard_output_is_one_line(study, words):
    command = [sys.executable, "-m", "policyloop", *words.replace("STUDY", str(study)).split()]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr == "policyloop: the output cannot be written (No space left on device)\n"


def test_a_kill_while_a_figure_is_written_leaves_the_old_one(study, tmp_path):
    assert invoke(["plot", str(study), "--out", str(tmp_path / "figures")]) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    code = (
        "import os, sys; from matplotlib.figure import Figure; from scenarios.cli import invoke\n"
        "def half(self, path, **_):\n"
        "    with open(path, 'w') as file: file.write('<svg')\n"
        "    os._exit(9)\n"
        "Figure.savefig = half\n"
        "invoke(sys.argv[1:])"
    )
    arguments = ["plot", str(study), "--out", str(tmp_path / "figures"), "--force"]
    assert subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT).returncode == 9
    assert {path: path.read_bytes() for path in before} == before
    (rest,) = set((tmp_path / "figures").iterdir()) - set(before)
    assert rest.name.startswith(".policyloop-") and rest.name.endswith(".partial")
