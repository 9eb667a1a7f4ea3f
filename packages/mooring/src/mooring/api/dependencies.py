"""Dependencies of handlers, marked so that the framework passes them on without validation."""

from litestar.params import SkipValidation

from hawser.clock import Clock
from mooring.queries.readiness import Readiness

GivenClock = SkipValidation[Clock]
GivenReadiness = SkipValidation[Readiness]
