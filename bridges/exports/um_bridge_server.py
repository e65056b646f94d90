"""An environment as UM-Bridge models, served over HTTP: for clients in Python, C++, R, MATLAB or Julia."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bridges.extras import missing
from bridges.steps import observe
from policyloop.messages import on_one_line
from simulators.contract.environment import Environment, SimulationError

try:
    import umbridge
    from aiohttp import web
except ModuleNotFoundError as error:
    raise missing(error, "a UM-Bridge server") from error

LOOPBACK = "127.0.0.1"
PORT = 4242
"""UM-Bridge's customary port."""


class OutcomesModel(umbridge.Model):  # type: ignore[misc]
    """An environment's outcomes: one input vector, the policy; one output vector, an outcome a group.

    In a finite space the policy is a candidate's row. The configuration may hold a `seed` of the noise, and
    of the memory if there is one, and nothing else; without it the noise stream goes on.

    Parameters
    ----------
    environment : Environment
        Takes the steps.
    name : str, optional
        Of the model; the environment's own unless given.
    """

    def __init__(self, environment: Environment, name: str | None = None) -> None:
        super().__init__(environment.name if name is None else name)
        self.environment = environment

    def get_input_sizes(self, config: Mapping[str, Any] | None = None) -> list[int]:
        """Entries of a policy; one, the row, in a finite space."""
        space = self.environment.policy_space
        return [1 if space.finite else space.d]

    def get_output_sizes(self, config: Mapping[str, Any] | None = None) -> list[int]:
        """One output a group."""
        return [len(self.environment.groups)]

    def supports_evaluate(self) -> bool:
        """A policy can be tried; gradients are not to be had."""
        return True

    def __call__(
        self, parameters: list[list[float]], config: Mapping[str, Any] | None = None
    ) -> list[list[float]]:
        """Take a step.

        Raises
        ------
        ValueError
            If the policy is outside the space, or the configuration holds anything but a seed.
        SimulationError
            If the step fails, or a group is missing: the protocol has no word for that.
        """
        return [self._step(parameters, config or {})[1].tolist()]

    def _step(
        self, parameters: list[list[float]], config: Mapping[str, Any]
    ) -> tuple[Any, NDArray[np.float64]]:
        space = self.environment.policy_space
        policy = space.check(parameters[0][0] if space.finite else parameters[0])
        if unknown := [key for key in config if key != "seed"]:
            raise ValueError(f"config: unknown key {unknown[0]!r}; accepted: 'seed'")
        seed = config.get("seed")
        if "seed" in config and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            raise ValueError(f"config: seed = {seed!r}; accepted: a whole number, 0 or more")
        values = observe(self.environment, policy, seed).values
        lost = [g for g, value in zip(self.environment.groups, values, strict=True) if not np.isfinite(value)]
        if lost:
            raise SimulationError(f"the outcome of {', '.join(lost)} is missing", policy)
        return policy, values


class ObjectiveModel(OutcomesModel):
    """An environment's objective: as `OutcomesModel`, with the composed value as the one output."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment, f"{environment.name}-objective")

    def get_output_sizes(self, config: Mapping[str, Any] | None = None) -> list[int]:
        """One output."""
        return [1]

    def __call__(
        self, parameters: list[list[float]], config: Mapping[str, Any] | None = None
    ) -> list[list[float]]:
        """Take a step; see `OutcomesModel`."""
        policy, values = self._step(parameters, config or {})
        return [[float(self.environment.compose(values[None], np.asarray([policy]))[0])]]


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
    runner = web.AppRunner(application([OutcomesModel(environment), ObjectiveModel(environment)]))
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


def application(models: list[umbridge.Model]) -> web.Application:
    """The web application that umbridge makes of models, not run.

    `umbridge.serve_models` makes it and runs it at once, on every interface. Here the same function is called
    with another `run_app`.
    """
    made: list[web.Application] = []
    own = SimpleNamespace(**vars(web))
    own.run_app = lambda app, **_: made.append(app)
    make: Any = umbridge.serve_models
    FunctionType(make.__code__, {**make.__globals__, "web": own}, make.__name__, make.__defaults__)(models)
    app = made[0]
    app.middlewares.append(_failures_in_words)
    return app


@web.middleware
async def _failures_in_words(request: web.Request, handler: Any) -> web.StreamResponse:
    """Answer an exception as the protocol's error, which clients show; umbridge itself says nothing."""
    try:
        if request.method == "POST":
            _check_request(await request.text(), request.path)
        answer: web.StreamResponse = await handler(request)
        return answer
    except web.HTTPException:
        raise
    except Exception as failure:
        words = {"type": type(failure).__name__, "message": on_one_line(failure)}
        return web.json_response({"error": words}, status=400 if isinstance(failure, ValueError) else 500)


def _check_request(text: str, path: str) -> None:
    """Refuse what umbridge takes for granted: that a request has its keys, and each its type."""
    try:
        asked = json.loads(text)
    except ValueError:
        asked = None
    if not isinstance(asked, dict) or not isinstance(asked.get("name"), str):
        raise ValueError("the request must be a JSON object with the name of a model, {'name': .., ..}")
    if not isinstance(asked.get("config", {}), dict):
        raise ValueError(f"config={asked['config']!r}; accepted: an object, such as {{'seed': 1}}")
    vectors = asked.get("input")
    if path == "/Evaluate" and not (isinstance(vectors, list) and all(map(_is_vector, vectors))):
        raise ValueError(f"input={vectors!r}; accepted: a list of vectors, such as [[0.5, 0.2]]")


def _is_vector(given: object) -> bool:
    return isinstance(given, list) and all(isinstance(x, int | float) for x in given)


async def _listen(runner: web.AppRunner, host: str, port: int) -> None:
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
