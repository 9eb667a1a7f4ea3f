"""`mooring doctor`: reads what an operator would look at, all at once, each part for itself and bounded in time.

A part that cannot be read is one line that says `unknown` and why; every other line is still there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from hawser import views
from hawser.clock import Clock
from hawser.errors import NotPermitted, NotServed, ObjectNotFound
from hawser.resources import BUDGETS, CRDS, Resource
from mooring.kinds import load_crds
from mooring.kinds.budgets import budget_from_view
from mooring.kinds.resources import MANAGEDSERVICES, WARMUPS
from mooring.model import names
from mooring.model.certificate import CertificateState
from mooring.model.doctor_report import Check, CheckStatus, DoctorReport
from mooring.model.errors import MooringError
from mooring.model.explanation import Explanation
from mooring.model.permissions import CLUSTER_RULES, CLUSTER_SCOPED, OPTIONAL
from mooring.planning import doctor as judge
from mooring.planning.actions import WARM_FLOOR
from mooring.planning.budgets.plan import find_abandoned_budgets
from mooring.planning.pool_checks import judge_pools
from mooring.planning.sick_pools import SickPool, find_sick_pools, judge_sick_pool
from mooring.planning.transport import judge_certificate, judge_encryption
from mooring.queries.fleet import FleetQueries
from mooring.queries.sources import CacheSource, LeaderSource, PlatformSource, PoolSource, QuarantineSource

log = structlog.get_logger()

LIMIT_SECONDS = 5.0
_HANGS = {  # what everything else needs
    "api": "kubectl get --raw '/readyz?verbose'",
    "ledger": "see whether PostgreSQL runs and has room on its disk; its log says more. Claims keep their place",
}
_REVIEWS_AT_ONCE = 16
_MOST_EXPLAINED = 20  # sick pools whose worst worker is asked for its log
_ORDER = (CheckStatus.FAIL, CheckStatus.WARN, CheckStatus.UNKNOWN, CheckStatus.OK)

Look = Callable[[], Awaitable[Iterable[Check]]]


@dataclass(frozen=True, slots=True)
class OwnReplica:
    """Whether this replica leads, and how callers reach it."""

    leadership: LeaderSource
    address: str
    certificate: Callable[[], CertificateState | None]
    machine_clock: Clock


@dataclass(frozen=True, slots=True)
class Examined:
    """The inputs of the checks of the doctor."""

    context: PlatformSource
    pools: PoolSource
    reading: FleetQueries
    quarantines: QuarantineSource
    replica: OwnReplica
    reflectors: Callable[[], Mapping[str, CacheSource]]
    explain: Callable[[str, str], Awaitable[Explanation]]  # a pod by namespace and name


def _status_without_answer(check_id: str) -> CheckStatus:
    return CheckStatus.FAIL if check_id in _HANGS else CheckStatus.UNKNOWN


class Doctor:
    """Looks when asked, and changes nothing."""

    def __init__(self, examined: Examined, clock: Clock) -> None:
        self._examined = examined
        self._clock = clock
        self._crds = load_crds()
        self._others: dict[str, Look] = {}

    def look_too(self, check_id: str, look: Look) -> None:
        """Add what another part of the process knows."""
        self._others[check_id] = look

    async def examine(self) -> DoctorReport:
        """Every line, what fails first."""
        began = self._clock.monotonic()
        looks: dict[str, Look] = {
            "api": self._api,
            "own-api": self._own_api,
            "permissions": self._permissions,
            **{f"crd/{crd['metadata']['name']}": self._crd_look(crd) for crd in self._crds},
            "ledger": self._ledger,
            "clock/ledger": self._ledger_clock,
            "ledger/encryption": self._encryption,
            "certificate": self._certificate,
            "leader": self._leader,
            "caches": self._caches,
            "invariants": self._invariants,
            "pools": self._pools,
            "workers": self._sick_pools,
            "quarantine": self._quarantine,
            "leftovers": self._leftovers,
            "budgets": self._budgets,
            "services": lambda: self._phases("service", MANAGEDSERVICES),
            "warmups": lambda: self._phases("warmup", WARMUPS),
            **self._others,
        }
        found = await asyncio.gather(*(self._isolated(check_id, look) for check_id, look in looks.items()))
        checks = sorted((check for part in found for check in part), key=lambda check: _ORDER.index(check.status))
        return DoctorReport(tuple(checks), self._clock.now(), round(self._clock.monotonic() - began, 3))

    async def _isolated(self, check_id: str, look: Look) -> tuple[Check, ...]:
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                return tuple(await look())
        except TimeoutError:
            message, status = f"no answer within {LIMIT_SECONDS:.0f} s", _status_without_answer(check_id)
            return (Check(check_id, status, message, fix=_HANGS.get(check_id, "see the lines api and ledger")),)
        except NotPermitted as refused:
            return (Check(check_id, CheckStatus.UNKNOWN, f"may not be read: {refused.message}", fix=refused.fix),)
        except MooringError as error:
            status = _status_without_answer(check_id)
            return (Check(check_id, status, f"cannot be read: {error.message}", fix=error.fix),)
        except Exception as error:
            log.exception("a check failed", check=check_id)
            return (Check(check_id, CheckStatus.UNKNOWN, f"the check itself failed: {error!r}"),)

    # -- the cluster

    async def _api(self) -> Iterable[Check]:
        began = self._clock.monotonic()
        version = await self._examined.context.client.version()
        seconds = round(self._clock.monotonic() - began, 3)
        skew = (version.time - self._clock.now()).total_seconds() if version.time else None
        if skew is not None and -1.5 < skew < 0.5:
            skew = 0.0  # the server's answer carries whole seconds only
        evidence = {"version": version.name, "seconds": seconds}
        return (
            Check("api", CheckStatus.OK, f"the API server answers: {version.name}", evidence),
            judge.judge_clock("API server", skew),
        )

    async def _own_api(self) -> Iterable[Check]:
        api = self._examined.context.liveness.reach.api
        failure = await api.failure()
        if not failure:
            return (Check("own-api", CheckStatus.OK, f"Mooring's own API answers at {api.url}"),)
        kept = "for 15 minutes, silence of workers and holders is not counted"
        message = f"Mooring's own API does not answer at {api.url}: {failure}; {kept}"
        fix = "if workers cannot reach that address either, repair the way to it; otherwise set MOORING_WORKER_URL"
        return (Check("own-api", CheckStatus.FAIL, message, fix=fix),)

    async def _permissions(self) -> Iterable[Check]:
        turn, client = asyncio.Semaphore(_REVIEWS_AT_ONCE), self._examined.context.client

        async def ask(group: str, target: str, verb: str) -> judge.Permission:
            plural, _, subresource = target.partition("/")
            resource = Resource(group, "v1", plural, "", True, views.PartialObject)
            places = (None,) if plural in CLUSTER_SCOPED else client.namespaces or (None,)
            async with turn:
                answers = [
                    await client.can_i(verb, resource, namespace=place, subresource=subresource) for place in places
                ]
            return judge.Permission(group, target, verb, all(one.allowed for one in answers), target in OPTIONAL)

        asked = [
            ask(group, target, verb)
            for rule in CLUSTER_RULES
            for group in rule["apiGroups"]
            for target in rule["resources"]
            for verb in rule["verbs"]
        ]
        return judge.judge_permissions(await asyncio.gather(*asked))

    def _crd_look(self, wanted: dict[str, Any]) -> Look:
        async def look() -> Iterable[Check]:
            try:
                found = await self._examined.context.client.get(CRDS.raw(), wanted["metadata"]["name"])
            except ObjectNotFound:
                return (judge.judge_crd(wanted, None),)
            return (judge.judge_crd(wanted, found),)

        return look

    # -- the ledger and the replicas

    async def _ledger(self) -> Iterable[Check]:
        seen = await self._examined.context.ledger.meta.incarnation()
        return (judge.judge_ledger(seen.id, seen.armed, seen.cause.value),)

    async def _ledger_clock(self) -> Iterable[Check]:
        machine = self._examined.replica.machine_clock
        asked = machine.now()
        there = await self._examined.context.ledger.meta.time()
        midway = asked + (machine.now() - asked) / 2
        return (judge.judge_clock("ledger", (there - midway).total_seconds()),)

    async def _encryption(self) -> Iterable[Check]:
        link = await self._examined.context.ledger.meta.link()
        return (judge_encryption(link.hosts, link.sslmode, link.encrypted),)

    async def _certificate(self) -> Iterable[Check]:
        replica = self._examined.replica
        return (judge_certificate(replica.certificate(), replica.address, self._clock.now()),)

    async def _leader(self) -> Iterable[Check]:
        leadership = self._examined.replica.leadership
        return (judge.judge_leader(leadership.leader_id, leadership.leading, leadership.obstacle),)

    async def _caches(self) -> Iterable[Check]:
        checks = []
        for name, reflector in self._examined.reflectors().items():
            health = reflector.health
            age = health.last_event_age_seconds
            state = judge.CacheState(
                name,
                health.synced,
                health.fresh,
                len(reflector.cache),
                None if age is None else round(age, 1),
                health.last_error,
            )
            checks.append(judge.judge_cache(state))
        return checks

    # -- what we keep

    async def _invariants(self) -> Iterable[Check]:
        pools, now = self._examined.pools.pools.values(), self._clock.now()
        return [
            judge.judge_invariant(
                judge.InvariantStatus(
                    rule.id,
                    rule.rule,
                    rule.state,
                    rule.enforced,
                    rule.broken,
                    rule.paused_by,
                    rule.pause_reason,
                    rule.evidence or {},
                    judge.floor_broken_seconds(pools, now) if rule.id == WARM_FLOOR else None,
                    rule.why.fix,
                )
            )
            for rule in self._examined.reading.invariants()
        ]

    async def _pools(self) -> Iterable[Check]:
        pools = tuple(self._examined.pools.pools.values())
        return (*judge_pools(pools, self._clock.now()), *judge.judge_protection(pools))

    async def _sick_pools(self) -> Iterable[Check]:
        fleet = self._examined.pools
        workers = {key: tuple(of_pool.values()) for key, of_pool in fleet.worker_pools.items()}
        sick = find_sick_pools(fleet.pools.values(), workers, self._clock.now())
        if not sick:
            return (Check("workers", CheckStatus.OK, "no pool has workers that keep failing"),)
        return await asyncio.gather(*(self._sick_pool(each, n < _MOST_EXPLAINED) for n, each in enumerate(sick)))

    async def _sick_pool(self, sick: SickPool, explained: bool) -> Check:
        """With the words of its worst worker; what cannot be read is said in the same line."""
        if not explained:
            return judge_sick_pool(sick, None)
        try:
            async with asyncio.timeout(LIMIT_SECONDS / 2):
                return judge_sick_pool(sick, await self._examined.explain(sick.worst.namespace, sick.worst.name))
        except TimeoutError:
            return judge_sick_pool(sick, None, "no answer in time")
        except MooringError as error:
            return judge_sick_pool(sick, None, error.message)

    async def _quarantine(self) -> Iterable[Check]:
        closed = self._examined.quarantines.closed()
        nodes = self._examined.context.nodes.by_name.values()
        return (judge.judge_quarantine({node.name: closed[node.uid] for node in nodes if node.uid in closed}),)

    async def _leftovers(self) -> Iterable[Check]:
        fleet, now = self._examined.pools, self._clock.now()
        workers = [worker for of_pool in fleet.worker_pools.values() for worker in of_pool.values()]
        accounts = [
            judge.Account(one.metadata.namespace, one.metadata.name, one.metadata.creation_timestamp)
            for one in fleet.accounts
        ]
        uids = frozenset(pool.uid for pool in fleet.pools.values())
        everyone = [*workers, *fleet.strangers]
        return (judge.judge_finalizers(workers, now), judge.judge_leftovers(everyone, accounts, uids, now))

    async def _budgets(self) -> Iterable[Check]:
        listing = await self._examined.context.client.list(BUDGETS, label_selector=names.POOL)
        budgets = [budget_from_view(one) for one in listing.items]
        ledger = self._examined.context.ledger.incarnation.id
        return (judge.judge_budgets(find_abandoned_budgets(budgets, self._examined.pools.pools, ledger)),)

    async def _phases(self, noun: str, resource: Resource[Any]) -> Iterable[Check]:
        try:
            listing = await self._examined.context.client.list(resource.raw())
        except NotServed as absent:
            return (Check(f"{noun}s", CheckStatus.FAIL, "the cluster does not know this kind", fix=absent.fix),)
        return judge.judge_phases(noun, listing.items, self._clock.now())
