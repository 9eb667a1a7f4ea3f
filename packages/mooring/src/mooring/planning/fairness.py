"""The order of a queue that owners share by weight: a flood of one owner does not starve the others."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from mooring.model.claim import Claim

USUAL_WEIGHT = 1
SHARED_SECONDS = 300.0  # that claims count after their end: a pool with few workers is shared over time


def compute_order(queue: Iterable[Claim], served: Mapping[str, int], weights: Mapping[str, int]) -> Sequence[Claim]:
    """Waiting claims in the order in which they are served, if workers become free one by one and none is given back.

    The highest priority first. Within one, the owner that was served least for its weight, then the oldest claim.
    `queue` is in the order of priority and age; `served` counts live and recent claims by owner.
    """
    served = defaultdict(int, served)
    by_priority: dict[int, dict[str, deque[Claim]]] = {}
    for claim in queue:
        by_priority.setdefault(claim.priority, {}).setdefault(claim.owner, deque()).append(claim)
    ordered: list[Claim] = []
    for _, owners in sorted(by_priority.items(), reverse=True):
        turns = [
            (served[owner] / weights.get(owner, USUAL_WEIGHT), own[0].ticket, owner) for owner, own in owners.items()
        ]
        heapify(turns)
        while turns:
            _, _, owner = heappop(turns)
            own = owners[owner]
            ordered.append(own.popleft())
            served[owner] += 1
            if own:
                heappush(turns, (served[owner] / weights.get(owner, USUAL_WEIGHT), own[0].ticket, owner))
    return ordered
