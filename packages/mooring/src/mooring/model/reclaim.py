"""What becomes of silent workers: no live claim holds them, and they give no sign of life."""

from typing import Literal

import msgspec

ReclaimPolicy = Literal["Delete", "Keep"]


class Reclaim(msgspec.Struct, rename="camel", frozen=True):
    """After how much silence a worker is reclaimed, and how. Without a policy, the pool's other fields decide."""

    silent_seconds: int = 600
    policy: ReclaimPolicy | None = None

    def effective_policy(self, dispatch: str, reuse: str) -> ReclaimPolicy:
        """Delete where the worker itself would speak (Poll), or where it is used once; otherwise Keep.

        A worker with push dispatch that is used again may serve a holder who does not speak to Mooring any more.
        """
        if self.policy is not None:
            return self.policy
        return "Delete" if dispatch == "Poll" or reuse == "Never" else "Keep"


class EffectiveReclaim(msgspec.Struct, frozen=True):
    """What holds for one pool."""

    silent_seconds: float
    policy: ReclaimPolicy
    polls: bool  # its workers poll
