"""loky's own thread, which breaks now and then while workers are stopped, says nothing of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from joblib.externals.loky.process_executor import ShutdownExecutorError


@contextmanager
def quiet_stop() -> Iterator[None]:
    """Keep back the traceback of a thread of loky's that has been told to kill its workers.

    It forgets the calls that are still to be handed out, kills the workers, and then hands out what it has
    forgotten: a KeyError, printed where a user has only pressed Ctrl-C. Calls that end at that moment bring
    on others, which are refused. Nothing is lost by either: whoever waits for the calls has been told before.
    All else that breaks in a thread is told as ever.
    """
    before = threading.excepthook

    def told(broken: threading.ExceptHookArgs) -> None:
        flags = getattr(broken.thread, "executor_flags", None)  # of loky's threads alone
        if flags is None or not flags.kill_workers:
            before(broken)

    log = logging.getLogger("concurrent.futures")
    threading.excepthook = told
    log.addFilter(_not_refused)
    try:
        yield
    finally:
        log.removeFilter(_not_refused)
        if threading.excepthook is told:
            threading.excepthook = before


def _not_refused(record: logging.LogRecord) -> bool:
    """Whether a record of a future's callback tells anything else than that no calls are taken any more."""
    return not (record.exc_info and isinstance(record.exc_info[1], ShutdownExecutorError))
