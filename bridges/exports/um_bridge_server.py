"""An environment as UM-Bridge models, served over HTTP: for clients in Python, C++, R, MATLAB or Julia.

The protocol, version 1.0, is JSON over HTTP, an endpoint a question: which models there are, and of a model
what it supports, its sizes and its outputs.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from bridges.extras import missing
from bridges.steps import observe
from policyloop.messages import on_one_line
from simulators.contract.environment import Environment, SimulationError

try:
    from aiohttp import web
except ModuleNotFoundError as error:
    raise missing(error, "a UM-Bridge server") from error

LOOPBACK = "127.0.0.1"
PORT = 4242
"""UM-Bridge's customary port."""

DERIVATIVES = ("Gradient", "ApplyJacobian", "ApplyHessian")
"""What the protocol can ask of a model and none of ours supports."""


class ModelNotFound(ValueError):
    """The protocol's error: there is no model of that name."""


class InvalidInput(ValueError):
    """The protocol's error: the input vectors are not as long as the model's."""


class UnsupportedFeature(ValueError):
    """The protocol's error: no model has that feature."""


class EnvironmentModel:
    """A model with one input vector, a policy, or in a finite space a candidate's row.

    The vector has an entry for every lever, in order: a real number; a whole number, which has to be on its
    steps; the place of a category among the names, from 0. What is none of these is an error that says what
    is accepted, and no step is taken. The one output vector has an outcome a group, or with `composed` the
    objective alone.
    """

    def __init__(self, environment: Environment, composed: bool = False) -> None:
        space = environment.policy_space
        self.environment, self.composed = environment, composed
        self.name = f"{environment.name}-objective" if composed else environment.name
        self.inputs = 1 if space.finite else space.d
        self.outputs = 1 if composed else len(environment.groups)

    def evaluate(self, vector: list[float], config: Mapping[str, Any]) -> list[float]:
        """Take a step, and raise SimulationError if a group is missing: the protocol has no word for that.

        `config` may hold a `seed` of the noise, and of the memory if there is one, and nothing else; without
        it the noise stream goes on.
        """
        space = self.environment.policy_space
        policy = space.check(vector[0] if space.finite else vector)
        if unknown := [key for key in config if key != "seed"]:
            raise ValueError(f"config: unknown key {unknown[0]!r}; accepted: 'seed'")
        seed = config.get("seed")
        if "seed" in config and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            raise ValueError(f"config: seed = {seed!r}; accepted: a whole number, 0 or more")
        values = observe(self.environment, policy, seed).values
        lost = [g for g, value in zip(self.environment.groups, values, strict=True) if not np.isfinite(value)]
        if lost:
            raise SimulationError(f"the outcome of {', '.join(lost)} is missing", policy)
        if self.composed:
            values = self.environment.compose(values[None], np.asarray([policy]))
        return list(map(float, values))


@contextmanager
def serving(environment: Environment, host: str = LOOPBACK, port: int = PORT) -> Iterator[str]:
    """Serve an environment while the context lasts; its models are NAME and NAME-objective.

    Parameters
    ----------
    environment : Environment
        Steps are taken one at a time.
    host : str, default="127.0.0.1"
        Where to listen: this machine alone, unless another address is given. There is no access control.
    port : int, default=4242
        0 takes any free one.

    Yields
    ------
    str
        The server's url.

    Raises
    ------
    ValueError
        If nothing can listen there.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = web.AppRunner(
        application([EnvironmentModel(environment), EnvironmentModel(environment, composed=True)])
    )
    try:
        try:
            asyncio.run_coroutine_threadsafe(_listen(runner, host, port), loop).result()
        except (OSError, OverflowError) as refused:
            reason = getattr(refused, "strerror", None) or refused
            raise ValueError(f"host={host!r}, port={port}: cannot listen there: {reason}") from refused
        taken = runner.addresses[0]
        yield f"http://{f'[{taken[0]}]' if ':' in taken[0] else taken[0]}:{taken[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def serve(
    environment: Environment,
    host: str = LOOPBACK,
    port: int = PORT,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve an environment until Ctrl-C; see `serving`. `announce` is told the url as soon as it answers."""
    with serving(environment, host, port) as url:
        announce(url)
        threading.Event().wait()


