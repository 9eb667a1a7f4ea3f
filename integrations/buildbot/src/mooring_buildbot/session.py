"""The program of the pod: a real `buildbot-worker` for one session, under twistd.

    python -m mooring.client.worker -- python -m mooring_buildbot.session

The agent passes the payload of the claim on stdin. The session ends when the master ends the connection: a latent
worker is connected once. Exit codes: 0 it was connected; 1 the master could not be reached, or refused it.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from buildbot_worker.bot import Worker
from twisted.application.service import Application, IServiceCollection
from twisted.cred.error import UnauthorizedLogin
from twisted.internet import reactor as _reactor
from twisted.python.failure import Failure
from twisted.scripts import twistd

from mooring.model.errors import InvalidInput
from mooring_buildbot.payload import CLAIM, INSTANCE, WorkerLogin, decode_login

MOST_ATTEMPTS = 8  # to connect: about half a minute
KEEPALIVE_SECONDS = 60
_LOGIN = "login.json"
_TAC = "from mooring_buildbot.session import make_application\n\napplication = make_application(__file__)\n"


class Attendance:
    """Ends the process with the connection, and knows whether there was one."""

    def __init__(self, worker: Worker, note: Path) -> None:
        self._note = note
        self._factory = worker.bf
        self._got, self._failed = worker.bf.gotPerspective, worker.bf.failedToGetPerspective
        # The factory is made by Worker itself, so its two callbacks can only be replaced afterwards.
        worker.bf.__dict__.update(gotPerspective=self._connected, failedToGetPerspective=self._refused)

    def _connected(self, perspective: Any) -> None:
        self._got(perspective)
        self._note.touch()
        perspective.broker.notifyOnDisconnect(_stop)

    def _refused(self, why: Failure, broker: Any) -> Any:
        if why.check(UnauthorizedLogin):
            _stop()
        return self._failed(why, broker)


def _stop() -> None:
    reactor: Any = _reactor
    if reactor.running:
        reactor.stop()


def make_application(tac: str) -> Any:
    """What twistd runs. Called by buildbot.tac."""
    folder = Path(tac).resolve().parent
    login = decode_login(json.loads((folder / _LOGIN).read_text()))
    worker = Worker(
        None,
        None,
        login.name,
        login.password,
        str(folder),
        KEEPALIVE_SECONDS,
        maxRetries=MOST_ATTEMPTS,
        connection_string=login.master,
    )
    Attendance(worker, folder / "connected")
    application = Application("buildbot-worker")
    worker.setServiceParent(IServiceCollection(application))
    return application


def prepare(folder: Path, login: WorkerLogin, claim: str) -> Path:
    """The folder of the worker, with its buildbot.tac. `info` is shown by Buildbot."""
    (folder / "info").mkdir()
    (folder / "info" / INSTANCE).write_text(login.instance)
    (folder / "info" / CLAIM).write_text(claim)
    (folder / "info" / "host").write_text(os.uname().nodename)
    (folder / _LOGIN).write_text(json.dumps(login.encode()))
    (folder / "buildbot.tac").write_text(_TAC)
    return folder / "buildbot.tac"


def main() -> int:
    """Run one session."""
    try:
        login = decode_login(json.load(sys.stdin))
    except (InvalidInput, ValueError) as error:
        print(f"mooring-buildbot: {error}", file=sys.stderr)
        return 1
    folder = Path(tempfile.mkdtemp(prefix="buildbot-worker-"))  # only this user may read it
    try:
        tac = prepare(folder, login, os.environ.get("MOORING_CLAIM_ID", ""))
        sys.argv = ["twistd", "--nodaemon", "--no_save", "--pidfile=", "--logfile=-", f"--python={tac}"]
        twistd.run()
        return 0 if (folder / "connected").exists() else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
