"""The guard of virtual time: waiting in real time, or calling in from a thread, fails at once."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Never

from hawser.errors import HawserError

_BLOCKING_EVENTS: Final = frozenset({"socket.connect", "socket.bind", "socket.getaddrinfo", "subprocess.Popen"})
_guarded_threads: Final[set[int]] = set()


class RealWait(HawserError):
    """Something tried to use a socket, a thread or a process in virtual time."""

    code = "virtual_real_wait"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} in virtual time", fix="pass in the in-process twin of what needs it")


@contextmanager
def real_waits_refused() -> Iterator[None]:
    """While inside, this thread cannot connect or bind sockets, look up names or run programs."""
    thread = threading.get_ident()
    _guarded_threads.add(thread)
    try:
        yield
    finally:
        _guarded_threads.discard(thread)


def is_guarded() -> bool:
    """Whether the calling thread is one that runs virtual time."""
    return threading.get_ident() in _guarded_threads


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _BLOCKING_EVENTS and is_guarded():
        raise RealWait(f"{event}{arguments}")


# An audit hook cannot be removed, so it is set once and looks at who is asking.
sys.addaudithook(_refuse)


def _refusing(name: str) -> Any:
    def refuse(*_: object, **__: object) -> Never:
        raise RealWait(f"loop.{name}()")

    return refuse


class LoopWithoutIO(asyncio.AbstractEventLoop):
    """Everything of a loop that touches the outside, refused."""

    run_forever = _refusing("run_forever")
    stop = _refusing("stop")
    run_in_executor = _refusing("run_in_executor")
    set_default_executor = _refusing("set_default_executor")
    shutdown_default_executor = _refusing("shutdown_default_executor")
    getaddrinfo = _refusing("getaddrinfo")
    getnameinfo = _refusing("getnameinfo")
    create_connection = _refusing("create_connection")
    create_server = _refusing("create_server")
    create_unix_connection = _refusing("create_unix_connection")
    create_unix_server = _refusing("create_unix_server")
    create_datagram_endpoint = _refusing("create_datagram_endpoint")
    connect_accepted_socket = _refusing("connect_accepted_socket")
    connect_read_pipe = _refusing("connect_read_pipe")
    connect_write_pipe = _refusing("connect_write_pipe")
    start_tls = _refusing("start_tls")
    sendfile = _refusing("sendfile")
    subprocess_exec = _refusing("subprocess_exec")
    subprocess_shell = _refusing("subprocess_shell")
    add_reader = _refusing("add_reader")
    remove_reader = _refusing("remove_reader")
    add_writer = _refusing("add_writer")
    remove_writer = _refusing("remove_writer")
    add_signal_handler = _refusing("add_signal_handler")
    remove_signal_handler = _refusing("remove_signal_handler")
    sock_accept = _refusing("sock_accept")
    sock_connect = _refusing("sock_connect")
    sock_recv = _refusing("sock_recv")
    sock_recv_into = _refusing("sock_recv_into")
    sock_recvfrom = _refusing("sock_recvfrom")
    sock_recvfrom_into = _refusing("sock_recvfrom_into")
    sock_sendall = _refusing("sock_sendall")
    sock_sendto = _refusing("sock_sendto")
    sock_sendfile = _refusing("sock_sendfile")