def application(models: Sequence[EnvironmentModel]) -> web.Application:
    """The protocol's endpoints for some models; steps are taken one at a time."""
    known = {model.name: model for model in models}
    steps = ThreadPoolExecutor(max_workers=1)

    async def info(_: web.Request) -> web.Response:
        return web.json_response({"protocolVersion": 1.0, "models": list(known)})

    async def answer(request: web.Request) -> web.Response:
        asked, feature = _read(await request.text()), request.path.removeprefix("/")
        if (model := known.get(asked["name"])) is None:
            raise ModelNotFound(
                f"Model {asked['name']} not found! The following are available: {list(known)}."
            )
        reply: dict[str, Any]
        match feature:
            case "ModelInfo":
                reply = {"support": {"Evaluate": True} | dict.fromkeys(DERIVATIVES, False)}
            case "InputSizes":
                reply = {"inputSizes": [model.inputs]}
            case "OutputSizes":
                reply = {"outputSizes": [model.outputs]}
            case "Evaluate":
                step = partial(model.evaluate, _vector(asked, model), asked.get("config", {}))
                reply = {"output": [await asyncio.get_running_loop().run_in_executor(steps, step)]}
            case _:
                raise UnsupportedFeature(f"{feature} not supported by model!")
        return web.json_response(reply, dumps=partial(json.dumps, allow_nan=False))  # nan is no JSON

    app = web.Application(middlewares=[_failures_in_words], client_max_size=0)  # requests of any size
    app.router.add_get("/Info", info)
    for feature in ("ModelInfo", "InputSizes", "OutputSizes", "Evaluate", *DERIVATIVES):
        app.router.add_post(f"/{feature}", answer)
    return app


@web.middleware
async def _failures_in_words(request: web.Request, handler: Any) -> web.StreamResponse:
    """Answer an exception as the protocol's error, which clients show."""
    try:
        answer: web.StreamResponse = await handler(request)
        return answer
    except web.HTTPException:
        raise
    except Exception as failure:
        words = {"type": type(failure).__name__, "message": on_one_line(failure)}
        return web.json_response({"error": words}, status=400 if isinstance(failure, ValueError) else 500)


def _read(text: str) -> dict[str, Any]:
    """The JSON object of a request, with the name of a model, and a configuration or none."""
    try:
        asked = json.loads(text)
    except ValueError:
        asked = None
    if not isinstance(asked, dict) or not isinstance(asked.get("name"), str):
        raise ValueError("the request must be a JSON object with the name of a model, {'name': .., ..}")
    if not isinstance(asked.get("config", {}), dict):
        raise ValueError(f"config={asked['config']!r}; accepted: an object, such as {{'seed': 1}}")
    return asked


def _vector(asked: Mapping[str, Any], model: EnvironmentModel) -> list[float]:
    """The one input vector of a request, as long as the model's."""
    vectors = asked.get("input")
    if not (isinstance(vectors, list) and all(map(_is_vector, vectors))):
        raise ValueError(f"input={vectors!r}; accepted: a list of vectors, such as [[0.5, 0.2]]")
    if len(vectors) != 1:
        raise InvalidInput("Number of input parameters does not match model number of model inputs!")
    vector: list[float] = vectors[0]
    if len(vector) != model.inputs:
        raise InvalidInput(
            f"Input parameter 0 has invalid length! Expected {model.inputs} but got {len(vector)}."
        )
    return vector


def _is_vector(given: object) -> bool:
    return isinstance(given, list) and all(isinstance(x, int | float) for x in given)


async def _listen(runner: web.AppRunner, host: str, port: int) -> None:
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
