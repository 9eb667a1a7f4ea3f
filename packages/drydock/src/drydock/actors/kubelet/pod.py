"""One pod on one node: a loop that plans, starts and stops its containers, and writes its status until it is gone."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from drydock.actors.kubelet.admission import Rejection
from drydock.actors.kubelet.backoff import go_duration
from drydock.actors.kubelet.container import LOST, Container, Terminated, Waiting, containers_of
from drydock.actors.kubelet.held_pod import HeldPod
from drydock.actors.kubelet.kit import Kit
from drydock.actors.kubelet.launch import PodLaunch
from drydock.actors.kubelet.machine import Machine
from drydock.actors.kubelet.plan import PodPlan, plan_pod, plan_stop
from drydock.actors.kubelet.run import Run
from drydock.actors.kubelet.status import PodFacts, compute_status
from drydock.actors.machinery.objects import (
    Object,
    is_terminating,
    optional_moment,
    spec_of,
    status_of,
)
from drydock.actors.machinery.pods import is_finished
from drydock.runtime.contract import Handle, PodPlace
from hawser.fitting.needs import PodNeeds

_STATUS_RETRY_SECONDS = 1.0
_QUICK_START_SECONDS = 0.05  # a start this quick is reported in one write instead of two
_DEFAULT_GRACE_SECONDS = 30
_DEADLINE = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class PodWorker:
    """`run` ends when the pod is gone from the API and nothing of it runs any more."""

    def __init__(self, kit: Kit, machine: Machine, pod: Object, needs: PodNeeds) -> None:
        self._kit = kit
        self._machine = machine
        self.needs = needs
        self._held = HeldPod(kit.client, pod, self.wake)
        self.place = PodPlace(machine.name, self._held.namespace, self._held.name, self._held.uid)
        self._containers = containers_of(pod)
        self._by_name = {container.name: container for container in self._containers}
        self._started_at = optional_moment(status_of(pod).get("startTime")) or kit.clock.now()
        self._address = self._choose_address()
        self._launch = PodLaunch(kit, machine, self._held, self.place, self._address)
        self._wake = asyncio.Event()
        self._over = False
        self._terminal = is_finished(pod)
        self._failure = ("", "")
        self._starts: dict[str, asyncio.Task[None]] = {}
        self._runs: dict[str, Run] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}  # in order, so that a run can be repeated
        self._defect: BaseException | None = None

    # -- called from outside

    def update(self, pod: Object) -> None:
        """The API holds a newer version."""
        if self._held.take(pod):
            self.wake()

    def remove(self) -> None:
        """The API does not hold the pod any more."""
        self._held.removed = True
        self.wake()

    def wake(self) -> None:
        """Look again."""
        self._wake.set()

    def reject(self, rejection: Rejection) -> None:
        """The node does not take the pod: it fails without having begun."""
        self._failure = (rejection.reason, f"Pod was rejected: {rejection.message}")
        self._kit.warn(self._pod, rejection.reason, rejection.message)

    @property
    def takes_room(self) -> bool:
        """Whether what the pod asked for is still set aside for it."""
        return not self._terminal and not self._failure[0]

    def attempt_of(self, container: str) -> int | None:
        """The number of the container's latest run; None when there is no such container."""
        record = self._by_name.get(container)
        return record.restart_count if record else None

    @property
    def address(self) -> str:
        return self._address

    def handle_of(self, container: str) -> Handle | None:
        """The container's run; None while it does not run."""
        run = self._runs.get(container)
        return run.handle if run else None

    def is_running(self, container: str) -> bool:
        return container in self._runs

    def waiting_reason(self, container: str) -> str:
        """Why the container waits; "" when it does not."""
        state = self._by_name[container].state
        return state.reason if isinstance(state, Waiting) else ""

    def has_run(self, container: str) -> bool:
        return self._by_name[container].has_run

    @property
    def removed(self) -> bool:
        """Whether the API does not hold the pod any more."""
        return self._held.removed

    @property
    def _pod(self) -> Object:
        return self._held.object

    # -- the loop

    async def run(self) -> None:
        """Until the pod is gone."""
        if self._launch.volumes.change:
            self._spawn(self._launch.keep_volumes_fresh())
        try:
            while not self._over:
                await self._machine.awake.wait()
                self._wake.clear()
                seconds = await self._step()
                if not self._over:
                    await self._sleep(seconds)
        finally:
            for run in tuple(self._runs.values()):
                run.kill()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _sleep(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _step(self) -> float | None:
        """Act once; returns after how long to look again without being woken."""
        if self._defect:
            raise self._defect
        now = self._kit.clock.monotonic()
        overdue_in = self._check_deadline()
        ending = self.removed or self._terminal or is_terminating(self._pod) or is_finished(self._pod)
        if ending or self._failure[0]:
            plan = plan_stop(self._containers)
            for run in self._runs.values():
                run.hurry(self._grace_seconds())
        else:
            plan = plan_pod(self._containers, str(spec_of(self._pod).get("restartPolicy", "Always")), now)
        if starts := self._act(plan):
            await asyncio.wait(starts, timeout=_QUICK_START_SECONDS)
        waits = [wait for wait in (overdue_in, plan.wake_at - now if plan.wake_at else None) if wait is not None]
        if plan.over:
            self._terminal = True
            self._settle_never_started()
        if self.removed:
            self._over = plan.over
        elif not await self._report(plan):
            waits.append(_STATUS_RETRY_SECONDS)
        return max(0.0, min(waits)) if waits else None

    def _act(self, plan: PodPlan) -> list[asyncio.Task[None]]:
        """Begin what is planned; returns the starts under way."""
        starts = []
        for name in plan.start:
            container = self._by_name[name]
            container.starting, container.stopping = True, False
            self._starts[name] = self._spawn(self._start(container))
            starts.append(self._starts[name])
        for name in plan.stop:
            container = self._by_name[name]
            container.stopping = True
            if run := self._runs.get(name):
                run.stop(self._grace_seconds(), f"Stopping container {name}")
            elif start := self._starts.get(name):
                start.cancel()
        for name in plan.back_off:
            self._hold_back(self._by_name[name])
        return starts

    async def _start(self, container: Container) -> None:
        try:
            run = await self._launch.start(container, self.wake)
            if run is not None:
                self._runs[container.name] = run
                run.on_end(lambda: self._runs.pop(container.name, None))
                if container.stopping:
                    run.stop(self._grace_seconds(), f"Stopping container {container.name}")
        finally:
            container.starting = False
            del self._starts[container.name]
            self.wake()

    def _hold_back(self, container: Container) -> None:
        if isinstance(container.state, Waiting) and container.state.reason == "CrashLoopBackOff":
            return
        if isinstance(container.state, Terminated):
            container.last = container.state
        pod = f"{self.place.name}_{self.place.namespace}({self.place.uid})"
        delay = go_duration(container.backoff.seconds)
        told = f"back-off {delay} restarting failed container={container.name} pod={pod}"
        container.state = Waiting("CrashLoopBackOff", told)
        self._kit.warn(self._pod, "BackOff", f"Back-off restarting failed container {container.name} in pod {pod}")

    def _settle_never_started(self) -> None:
        """A pod that is over shows an end for every container, also for those that never began."""
        if is_terminating(self._pod):
            for container in self._containers:
                if isinstance(container.state, Waiting):
                    container.state = container.last or LOST

    def _check_deadline(self) -> float | None:
        seconds = spec_of(self._pod).get("activeDeadlineSeconds")
        if seconds is None or self._terminal or is_finished(self._pod):
            return None
        left = (self._started_at + timedelta(seconds=seconds) - self._kit.clock.now()).total_seconds()
        if left <= 0 and not self._failure[0]:
            self._failure = _DEADLINE
            self._kit.tell(self._pod, *_DEADLINE)
        return left if left > 0 else None

    def _grace_seconds(self) -> float:
        metadata = self._pod["metadata"]
        grace = metadata.get("deletionGracePeriodSeconds")
        if grace is None:
            grace = spec_of(self._pod).get("terminationGracePeriodSeconds", _DEFAULT_GRACE_SECONDS)
        return float(grace)

    def _choose_address(self) -> str:
        if spec_of(self._pod).get("hostNetwork"):
            return self._machine.address
        return self._kit.runtime.address_of(self.place, str(status_of(self._pod).get("podIP") or ""))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()):
            self._defect = error
            self.wake()

    async def _report(self, plan: PodPlan) -> bool:
        """Write it to the API; False when it has to be tried again."""
        if not await self._held.write_status(self._status):
            return False
        if self.removed:
            self.wake()
        elif plan.over and is_terminating(self._pod):
            self._over = await self._held.delete()
            return self._over
        return True

    def _status(self, pod: Object) -> Object:
        return compute_status(pod, self._containers, self._facts(), self._kit.clock.now())

    def _facts(self) -> PodFacts:
        reason, message = self._failure
        return PodFacts(
            address=self._address,
            host_address=self._machine.address,
            started_at=self._started_at,
            prepared=self._launch.prepared,
            terminal=self._terminal,
            reason=reason,
            message=message,
        )


def is_fresh(pod: Object) -> bool:
    """Whether no kubelet has begun with the pod."""
    return not status_of(pod).get("startTime") and not is_finished(pod) and not is_terminating(pod)
