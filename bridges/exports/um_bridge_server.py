"""An environment as UM-Bridge models, served over HTTP: for clients in Python, C++, R, MATLAB or Julia.

The protocol, version 1.0, is JSON over HTTP, an endpoint a question: which models there are, and of a model
what it supports, its sizes and its outputs. Who may ask, and how much, is in `guarded_server`.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from reprlib import repr  # of what a client sent the beginning, however deep it is
from typing import Any, NoReturn

import numpy as np

from bridges.exports.guarded_server import Caps, Endpoints, listening
from bridges.steps import observe
from policyloop.http_guard import Guard, Refusal
from policyloop.messages import on_one_line
from simulators.contract.environment import Environment, SimulationError

LOOPBACK = "127.0.0.1"
PORT = 4242
"""UM-Bridge's customary port."""

DERIVATIVES = ("Gradient", "ApplyJacobian", "ApplyHessian")
"""What the protocol can ask of a model and none of ours supports."""

LARGEST_SEED = 2**63 - 1


def _mistake(words: str, kind: str = "ValueError") -> Refusal:
    """A client's mistake; `kind` is the protocol's name of it where it has one."""
    return Refusal(400, kind, words)


class EnvironmentModel:
    """A model with one input vector, a policy, or in a finite space a candidate's row.

    The vector has an entry for every lever, in order: a real number; a whole number, which has to be on its
    steps; the place of a category among the names, from 0. What is none of these is an error that says what
    is accepted, and no step is taken. The one output vector has an outcome a group, or with `composed` the
    objective alone.
    """

    def __init__(self, environment: Environment, composed: bool = False) -> None:
        space = environment.policy_space
        self.environment: Environment
        self.composed: bool
        self.environment, self.composed = environment, composed
        self.name: str = f"{environment.name}-objective" if composed else environment.name
        self.inputs: int = 1 if space.finite else space.d
        self.outputs: int = 1 if composed else len(environment.groups)

    def checked(self, vector: list[float], config: Mapping[str, Any]) -> tuple[Any, int | None]:
        """The policy and the seed that a client asks for, or Refusal.

        `config` may hold a `seed` of the noise, and of the memory if there is one, and nothing else; without
        it the noise stream goes on.
        """
        space = self.environment.policy_space
        try:
            policy = space.check(vector[0] if space.finite else vector)
        except (ValueError, OverflowError) as error:
            raise _mistake(on_one_line(error)) from error
        if unknown := [key for key in config if key != "seed"]:
            raise _mistake(f"config: unknown key {repr(unknown[0])}; accepted: 'seed'")
        if "seed" not in config:
            return policy, None
        seed = config["seed"]
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
            raise _mistake(
                f"config: seed = {repr(seed)}; accepted: a whole number, 0 or more, at most {LARGEST_SEED}"
            )
        return policy, seed

    def evaluate(self, policy: Any, seed: int | None) -> list[float]:
        """Take a step, and raise SimulationError if a group is missing: the protocol has no word for that."""
        values = observe(self.environment, policy, seed).values
        lost = [g for g, value in zip(self.environment.groups, values, strict=True) if not np.isfinite(value)]
        if lost:
            raise SimulationError(f"the outcome of {', '.join(lost)} is missing", policy)
        if self.composed:
            values = self.environment.compose(values[None], np.asarray([policy]))
        return list(map(float, values))


@contextmanager
def serving(
    environment: Environment,
    host: str = LOOPBACK,
    port: int = PORT,
    *,
    allow_hosts: Sequence[str] = (),
    token: str | None = None,
    caps: Caps | None = None,
) -> Iterator[str]:
    """Serve an environment while the context lasts; its models are NAME and NAME-objective.

    Parameters
    ----------
    environment : Environment
        Steps are taken one at a time.
    host : str, default="127.0.0.1"
        Where to listen: this machine alone, unless another address is given.
    port : int, default=4242
        0 takes any free one.
    allow_hosts : sequence of str, optional
        Names of this server, as `Host` and `Origin` say them, besides those of the loopback and `host`.
    token : str, optional
        What a request has to show as `Authorization: Bearer TOKEN`. Without one there is no access control.
    caps : Caps, optional
        What is taken at most of bodies, connections and time.

    Yields
    ------
    str
        The server's url.

    Raises
    ------
    ValueError
        If nothing can listen there, or a name is no host's.
    """
    guard = Guard.of(host, allow_hosts, token)
    models = [EnvironmentModel(environment), EnvironmentModel(environment, composed=True)]
    with listening(endpoints(models), guard, host, port, caps) as url:
        yield url


