import pickle

import numpy as np
import pytest

import simulators
from simulators.contract.targets import absolute, is_target, load_target

MODEL = """
import numpy as np
import {neighbour}
from scipy.optimize import Bounds
from simulators import Environment, Outcomes, PolicySpace


class Pond(Environment):
    groups, group_units, objective_unit, sense = ("fish",), ("kg",), "kg", "maximize"
    policy_space = PolicySpace(["nets"], ["1"], bounds=Bounds(0, 1))

    def __init__(self, size=1.0):
        self.size = size

    def step(self, policy):
        return Outcomes(self.size * self.policy_space.check(policy) * {neighbour}.CATCH)


def small(size):
    return Pond(size / 2)


pond = Pond(8.0)
number = 3
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "neighbour_of_pond.py").write_text("CATCH = 10")
    (tmp_path / "pond.py").write_text(MODEL.format(neighbour="neighbour_of_pond"))
    return tmp_path / "pond.py"


def test_a_file_names_a_class_a_function_or_an_environment(file):
    assert simulators.make(f"{file}:Pond", size=2.0).step([0.5]).values.tolist() == [10.0]
    assert simulators.make(f"{file}:small", size=2.0).step([0.5]).values.tolist() == [5.0]
    assert simulators.make(f"{file}:pond").step([0.5]).values.tolist() == [40.0]


def test_an_environment_of_a_file_is_copied_for_everyone(file):
    first, second = (simulators.make(f"{file}:pond") for _ in range(2))
    first.size = 0.0
    assert second.size == 8.0


def test_an_environment_that_cannot_be_copied_is_to_be_built_by_a_function(file):
    with file.open("a") as text:
        text.write("pond.file = open(__file__)\n")
    with pytest.raises(ValueError, match="cannot be copied, .*TextIOWrapper.*name a function that builds it"):
        simulators.make(f"{file}:pond")


def test_a_class_of_a_file_keeps_its_name_and_can_be_pickled(file):
    pond = simulators.make(f"{file}:Pond")
    assert pond.name == "Pond"
    assert pickle.loads(pickle.dumps(pond)).step([1.0]).values == 10.0


def test_a_module_is_named_with_dots():
    assert load_target("numpy.linalg:inv") is np.linalg.inv
    assert simulators.make("simulators.flu.ode:FluODE", days=10).days == 10


@pytest.mark.parametrize(
    ("attribute", "options", "message"),
    [
        ("Lake", {}, "has no 'Lake'; it has Pond, small"),
        ("number", {}, "must name a class or a function, not 3"),
        ("Pond", {"sise": 1}, "no option 'sise'; did you mean 'size'."),
        ("small", {}, "needs the option 'size'; .*FunctionEnvironment makes one of a function that computes"),
        ("pond", {"size": 1}, "no option 'size' .accepted: none"),
    ],
)
def test_what_is_wrong_with_a_target_is_one_line(file, attribute, options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        simulators.make(f"{file}:{attribute}", **options)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("class Helper: pass\n", ""),
        (
            "LARGE = 3\nclass Helper: pass\ndef waiting(x): return [x]\n",
            "; it has waiting; a function that is named",
        ),
    ],
)
def test_what_is_no_simulator_is_not_offered_as_one(tmp_path, text, offered):
    (tmp_path / "clinic.py").write_text(text)
    with pytest.raises(ValueError, match=f"has no 'clinic'{offered or '$'}"):
        simulators.make(f"{tmp_path}/clinic.py:clinic")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 +", "cannot be imported: SyntaxError"),
        ("raise RuntimeError('no\\nlicence')", "cannot be imported: RuntimeError: no licence"),
        ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
        ("import a_library_that_is_not_there", "No module named 'a_library_that_is_not_there'$"),
        ("def made(): return 'a word'", "must be a simulators.Environment, not of type str; .*FunctionEnv"),
    ],
)
def test_a_file_that_fails_says_why(tmp_path, text, message):
    (tmp_path / "bad.py").write_text(text)
    for _ in range(2):  # it is not taken for imported the second time
        with pytest.raises(ValueError, match=message) as refusal:
            simulators.make(f"{tmp_path / 'bad.py'}:made")
        assert "\n" not in str(refusal.value)


def test_what_is_not_there_says_so(tmp_path):
    with pytest.raises(ValueError, match="there is no file .*nothing.py"):
        simulators.make(f"{tmp_path}/nothing.py:Pond")
    with pytest.raises(ValueError, match="install it into this environment, or name its file"):
        simulators.make("no_such_package.ponds:Pond")


def test_only_files_have_a_place(tmp_path):
    assert absolute("ponds.py:Pond", tmp_path) == f"{tmp_path.resolve()}/ponds.py:Pond"
    assert absolute("package.ponds:Pond", tmp_path) == "package.ponds:Pond"
    assert [is_target(text) for text in ("a:b", "a", ":b", "a:", 3)] == [True, False, False, False, False]
