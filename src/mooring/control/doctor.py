"""`mooring doctor`: reads what an operator would look at, all at once, each part for itself and bounded in time.

A part that cannot be read is one line that says `unknown` and why; every other line is still there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from mooring.clock import Clock
from mooring.control.budgets import budget_from_view
from mooring.control.fleet import Fleet
from mooring.control.leadership import Leadership
from mooring.control.permissions import CLUSTER_RULES, OPTIONAL
from mooring.control.quarantine import Quarantines
from mooring.control.reading import ReadSide
from mooring.kube import views
from mooring.kube.client import KubeClient
from mooring.kube.crds import load_crds
from mooring.kube.errors import NotPermitted, NotServed, ObjectNotFound
from mooring.kube.reflector import Reflector
from mooring.kube.resources import BUDGETS, CRDS, MANAGEDSERVICES, WARMUPS, Resource
from mooring.ledger.port import Ledger
from mooring.model import names
from mooring.model.checkup import Check, CheckStatus, Checkup
from mooring.model.errors import MooringError
from mooring.planning import doctor as judge
from mooring.planning.budgets import find_abandoned_budgets
from mooring.planning.pools import WARM_FLOOR

log = structlog.get_logger()

LIMIT_SECONDS = 5.0
_REVIEWS_AT_ONCE = 16
_ORDER = (CheckStatus.FAIL, CheckStatus.WARN, CheckStatus.UNKNOWN, CheckStatus.OK)

Look = Callable[[], Awaitable[Iterable[Check]]]


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at."""

    client: KubeClient
    ledger: Ledger
    fleet: Fleet
    reading: ReadSide
    quarantines: Quarantines
    leadership: Leadership
    reflectors: Callable[[], Mapping[str, Reflector[Any]]]


