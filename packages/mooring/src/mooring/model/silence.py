"""Silence of idle workers that poll."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PoolSilence:
    """Which idle workers of a pool have stopped to poll."""

    # seconds without a poll, by pod uid, of workers that get no session; counted only while others poll
    seconds: Mapping[str, float] = field(default_factory=dict)
    unheard: Mapping[str, float] = field(default_factory=dict)  # the same, counted in any case
    doubt: str = ""  # why silence proves nothing; empty if it does


NO_SILENCE = PoolSilence()
