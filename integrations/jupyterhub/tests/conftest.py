"""One `mooring up` with a warm pool, and a real hub with its proxy on it, for all tests of a file."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from mooring_jupyterhub.demo.client import HubClient
from mooring_jupyterhub.demo.hub import DemoHub
from mooring_jupyterhub.demo.pool import KEY, make_pool, wait_warm
from packages.mooring.tests.acceptance.world import running_up, until
from packages.mooring.tests.requirements import require_hub_proxy, require_kubectl

# Servers report to the hub, and the hub asks its proxy, who was active: every second, instead of every five minutes.
OFTEN = ("--JupyterHub.last_activity_interval=1", "--Spawner.environment=JUPYTERHUB_ACTIVITY_INTERVAL=1")


class Harbour:
    """The machine: Mooring, the hub, and the hands that start and end the hub."""

    def __init__(self, up):
        self.up = up
        self.hub = DemoHub(up.state)
        self.hub.prepare(0)
        self.process: subprocess.Popen[bytes] | None = None

    def start_hub(self):
        self.process = self.hub.start(*OFTEN)
        asyncio.run(self._wait_up())

    async def _wait_up(self):
        async with HubClient(self.hub.url, self.hub.token) as client:
            await client.wait_up(lambda: self.process.poll() is not None)

    def kill_hub(self):
        """`kill -9`, of the hub and of its proxy."""
        for pid in (self.process.pid, int((self.hub.folder / "proxy.pid").read_text())):
            subprocess.run(["kill", "-9", str(pid)], check=False)
        self.process.wait()

    def stop_hub(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)

    @contextlib.contextmanager
    def culler(self, idle_seconds):
        """The real culler of idle servers, while the block runs."""
        command = [sys.executable, "-m", "jupyterhub_idle_culler", f"--url={self.hub.url}/hub/api"]
        command += [f"--timeout={idle_seconds}", "--cull-every=1"]
        environment = {**os.environ, "JUPYTERHUB_API_TOKEN": self.hub.token}
        process = subprocess.Popen(command, cwd=self.hub.folder, env=environment)
        try:
            yield
            assert process.poll() is None, "the culler ended by itself"
        finally:
            process.terminate()
            process.wait(30)

    def warm(self, idle=1):
        asyncio.run(wait_warm(self.up.state, idle))

    def play(self, scenario):
        """Run a scenario with a client of the hub."""

        async def run():
            async with HubClient(self.hub.url, self.hub.token) as client:
                return await scenario(client)

        return asyncio.run(run())

    def worker_of(self, user):
        (worker,) = [worker for worker in self.up.workers(KEY) if worker["owner"] == user]
        return worker

    def open_claims(self, user):
        return self.up.get(f"/v1/claims?owner={user}&state=queued,claimed,running")["items"]

    def until_released(self, user):
        until(lambda: not self.open_claims(user), 30, f"no open claim of {user}")

    def page(self, user, path):
        """A page as the user sees it, after the demo's login form."""
        cookies = urllib.request.HTTPCookieProcessor()
        browser = urllib.request.build_opener(cookies, _Lenient())
        browser.open(f"{self.hub.url}/hub/login").read()
        xsrf = next(cookie.value for cookie in cookies.cookiejar if cookie.name == "_xsrf")
        form = f"username={user}&password=any&_xsrf={xsrf}".encode()
        browser.open(f"{self.hub.url}/hub/login?next=%2Fhub%2Fhome", form).read()  # not to the start of a server
        return browser.open(self.hub.url + path).read().decode()


class _Lenient(urllib.request.HTTPErrorProcessor):
    """Pages with an error status are pages, too."""

    def http_response(self, request, response):
        return response if response.status in (424, 500) else super().http_response(request, response)


@pytest.fixture(scope="module")
def harbour():
    require_hub_proxy()
    require_kubectl()
    with running_up("--no-demo") as up:
        made = Harbour(up)
        asyncio.run(make_pool(up.state))
        made.warm(2)
        try:
            made.start_hub()
            yield made
        finally:
            made.stop_hub()
