"""Configuration of the demo's hub. Only the lines with `mooring` and `Spawner` matter for a hub of your own."""

import os
from pathlib import Path

from traitlets.config import get_config

import mooring_jupyterhub
from mooring_jupyterhub.demo.hub import DemoHub

c = get_config()
folder = Path(os.environ["DEMO_FOLDER"])
hub = DemoHub(folder.parent)
public, proxy_api, internal = hub.ports

c.JupyterHub.spawner_class = "mooring"
c.JupyterHub.template_paths = [str(mooring_jupyterhub.TEMPLATES)]  # says why a server ended
c.JupyterHub.cleanup_servers = False  # servers outlive the hub
c.MooringSpawner.pool = "notebooks/users"
c.Spawner.notebook_dir = str(folder / "homes" / "{username}")
c.Spawner.args = ["--allow-root"] if os.geteuid() == 0 else []  # workers of the sandbox run as its own user
c.Spawner.poll_interval = 2

c.JupyterHub.bind_url = f"http://127.0.0.1:{public}"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{internal}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{proxy_api}"
c.ConfigurableHTTPProxy.command = [os.environ["DEMO_PROXY"]]
c.JupyterHub.db_url = f"sqlite:///{folder / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(folder / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(folder / "proxy.pid")

c.JupyterHub.authenticator_class = "dummy"  # any name, any password: for a demo on loopback only
c.Authenticator.allow_all = True
c.JupyterHub.services = [{"name": "demo", "api_token": hub.token}]
c.JupyterHub.load_roles = [
    {"name": "demo", "services": ["demo"], "scopes": ["admin:users", "admin:servers", "access:servers"]}
]
