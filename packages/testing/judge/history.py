"""The history of a run: one event a line, as JSON, all on one clock (`at`, in seconds).

| event | by | fields |
|---|---|---|
| `ask` | client | `op`, `key`, `wait` |
| `told` | client | `op`, `key`, `asked_at`; `claim`, `epoch`, `pod` if it holds a worker; `code` if it was refused |
| `beat` | client | `claim`, `ttl`: a heartbeat was accepted |
| `gives-back` | client | `claim`, `pod`: from now on it does not use the worker |
| `released` | client | `claim`, `pod`: its release was accepted |
| `lost` | client | `claim`, `pod`: it was told that it holds nothing any more |
| `pod` | API server | `uid`, `name`, `there` |
| `stamp` | API server | `uid`, `claim`: the claim that the pod names from now on; empty if it names none |
| `api` | API server | `who`, `method`, `path`, `uid`, `fenced`: a write of a replica that took effect |
| `taken` | the test | `uid`: a pod that the test took away or cut off |
| `trouble` | the test | `kind`, `until`: it is made from now until then |
| `rewound` | the test | `what` (`ledger` or `cluster`), `since`: it went on from what it was then |
| `leads` | replica | `who`, `term`; 0: it does not lead any more |
| `row` | ledger | `uid`, `action`, `outcome`: an audit row |
| `accepted` | client | `submission` |
| `ran` | kubelet | `submission`, `step`, `job`: a Job's pod began to run |
| `served` | the test | `who`, `wanted`, `got`: so many claims at once at one replica, after the last trouble |
| `settled` | the test | `wanted`, `idle`, `stamped`, `live`, `unfinished` |
| `quiet` | the test | `writes`: of all replicas, after everything had settled |
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class History:
    """Events in the order in which they were noted."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = list(events)

    def note(self, at: float, event: str, **fields: Any) -> None:
        """One more event."""
        self.events.append({"at": round(at, 6), "event": event, **fields})

    def of(self, *kinds: str) -> Iterator[Event]:
        """The events of these kinds, by time."""
        return iter(sorted((one for one in self.events if one["event"] in kinds), key=lambda one: one["at"]))

    def write(self, path: Path) -> None:
        """As JSON lines."""
        path.write_text("".join(json.dumps(one, sort_keys=True) + "\n" for one in self.events))


def read_history(path: Path) -> History:
    """From JSON lines."""
    return History(json.loads(line) for line in path.read_text().splitlines() if line)