def serve(
    environment: Environment,
    host: str = LOOPBACK,
    port: int = PORT,
    announce: Callable[[str], None] = print,
    *,
    allow_hosts: Sequence[str] = (),
    token: str | None = None,
) -> None:
    """Serve an environment until Ctrl-C; see `serving`. `announce` is told the url as soon as it answers."""
    with serving(environment, host, port, allow_hosts=allow_hosts, token=token) as url:
        announce(url)
        threading.Event().wait()


def endpoints(models: Sequence[EnvironmentModel]) -> Endpoints:
    """The protocol's endpoints for some models; steps are taken one at a time."""
    known = {model.name: model for model in models}
    steps = ThreadPoolExecutor(max_workers=1)

    async def info(_: bytes) -> Any:
        return {"protocolVersion": 1.0, "models": list(known)}

    def asked_for(body: bytes) -> tuple[dict[str, Any], EnvironmentModel]:
        asked = _read(body)
        if (model := known.get(asked["name"])) is None:
            raise _mistake(
                f"Model {asked['name']} not found! The following are available: {list(known)}.",
                "ModelNotFound",
            )
        return asked, model

    async def model_info(body: bytes) -> Any:
        asked_for(body)
        return {"support": {"Evaluate": True} | dict.fromkeys(DERIVATIVES, False)}

    async def input_sizes(body: bytes) -> Any:
        return {"inputSizes": [asked_for(body)[1].inputs]}

    async def output_sizes(body: bytes) -> Any:
        return {"outputSizes": [asked_for(body)[1].outputs]}

    async def evaluate(body: bytes) -> Any:
        asked, model = asked_for(body)
        policy, seed = model.checked(_vector(asked, model), asked.get("config", {}))
        step = partial(model.evaluate, policy, seed)
        return {"output": [await asyncio.get_running_loop().run_in_executor(steps, step)]}

    def unsupported(feature: str) -> Callable[[bytes], Any]:
        async def answer(body: bytes) -> Any:
            asked_for(body)
            raise _mistake(f"{feature} not supported by model!", "UnsupportedFeature")

        return answer

    return {
        ("GET", "/Info"): info,
        ("POST", "/ModelInfo"): model_info,
        ("POST", "/InputSizes"): input_sizes,
        ("POST", "/OutputSizes"): output_sizes,
        ("POST", "/Evaluate"): evaluate,
        **{("POST", f"/{feature}"): unsupported(feature) for feature in DERIVATIVES},
    }


def _read(body: bytes) -> dict[str, Any]:
    """The JSON object of a request, with the name of a model, and a configuration or none."""
    try:
        asked = json.loads(body.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):  # the latter of a thousand lists in one another
        asked = None
    if not isinstance(asked, dict) or not isinstance(asked.get("name"), str):
        raise _mistake("the request must be a JSON object with the name of a model, {'name': .., ..}")
    if not isinstance(asked.get("config", {}), dict):
        raise _mistake(f"config={repr(asked['config'])}; accepted: an object, such as {{'seed': 1}}")
    return asked


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _vector(asked: Mapping[str, Any], model: EnvironmentModel) -> list[float]:
    """The one input vector of a request, as long as the model's."""
    vectors = asked.get("input")
    if not (isinstance(vectors, list) and all(map(_is_vector, vectors))):
        raise _mistake(f"input={repr(vectors)}; accepted: a list of vectors, such as [[0.5, 0.2]]")
    if len(vectors) != 1:
        raise _mistake(
            "Number of input parameters does not match model number of model inputs!", "InvalidInput"
        )
    vector: list[float] = vectors[0]
    if len(vector) != model.inputs:
        raise _mistake(
            f"Input parameter 0 has invalid length! Expected {model.inputs} but got {len(vector)}.",
            "InvalidInput",
        )
    return vector


def _is_vector(given: object) -> bool:
    return isinstance(given, list) and all(
        isinstance(x, int | float) and not isinstance(x, bool) for x in given
    )