class Doctor:
    """Looks when asked, and changes nothing."""

    def __init__(self, patient: Patient, clock: Clock) -> None:
        self._patient = patient
        self._clock = clock
        self._crds = load_crds()

    async def examine(self) -> Checkup:
        """Every line, what fails first."""
        began = self._clock.monotonic()
        looks: dict[str, Look] = {
            "api": self._api,
            "permissions": self._permissions,
            **{f"crd/{crd['metadata']['name']}": self._crd_look(crd) for crd in self._crds},
            "ledger": self._ledger,
            "clock/ledger": self._ledger_clock,
            "leader": self._leader,
            "caches": self._caches,
            "invariants": self._invariants,
            "pools": self._pools,
            "quarantine": self._quarantine,
            "leftovers": self._leftovers,
            "budgets": self._budgets,
            "services": lambda: self._phases("service", MANAGEDSERVICES),
            "warmups": lambda: self._phases("warmup", WARMUPS),
        }
        found = await asyncio.gather(*(self._isolated(check_id, look) for check_id, look in looks.items()))
        checks = sorted((check for part in found for check in part), key=lambda check: _ORDER.index(check.status))
        return Checkup(tuple(checks), self._clock.now(), round(self._clock.monotonic() - began, 3))

    async def _isolated(self, check_id: str, look: Look) -> tuple[Check, ...]:
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                return tuple(await look())
        except TimeoutError:
            message = f"no answer within {LIMIT_SECONDS:.0f} s"
            return (Check(check_id, CheckStatus.UNKNOWN, message, fix="look at the api and ledger lines"),)
        except NotPermitted as refused:
            return (Check(check_id, CheckStatus.UNKNOWN, f"may not be read: {refused.message}", fix=refused.fix),)
        except MooringError as error:
            status = CheckStatus.FAIL if check_id in ("api", "ledger") else CheckStatus.UNKNOWN
            return (Check(check_id, status, f"cannot be read: {error.message}", fix=error.fix),)
        except Exception as error:
            log.exception("a check failed", check=check_id)
            return (Check(check_id, CheckStatus.UNKNOWN, f"the check itself failed: {error!r}"),)

    # -- the cluster

    async def _api(self) -> Iterable[Check]:
        began = self._clock.monotonic()
        version = await self._patient.client.version()
        seconds = round(self._clock.monotonic() - began, 3)
        skew = (version.time - self._clock.now()).total_seconds() if version.time else None
        if skew is not None and -1.5 < skew < 0.5:
            skew = 0.0  # the server's answer carries whole seconds only
        evidence = {"version": version.name, "seconds": seconds}
        return (
            Check("api", CheckStatus.OK, f"the API server answers: {version.name}", evidence),
            judge.judge_clock("API server", skew),
        )

    async def _permissions(self) -> Iterable[Check]:
        turn = asyncio.Semaphore(_REVIEWS_AT_ONCE)

        async def ask(group: str, target: str, verb: str) -> judge.Permission:
            plural, _, subresource = target.partition("/")
            resource = Resource(group, "v1", plural, "", True, views.PartialObject)
            async with turn:
                answer = await self._patient.client.can_i(verb, resource, subresource=subresource)
            return judge.Permission(group, target, verb, answer.allowed, target in OPTIONAL)

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
                found = await self._patient.client.get(CRDS.raw(), wanted["metadata"]["name"])
            except ObjectNotFound:
                return (judge.judge_crd(wanted, None),)
            return (judge.judge_crd(wanted, found),)

        return look

    # -- the ledger and the replicas

    async def _ledger(self) -> Iterable[Check]:
        seen = await self._patient.ledger.meta.incarnation()
        return (judge.judge_ledger(seen.id, seen.armed, seen.cause.value),)

    async def _ledger_clock(self) -> Iterable[Check]:
        asked = self._clock.now()
        there = await self._patient.ledger.meta.time()
        midway = asked + (self._clock.now() - asked) / 2
        return (judge.judge_clock("ledger", (there - midway).total_seconds()),)

    async def _leader(self) -> Iterable[Check]:
        leadership = self._patient.leadership
        return (judge.judge_leader(leadership.leader_id, leadership.leading),)

    async def _caches(self) -> Iterable[Check]:
        checks = []
        for name, reflector in self._patient.reflectors().items():
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
        pools, now = self._patient.fleet.pools.values(), self._clock.now()
        return [
            judge.judge_rule(
                judge.RuleState(
                    rule.id,
                    rule.rule,
                    rule.state,
                    rule.enforced,
                    rule.broken,
                    rule.paused_by,
                    rule.evidence or {},
                    judge.floor_broken_seconds(pools, now) if rule.id == WARM_FLOOR else None,
                )
            )
            for rule in self._patient.reading.invariants()
        ]

    async def _pools(self) -> Iterable[Check]:
        pools = tuple(self._patient.fleet.pools.values())
        return (*judge.judge_pools(pools), *judge.judge_protection(pools))

    async def _quarantine(self) -> Iterable[Check]:
        closed = self._patient.quarantines.closed()
        nodes = self._patient.fleet.nodes.values()
        return (judge.judge_quarantine({node.name: closed[node.uid] for node in nodes if node.uid in closed}),)

    async def _leftovers(self) -> Iterable[Check]:
        fleet, now = self._patient.fleet, self._clock.now()
        workers = [worker for of_pool in fleet.worker_pools.values() for worker in of_pool.values()]
        accounts = [
            judge.Account(one.metadata.namespace, one.metadata.name, one.metadata.creation_timestamp)
            for one in fleet.accounts
        ]
        uids = frozenset(pool.uid for pool in fleet.pools.values())
        return (judge.judge_finalizers(workers, now), judge.judge_leftovers(workers, accounts, uids, now))

    async def _budgets(self) -> Iterable[Check]:
        listing = await self._patient.client.list(BUDGETS, label_selector=names.POOL)
        budgets = [budget_from_view(one) for one in listing.items]
        ledger = self._patient.ledger.incarnation.id
        return (judge.judge_budgets(find_abandoned_budgets(budgets, self._patient.fleet.pools, ledger)),)

    async def _phases(self, noun: str, resource: Resource[Any]) -> Iterable[Check]:
        try:
            listing = await self._patient.client.list(resource.raw())
        except NotServed as absent:
            return (Check(f"{noun}s", CheckStatus.FAIL, "the cluster does not know this kind", fix=absent.fix),)
        return judge.judge_phases(noun, listing.items, self._clock.now())
