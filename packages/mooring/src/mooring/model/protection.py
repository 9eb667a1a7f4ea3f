"""The marks on a worker's pod: those that keep others from disrupting it, and those of its claim."""

from typing import Final

from mooring.model import names

# Karpenter, the autoscaler and the budget of the pool heed these.
PROTECTION_LABELS: Final = {names.BUSY: "true"}
PROTECTION_ANNOTATIONS: Final = {names.DO_NOT_DISRUPT: "true", names.SAFE_TO_EVICT: "false"}

STAMP_LABELS: Final = (names.OWNER,)
STAMP_ANNOTATIONS: Final = (names.CLAIM, names.EPOCH, names.STAMPED_AT, names.SEAL)
