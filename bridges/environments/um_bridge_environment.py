"""A UM-Bridge model, in whatever language and on whatever machine, as an environment."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from bridges.environments.declared import DeclaredEnvironment
from bridges.environments.levers import Entry, Policy
from bridges.extras import missing
from policyloop.messages import failure as failure_text
from policyloop.messages import on_one_line
from simulators.contract.environment import SimulationError, StepLost
from simulators.contract.levers import OneOf
from simulators.contract.observed import shortened
from simulators.contract.validation import number, table, text


class UMBridgeEnvironment(DeclaredEnvironment):
    """Steps by asking a UM-Bridge server, over HTTP.

    The entries of a policy are the model's inputs, all vectors behind one another; all its outputs behind
    one another are the groups.

    Parameters
    ----------
    url : str
        The server, such as `http://localhost:4242`.
    model : str, optional
        Name of the model; may be left out where the server has only one.
    policy, groups, **declared
        See `DeclaredEnvironment`: one entry an input, one group an output. UM-Bridge speaks numbers, so that
        categories are refused.
    config : mapping, optional
        The configuration that the model is called with.
    seed_key : str, default="seed"
        Key of the configuration that holds the seed of a step; "" for a model that takes none.
    time_limit : float, default=600
        Seconds that an answer may take.

    Raises
    ------
    ValueError
        If the library is not installed, nothing answers at the url, the server has no such model, or the
        model has another number of inputs or outputs; or if an entry is a category.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        *,
        policy: Policy,
        groups: Sequence[str],
        config: Mapping[str, Any] | None = None,
        seed_key: str = "seed",
        time_limit: float = 600.0,
        **declared: Any,
    ) -> None:
        super().__init__(policy, groups, **declared)
        for label, lever in zip(self.policy_space.labels, self.policy_space.levers, strict=True):
            if isinstance(lever, OneOf):
                raise ValueError(f"policy: {label!r} is a category, and UM-Bridge speaks numbers")
        self._url = text("url", url, "an address, such as 'http://localhost:4242'").rstrip("/")
        self._config = table("config", config, "{key: value}")
        if not isinstance(seed_key, str):
            raise ValueError(f"seed_key={seed_key!r} must be a text, empty for a model that takes no seed")
        if seed_key and seed_key in self._config:
            raise ValueError(
                f"config: {seed_key!r} = {self._config[seed_key]!r}; accepted: other keys, for every run "
                'has a seed of its own there (seed_key="" for a model that takes none)'
            )
        try:
            json.dumps(self._config)
        except (TypeError, ValueError) as error:
            raise ValueError(f"config={config!r} must be what JSON can say: {on_one_line(error)}") from None
        self._seed_key = seed_key
        self.time_limit: float = number("time_limit", time_limit, above=0)
        try:
            import umbridge
        except ModuleNotFoundError as error:
            raise missing(error, "a UM-Bridge environment") from error
        known = self._within(lambda: umbridge.supported_models(self._url), ValueError)
        name = known[0] if model is None and len(known) == 1 else model
        if name not in known:
            raise ValueError(f"model={name!r}; {self._url} has {', '.join(map(repr, known))}")
        self._model = self._within(lambda: umbridge.HTTPModel(self._url, name), ValueError)
        inputs = self._within(lambda: self._model.get_input_sizes(self._config), ValueError)
        outputs = self._within(lambda: self._model.get_output_sizes(self._config), ValueError)
        d = len(self.levers.labels)
        if sum(inputs) != d:
            raise ValueError(f"policy has {d} entries; model {name!r} takes {sum(inputs)}")
        if sum(outputs) != len(self.groups):
            raise ValueError(f"groups has {len(self.groups)} names; model {name!r} returns {sum(outputs)}")
        self._sizes = [int(size) for size in inputs]

    def simulate(self, policy: dict[str, Entry], seed: int) -> list[float]:
        """Ask the server."""
        entries = iter(policy.values())
        inputs = [[float(next(entries)) for _ in range(size)] for size in self._sizes]
        config = self._config | ({self._seed_key: seed} if self._seed_key else {})
        outputs = self._within(lambda: self._model(inputs, config), SimulationError)
        if not isinstance(outputs, list) or not all(isinstance(vector, list) for vector in outputs):
            raise SimulationError(
                f"the UM-Bridge server at {self._url} answered {shortened(repr(outputs))}; "
                "it must be a list of vectors"
            )
        return [value for vector in outputs for value in vector]

    def _within(self, call: Callable[[], Any], failure: type[Exception]) -> Any:
        """What a call returns within the time limit; umbridge's client has none of its own."""
        answer: Future[Any] = Future()

        def ask() -> None:
            try:
                answer.set_result(call())
            except BaseException as error:  # of the client's own, in this thread
                answer.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        try:
            return answer.result(self.time_limit)
        except TimeoutError:
            late = StepLost if failure is SimulationError else failure
            raise late(f"{self._url} did not answer within {self.time_limit:g} s") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise failure(f"the UM-Bridge server at {self._url} {_cause(error)}") from error


def _cause(error: BaseException) -> str:
    """Why a call failed, in words."""
    kind = type(error).__name__
    if kind in ("ConnectionError", "ConnectTimeout"):
        return "cannot be reached: is it running?"
    if kind == "JSONDecodeError":
        return "answered with what is not JSON: see its own log"
    if kind in ("MissingSchema", "InvalidSchema", "InvalidURL"):
        return "is no address; accepted: http://host:port"
    if kind in ("KeyError", "TypeError", "AttributeError"):
        return f"answered with what UM-Bridge does not know ({failure_text(error)})"
    return f"failed: {on_one_line(error)}"
