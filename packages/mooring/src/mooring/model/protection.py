"""The marks on a pod that keep Karpenter, the autoscaler and the pool's budget from disrupting it."""

from typing import Final

from mooring.model import names

PROTECTION_LABELS: Final = {names.BUSY: "true"}
PROTECTION_ANNOTATIONS: Final = {names.DO_NOT_DISRUPT: "true", names.SAFE_TO_EVICT: "false"}
