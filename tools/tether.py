"""Run a command that ends with the process that started it: `python -m tools.tether COMMAND…`.

The caller makes a process group (`start_new_session`) and holds the other end of standard input. When that is closed,
for whatever reason, the group is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def main() -> int:
    """Run the command; return its exit code."""
    # The command gets the signals of the group, too, and decides when to end.
    signal.signal(signal.SIGTERM, lambda *_: None)
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_kill_at_end_of_input, daemon=True).start()
    return process.wait()


def _kill_at_end_of_input() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
