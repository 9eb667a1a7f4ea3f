"""What tests of services may use."""

from contextlib import AbstractAsyncContextManager

import pytest

from mooring.incidents.stage import Stage
from packages.mooring.tests.controllers.services.hands import on_stage


@pytest.fixture
def stage() -> AbstractAsyncContextManager[Stage]:
    """The whole application in virtual time, on the demo's nodes."""
    return on_stage()
