"""The configuration of docs/how-to/notebooks.md is one that the hub and the spawner know."""

from jupyterhub.app import JupyterHub
from traitlets.config import Config

from mooring_jupyterhub.spawner import MooringSpawner
from packages.mooring.tests.docs.blocks import blocks


def test_every_line_of_the_configuration_sets_a_trait_that_exists():
    [block] = [block for block in blocks("python") if block.page == "docs/how-to/notebooks.md"]
    config = Config()
    exec(block.text, {"c": config})
    known = {"JupyterHub": JupyterHub, "MooringSpawner": MooringSpawner, "Spawner": MooringSpawner}
    assert set(config) == set(known)
    for name, kind in known.items():
        assert set(config[name]) <= set(kind.class_traits(config=True)), name
    hub = JupyterHub(config=config)
    assert hub.spawner_class is MooringSpawner and not hub.cleanup_servers
