"""The history of a pool as its model learns from it."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from mooring.model.pool_history import FINE_KEPT, FINE_SECONDS, Sample
from mooring.planning.demand.model import Aim, DemandModel, Step


def unlearned_since(model: DemandModel, until: datetime) -> datetime:
    """From when on the model lacks samples that are kept; the last step, if the clock was set back behind the model."""
    if model.until > until.timestamp():
        return until - timedelta(seconds=FINE_SECONDS)
    return max(datetime.fromtimestamp(model.until, UTC), until - FINE_KEPT)


def learn_samples(model: DemandModel, samples: Iterable[Sample], aim: Aim) -> None:
    """Take in samples, the oldest first."""
    for sample in samples:
        model.learn(Step(sample.at.timestamp(), sample.arrivals, sample.starts, sample.holds, sample.waits), aim)
