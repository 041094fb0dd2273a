"""Run one program and see to it that it never outlives the process that asked for it.

This file is started as a script, without the package and without site, so that it is up in a few
milliseconds. Its standard input is a pipe whose other end only the owner holds. A line on that pipe
is the number of a signal to pass on. The end of the pipe means that the owner is gone, however it
went: then the program is killed, and the directory given by `--sweep` is removed, since nobody else
is left to do it. The program in turn asks the kernel to be killed with its guard.

    python -I -S guard.py [--sweep DIRECTORY] PROGRAM ARGUMENT...

Passing signals through here rather than by process id means that a signal can never reach a
stranger: only the parent of a process knows that its id has not been given away.
"""

import ctypes
import os
import select
import shutil
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_SWEEP_S = 20.0


def main(arguments: list[str]) -> int:
    """Start the program, serve the pipe until either side ends, return the program's exit code."""
    sweep = ""
    if arguments[0] == "--sweep":
        sweep, arguments = arguments[1], arguments[2:]
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    child = _start(arguments)
    os.write(1, b"%d\n" % child)
    orphaned = _serve(child, wake_read)
    if orphaned:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if orphaned and sweep:
        _remove(sweep)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _start(arguments: list[str]) -> int:
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    # Between fork and exec: only calls that cannot fail half-way, and a plain message if they do.
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _die_with(guard)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(2, 1)
        os.execvp(arguments[0], arguments)  # noqa: S606
    except OSError as error:
        os.write(2, f"cannot start {arguments[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _die_with(guard: int) -> None:
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(127)


def _serve(child: int, wake: int) -> bool:
    """Pass signals on until the program ends (False) or the owner is gone (True)."""
    pending = b""
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return False
        if 0 in ready:
            block = os.read(0, 4096)
            if not block:
                return True
            *lines, pending = (pending + block).split(b"\n")
            for line in lines:
                os.kill(child, int(line))


def _remove(directory: str) -> None:
    # Other servers of the same owner may still be writing into it while they are being killed.
    deadline = time.monotonic() + _SWEEP_S
    while os.path.exists(directory) and time.monotonic() < deadline:  # noqa: PTH110
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
