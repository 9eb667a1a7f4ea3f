"""What a route needs, declared in its decorator as `access=...`. A route that declares nothing is refused.

The words are those of Kubernetes RBAC: a verb on a resource, by default of the group `mooring.dev`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hawser.reviews import Access
from mooring.model.names import GROUP

KEY = "access"
_NAMES = ("name", "invariant", "node")


@dataclass(frozen=True, slots=True)
class Act:
    """A verb on a resource. The guard asks for it with the namespace and the name in the path.

    `named` is False where the name in the path is not that of the resource: a worker's is not its pool's.
    """

    verb: str
    resource: str
    subresource: str = ""
    group: str = GROUP
    named: bool = True

    def access(self, namespace: str = "", name: str = "") -> Access:
        """The question about one namespace and one object; empty means all of them."""
        return Access(self.verb, self.group, self.resource, self.subresource, namespace, name if self.named else "")

    def access_in(self, path: Mapping[str, Any]) -> Access:
        """The question about what the parameters of a path name."""
        name = next((str(path[key]) for key in _NAMES if key in path), "")
        return self.access(str(path.get("namespace", "")), name)

    @property
    def words(self) -> str:
        """As in a Role: `create workerpools/claims`, `create jobs.batch`."""
        resource = f"{self.resource}.{self.group}" if self.group not in ("", GROUP) else self.resource
        return f"{self.verb} {resource}" + (f"/{self.subresource}" if self.subresource else "")


@dataclass(frozen=True, slots=True)
class Sees:
    """A list: it shows what the caller may `list`, of these resources. Its queries are limited to that."""

    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asks:
    """The handler asks by itself, because the namespace is not in the path. `holder`: a claim's holder may, too."""

    acts: tuple[Act, ...] = ()
    holder: bool = False


@dataclass(frozen=True, slots=True)
class Open:
    """No caller is needed, for this reason."""

    why: str


Rule = Act | Sees | Asks | Open

HEALTH = Open("probes and scrapers have no token")
LOGIN = Open("who logs in has no session yet")
STATIC = Open("style sheets and scripts")
RUNBOOK = Open("the runbook is public, and is needed where access fails")
DESCRIPTION = Open("the description of the API")
WORKER = Open("workers prove themselves with their own token")
AUTHENTICATED = Asks()

CORE, BATCH, APPS = "", "batch", "apps"
LIST = "list"


def sees(*resources: str) -> Sees:
    """A list of what may be seen of these resources."""
    return Sees(resources)


READ_POOL = Act("get", "workerpools")
READ_WORKER = Act("get", "workerpools", named=False)
SEE_POOLS = sees("workerpools")
SEE_NODES = sees("workerpools", "nodes")
SEE_AUDIT = sees("workerpools", "invariants")
SEE_EVERYTHING = sees("workerpools", "warmups", "submissions", "managedservices", "nodes", "invariants")
CREATE_POOL = Act("create", "workerpools", named=False)
CHANGE_POOL = Act("update", "workerpools")
ORDER_POOL = Asks((CREATE_POOL, CHANGE_POOL))
ADOPT = CHANGE_POOL
RETIRE = Act("delete", "workerpools", "workers", named=False)

CLAIM = Act("create", "workerpools", "claims")
CLAIM_FOR_OTHERS = Act("impersonate", "workerpools", "claims")
END_CLAIM = Act("delete", "workerpools", "claims")
READ_CLAIM = Asks((READ_POOL,), holder=True)
HOLD_CLAIM = Asks((), holder=True)
RELEASE_CLAIM = Asks((END_CLAIM,), holder=True)

SEE_WARMUPS = sees("warmups")
READ_WARMUP = Act("get", "warmups")
CHANGE_WARMUP = Act("update", "warmups")

SEE_SUBMISSIONS = sees("submissions")
READ_SUBMISSION = Act("get", "submissions")
CREATE_SUBMISSION = Act("create", "submissions", named=False)
CREATE_JOBS = Act("create", "jobs", group=BATCH, named=False)
SUBMIT = Asks((CREATE_SUBMISSION, CREATE_JOBS))
CANCEL_SUBMISSION = Act("update", "submissions")
DELETE_SUBMISSION = Act("delete", "submissions")

SEE_SERVICES = sees("managedservices")
READ_SERVICE = Act("get", "managedservices")
CREATE_SERVICE = Act("create", "managedservices", named=False)
UPDATE_SERVICE = Act("update", "managedservices")
CREATE_DEPLOYMENTS = Act("create", "deployments", group=APPS, named=False)
DEPLOY = Asks((CREATE_SERVICE, UPDATE_SERVICE, CREATE_DEPLOYMENTS))
DELETE_SERVICE = Act("delete", "managedservices")

READ_INVARIANTS = Act(LIST, "invariants")
READ_LEDGER = Act("get", "invariants")
SWITCH_INVARIANT = Act("update", "invariants")

READ_NODE = Act("get", "nodes", group=CORE)
EXPLAIN_POD = Act("get", "pods", group=CORE)
READ_LOG = Act("get", "pods", "log", group=CORE, named=False)
SEE_PAGE = Asks((Act(LIST, "workerpools"),))
