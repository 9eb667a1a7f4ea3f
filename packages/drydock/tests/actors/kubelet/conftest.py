"""Stories of a pod, told on the embedded API and on a real control plane."""

import asyncio
from pathlib import Path

import pytest

from packages.drydock.tests.actors.kubelet.node_worlds import (
    Story,
    Tell,
    embedded_world,
    kubernetes_world,
)


@pytest.fixture(params=["embedded", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Tell:
    """Runs a story in a world of that kind."""

    def in_embedded(story: Story) -> None:
        async def main() -> None:
            async with embedded_world(tmp_path) as world:
                await story(world)

        asyncio.run(main())

    def in_kubernetes(story: Story) -> None:
        plane = request.getfixturevalue("control_plane")

        async def main() -> None:
            async with kubernetes_world(plane, tmp_path) as world:
                await story(world)

        asyncio.run(main())

    return in_embedded if request.param == "embedded" else in_kubernetes
