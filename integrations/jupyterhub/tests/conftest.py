"""One `mooring up` with a warm pool, and a real hub with its proxy on it, for all tests of a file."""

import asyncio
import signal
import subprocess
import urllib.request

import pytest

from mooring_jupyterhub.demo.client import HubClient
from mooring_jupyterhub.demo.hub import DemoHub
from mooring_jupyterhub.demo.pool import KEY, make_pool, wait_warm
from packages.mooring.tests.acceptance.world import running_up, until
from packages.mooring.tests.requirements import require_hub_proxy, require_kubectl


class Harbour:
    """The machine: Mooring, the hub, and the hands that start and end the hub."""

    def __init__(self, up):
        self.up = up
        self.hub = DemoHub(up.state)
        self.hub.prepare(0)
        self.process: subprocess.Popen[bytes] | None = None

    def start_hub(self):
        self.process = self.hub.start()
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
        made.start_hub()
        try:
            yield made
        finally:
            made.stop_hub()
