"""A process that has the modules of the single-user server imported and forks a server from them for each order.

It has no threads and no event loop, so a fork of it is safe. It ends, with its server, when the agent is gone.

    agent -> {"argv": [...], "env": {...}, "folder": "..."} with the descriptor of the server's output
    preloader -> {"ready": true} once, then {"pid": n} and {"exit": code} for each order
"""

import ctypes
import gc
import importlib
import importlib.util
import json
import logging
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

MOST_ORDER_BYTES = 128 * 1024
_PR_SET_PDEATHSIG = 1  # of Linux, whose `pidfd_open` is needed here too
PRELOADED = ("jupyterhub.singleuser", "jupyter_server.serverapp", "ipykernel.kernelspec", "jupyterlab", "notebook")
# These read the environment when they are imported, so each server imports them again: about 10 ms.
_ENVIRONMENT_READERS = ("jupyterhub.services", "jupyterhub.singleuser")


def preload(modules: Sequence[str]) -> None:
    """Import what is installed of these, with everything that it imports."""
    for name in modules:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)
    for name in [name for name in sys.modules if name.startswith(_ENVIRONMENT_READERS)]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()  # the collector of a server does not touch, and so does not copy, the shared pages


def serve(channel: socket.socket) -> None:
    """One server after another, until the agent closes its end."""
    _send(channel, {"ready": True})
    while True:
        text, descriptors, _, _ = socket.recv_fds(channel, MOST_ORDER_BYTES, 1)
        if not text:
            return
        (output,) = descriptors
        pid = os.fork()
        if pid == 0:
            channel.close()
            _die_with_parent()
            _become_server(json.loads(text), output)
        os.close(output)
        _send(channel, {"pid": pid})
        if (status := _wait(channel, pid)) is None:
            return
        _send(channel, {"exit": os.waitstatus_to_exitcode(status)})


def _wait(channel: socket.socket, pid: int) -> int | None:
    """Wait for the end of the server; None if the agent ended first, and the server was killed."""
    descriptor = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([descriptor, channel.fileno()], [], [])
        abandoned = descriptor not in ready
        if abandoned:
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(descriptor)
    return None if abandoned else status


def _die_with_parent() -> None:
    """Ask the kernel: a preloader that is killed together with its agent cannot end its server."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _become_server(order: dict[str, Any], output: int) -> NoReturn:
    code = 1
    try:
        os.setsid()  # one process group: signals reach all of it
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        os.environ.clear()
        os.environ.update(order["env"])
        if order["folder"]:
            os.chdir(order["folder"])
        if home := os.environ.get("JUPYTERHUB_ROOT_DIR"):  # a user's first start on a shared volume
            os.makedirs(home, exist_ok=True)
        sys.argv = order["argv"]
        importlib.import_module("jupyterhub.singleuser").main()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:  # noqa: BLE001 - the process ends here, and its output has the reason
        traceback.print_exc()
    finally:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _send(channel: socket.socket, message: dict[str, Any]) -> None:
    channel.send(json.dumps(message).encode())


def main() -> None:
    """Serve the socket whose descriptor is the first argument."""
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # a signal to the group reaches the agent, too, which decides
        preload(PRELOADED)
        serve(channel)


if __name__ == "__main__":
    main()
