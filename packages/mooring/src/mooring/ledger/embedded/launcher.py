"""Becomes a PostgreSQL program: ends with its parent, and runs under an ordinary account if root started it.

Run as a script with the standard library only: `launcher.py PARENT_PID UID GID REACH PROGRAM ARGS...`. UID -1 keeps the
account. REACH 1 keeps root's right to pass through folders (not to write), for state folders or virtual environments
under a path that only root may enter.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_SECUREBITS = 28
_SECBIT_NO_SETUID_FIXUP = 4
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAPABILITY_VERSION_3 = 0x20080522
_CAP_DAC_OVERRIDE = 1
_CAP_DAC_READ_SEARCH = 2

_libc = ctypes.CDLL(None, use_errno=True)


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapabilitySets(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


def _checked(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def _keep_capability(number: int) -> None:
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    sets = (_CapabilitySets * 2)()
    sets[0] = _CapabilitySets(1 << number, 1 << number, 1 << number)
    _checked(_libc.capset(ctypes.byref(header), sets), "capset")
    _checked(_libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, number, 0, 0), "raising an ambient capability")


def _become(uid: int, gid: int, reach: bool) -> None:
    if reach:  # also keeps access(2) from ignoring the capability; initdb uses it to find its programs
        _checked(_libc.prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0), "keeping capabilities")
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    if reach:
        try:
            _keep_capability(_CAP_DAC_READ_SEARCH)
        except OSError:
            _keep_capability(_CAP_DAC_OVERRIDE)  # containers usually have only this one


def _die_with(parent: int) -> None:
    if sys.platform != "linux":
        return
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0), "prctl(PR_SET_PDEATHSIG) for the parent")
    if os.getppid() != parent:
        sys.exit("the parent is gone")


def main(arguments: list[str]) -> None:
    parent, uid, gid, reach = (int(argument) for argument in arguments[:4])
    try:
        if uid >= 0:
            _become(uid, gid, bool(reach))
        _die_with(parent)  # after the change of account, which would reset it
        os.execv(arguments[4], arguments[4:])
    except OSError as error:
        sys.exit(f"cannot start {arguments[4]} as uid {uid}: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
