"""Workers of a Dask cluster: the same work as worker processes do here, on other machines.

Dask carries each call to a worker and starts it again elsewhere when that worker is lost. Rounds do not
travel by Dask, but straight to the process that writes them (`scenarios.running.collector`): a call that is
started again finds there what the lost worker has finished. Dask's own messages are pickled by Dask, so a
scheduler is as trustworthy as whoever can reach it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from policyloop.messages import on_one_line
from scenarios.errors import UserError
from scenarios.running.local_workers import WorkersDied

INSTALL = "pip install 'policyloop[dask]'"
CONNECT_SECONDS = 10.0
LOOPBACK = "127.0.0.1"

_ONE_AT_A_TIME = threading.Lock()


@contextlib.contextmanager
def cluster(scheduler: str | None, jobs: int) -> Iterator[Dask]:
    """Connect to a Dask scheduler (tcp://10.0.0.1:8786, say), or start one here, with `jobs` workers."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UserError(f'backend "dask" needs Dask: {INSTALL}') from None
    with contextlib.ExitStack() as stack:
        try:
            address = scheduler or stack.enter_context(
                LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    host=LOOPBACK,
                    dashboard_address=f"{LOOPBACK}:0",  # Dask serves its state by HTTP in any case
                    worker_dashboard_address=f"{LOOPBACK}:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.ERROR,
                )
            )
            client = stack.enter_context(Client(address, timeout=CONNECT_SECONDS, set_as_default=False))
        except (OSError, ValueError) as error:
            why = on_one_line(error)
            raise UserError(
                f"command line: --scheduler = {scheduler}: no Dask scheduler answers there ({why})"
            ) from error
        yield Dask(client, jobs)


class Dask:
    """The workers of a Dask cluster, a `Workforce`; its `jobs` are of this process, to learn kernels."""

    def __init__(self, client: Any, jobs: int) -> None:
        from distributed.comm import get_address_host
        from distributed.utils import get_ip

        self._client = client
        self.jobs = jobs
        self.host: str | None = get_ip(get_address_host(client.scheduler.address))

    def spread(self, calls: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of calls in the order in which they end."""
        from distributed import CancelledError, KilledWorker, as_completed

        futures = [
            self._client.submit(_alone, function, arguments, pure=False) for function, arguments, _ in calls
        ]
        try:
            for future in as_completed(futures, loop=self._client.loop):
                yield future.result()
        except KilledWorker as error:
            raise WorkersDied("workers died: killed, or out of memory") from error
        except (CancelledError, TimeoutError) as error:
            raise ConnectionError(f"the Dask scheduler is gone ({on_one_line(error)})") from error
        finally:
            with contextlib.suppress(Exception):  # it may be gone
                self._client.cancel(futures)


def _alone(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    # Limits on BLAS threads are the process's: beside each other, calls would lift each other's.
    with _ONE_AT_A_TIME:
        return function(*arguments)
