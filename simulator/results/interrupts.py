"""Ctrl-C that Python drops, where it cannot raise KeyboardInterrupt: as it deletes an object, or ends an import."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_REPEAT_S = 0.05
"""Time until a Ctrl-C that Python has dropped is repeated; the deletion of an object takes less."""


@contextmanager
def repeated_interrupts() -> Iterator[None]:
    """Repeat each Ctrl-C that Python drops, until it interrupts something else, and print no traceback of it."""
    report_dropped = sys.unraisablehook
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def repeat(dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            report_dropped(dropped)
            return
        main_thread = threading.main_thread().ident
        assert main_thread is not None
        timer = threading.Timer(_REPEAT_S, signal.pthread_kill, (main_thread, signal.SIGINT))
        timer.daemon = True
        timer.start()

    sys.unraisablehook = repeat
    try:
        yield
    finally:
        sys.unraisablehook = report_dropped
