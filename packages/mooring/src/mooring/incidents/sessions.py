"""Sessions of a play: each holds a worker for some time, and dies if its worker is taken away."""

from dataclasses import dataclass

from hawser.cache import Change
from hawser.views import Pod
from mooring.incidents.replica import Replica
from mooring.incidents.stage import Stage
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import MooringError

TTL_SECONDS = 80_000


@dataclass(slots=True)
class Session:
    """One query: its worker, and how and when it ended."""

    claim: str
    epoch: int
    pod_uid: str
    pod_name: str
    node: str
    finished_at: float | None = None
    died_at: float | None = None

    @property
    def over(self) -> bool:
        return self.finished_at is not None or self.died_at is not None


class Sessions:
    """The users who run queries. A worker ends as soon as it is asked to, and its query ends with it."""

    def __init__(self, stage: Stage, control: Replica, pool_key: str) -> None:
        self._stage = stage
        self._control = control
        self._pool_key = pool_key
        self._by_pod: dict[str, Session] = {}
        self.all: list[Session] = []
        stage.watch.subscribe(self._see)

    async def begin(self, seconds: float, owner: str = "analyst") -> Session:
        """Hold a worker for this time."""
        claim = await self._control.mooring.claims.desk.claim(
            self._pool_key, ClaimRequest(owner, ttl_seconds=TTL_SECONDS, wait=60)
        )
        assert claim.pod_uid is not None and claim.pod_name is not None
        pod = next(pod for pod in self._stage.watch.cache.values() if pod.metadata.uid == claim.pod_uid)
        session = Session(claim.id, claim.epoch, claim.pod_uid, claim.pod_name, pod.spec.node_name)
        self._by_pod[claim.pod_uid] = session
        self.all.append(session)
        self._stage.enter(self._run(session, seconds))
        return session

    async def end(self) -> None:
        """Wait until every session has ended."""
        while self.at_work:
            await self._stage.clock.sleep(self._stage.hurried(1.0))

    @property
    def at_work(self) -> int:
        return sum(not session.over for session in self.all)

    @property
    def died(self) -> list[Session]:
        return [session for session in self.all if session.died_at is not None]

    @property
    def finished(self) -> int:
        return sum(session.finished_at is not None for session in self.all)

    async def _run(self, session: Session, seconds: float) -> None:
        await self._stage.clock.sleep(seconds)
        if session.over:
            return
        session.finished_at = self._stage.seconds
        try:
            await self._control.mooring.claims.desk.release(session.claim, session.epoch)
        except MooringError as error:
            self._stage.narrate(f"a session could not be given back: {error.message}")

    def _see(self, change: Change[Pod]) -> None:
        pod = change.latest
        session = self._by_pod.get(pod.metadata.uid)
        if session is None or session.over or (change.new is not None and not pod.terminating):
            return
        session.died_at = self._stage.seconds
        self._stage.narrate(f"the session on {session.pod_name} dies with its worker on {session.node}")
