"""Getting a container to run: volumes, environment, image, start; each failure in the words of Kubernetes."""

import asyncio
import signal
from collections.abc import Callable

from drydock.actors.kubelet.backoff import Backoff
from drydock.actors.kubelet.container import CREATING, Container, Terminated, Waiting
from drydock.actors.kubelet.environment import ConfigFailed, PodFields, build_environment, expand_all
from drydock.actors.kubelet.held_pod import HeldPod
from drydock.actors.kubelet.hooks import run_hook
from drydock.actors.kubelet.kit import Kit
from drydock.actors.kubelet.machine import Machine
from drydock.actors.kubelet.run import Run
from drydock.actors.kubelet.sources import LiveSources, registries_of
from drydock.actors.kubelet.tokens import PodTokens
from drydock.actors.kubelet.volumes import MountFailed, PodVolumes
from drydock.actors.machinery.objects import Object, name_of, namespace_of, spec_of
from drydock.runtime.contract import ContainerRun, Handle, ImageFailed, PodPlace, StartRefused
from hawser.errors import KubeError

_CONFIG_RETRY_SECONDS = 10.0
_API_RETRY_SECONDS = 1.0
_MOUNT_RETRY_SECONDS = (0.5, 122.0)
_REFRESH_SECONDS = 60.0
_START_ERROR_CODE = 128
_HOOK_SECONDS = 86400.0
_DEFAULT_GRACE_SECONDS = 30


class PodLaunch:
    """Starts the containers of one pod."""

    def __init__(self, kit: Kit, machine: Machine, held: HeldPod, place: PodPlace, address: str) -> None:
        pod = held.object
        self._kit = kit
        self._held = held
        self._place = place
        self._address = address
        self._fields = PodFields(pod, address, machine.address, machine.allocatable)
        self._sources = LiveSources(kit.client)
        self.volumes = PodVolumes(
            pod,
            self._fields,
            self._sources,
            PodTokens(kit.client, kit.clock, pod),
            kit.runtime.pod_folder(place),
            kit.runtime.node_folder(place.node),
        )
        self.prepared = False
        self._preparing = asyncio.Lock()
        self._mount_retry_seconds = _MOUNT_RETRY_SECONDS[0]
        self._image_backoffs: dict[str, Backoff] = {}

    @property
    def _pod(self) -> Object:
        return self._held.object

    async def start(self, container: Container, wake: Callable[[], None]) -> Run | None:
        """Start a run, or note in the record why not and when to try again."""
        try:
            await self._prepare()
            planned = await self._configure(container)
            await self._pull(container, planned.image)
            run = Run(self._kit, self._pod, container, wake)
            handle = await self._kit.runtime.start(planned, run)
        except MountFailed as failure:
            self._kit.warn(self._pod, "FailedMount", failure.message)
            self._try_again(container, self._next_mount_retry())
        except ConfigFailed as failure:
            self._refuse(container, "CreateContainerConfigError", failure.message)
            self._try_again(container, _CONFIG_RETRY_SECONDS)
        except ImageFailed as failure:
            self._back_off_image(container, failure)
        except StartRefused as refusal:
            self._record_start_error(container, refusal)
        except KubeError:
            self._try_again(container, _API_RETRY_SECONDS)
        else:
            self._kit.tell(self._pod, "Created", "Container created")
            self._kit.tell(self._pod, "Started", "Container started")
            await self._begin(container, run, handle)
            return run
        return None

    async def _begin(self, container: Container, run: Run, handle: Handle) -> None:
        """A container counts as running when its hook has ended; one whose hook failed is ended again."""
        try:
            hooked = await run_hook("postStart", container.spec, handle, self._kit.clock, _HOOK_SECONDS)
        except asyncio.CancelledError:
            handle.signal(signal.SIGKILL)
            raise
        run.begin(handle)
        if not hooked:
            self._kit.warn(self._pod, "FailedPostStartHook", "PostStartHook failed")
            grace = spec_of(self._pod).get("terminationGracePeriodSeconds", _DEFAULT_GRACE_SECONDS)
            run.stop(float(grace), "FailedPostStartHook")

    async def keep_volumes_fresh(self) -> None:
        """Write again what has changed, tokens near their end included, until cancelled."""
        while True:
            await self._kit.clock.sleep(_REFRESH_SECONDS)
            if self.prepared:
                try:
                    await self.volumes.prepare()
                except MountFailed as failure:
                    self._kit.warn(self._pod, "FailedMount", failure.message)

    async def _prepare(self) -> None:
        async with self._preparing:
            if not self.prepared:
                await self.volumes.prepare()
                self.prepared = True

    async def _configure(self, container: Container) -> ContainerRun:
        spec = container.spec
        base = {
            "HOSTNAME": name_of(self._pod),
            "POD_IP": self._address,
            **self._kit.runtime.environment(self._place, container.name),
            **self._kit.api_environment,
        }
        environment = await build_environment(self._pod, spec, self._fields, self._sources, base)
        return ContainerRun(
            place=self._place,
            container=container.name,
            attempt=container.restart_count + (1 if container.has_run else 0),
            image=str(spec["image"]),
            pod=self._pod,
            spec=spec,
            address=self._address,
            command=expand_all(spec.get("command") or (), environment),
            arguments=expand_all(spec.get("args") or (), environment),
            environment=environment,
            mounts=self.volumes.mounts(spec, environment),
        )

    async def _pull(self, container: Container, image: str) -> None:
        names = [entry["name"] for entry in spec_of(self._pod).get("imagePullSecrets") or ()]
        granted = await registries_of(self._sources, namespace_of(self._pod), names)
        await self._kit.runtime.pull(image, granted)
        self._image_backoffs.pop(container.name, None)
        self._kit.tell(
            self._pod, "Pulled", f'Container image "{image}" already present on machine and can be accessed by the pod'
        )

    def _refuse(self, container: Container, reason: str, message: str) -> None:
        if isinstance(container.state, Terminated):
            container.last = container.state
        container.state = Waiting(reason, message)
        self._kit.warn(self._pod, "Failed", f"Error: {message}")

    def _back_off_image(self, container: Container, failure: ImageFailed) -> None:
        image = container.spec["image"]
        now = self._kit.clock.monotonic()
        backoff = self._image_backoffs.setdefault(container.name, Backoff())
        backoff.attempted(now, now)
        self._kit.tell(self._pod, "Pulling", f'Pulling image "{image}"')
        self._kit.warn(self._pod, "Failed", f'Failed to pull image "{image}": {failure.message}')
        self._kit.warn(self._pod, "Failed", "Error: ErrImagePull")
        self._kit.tell(self._pod, "BackOff", f'Back-off pulling image "{image}"')
        self._kit.warn(self._pod, "Failed", "Error: ImagePullBackOff")
        told = f'Back-off pulling image "{image}": ErrImagePull: {failure.message}'
        container.state = Waiting("ImagePullBackOff", told)
        self._try_again(container, backoff.seconds)

    def _record_start_error(self, container: Container, refusal: StartRefused) -> None:
        """A container that cannot be executed counts as one that ran and failed."""
        now = self._kit.clock.now()
        if container.has_run:
            container.restart_count += 1
            container.backoff.attempted(container.ended_at, self._kit.clock.monotonic())
        if isinstance(container.state, Terminated):
            container.last = container.state
        container.state = Terminated(_START_ERROR_CODE, refusal.reason, now, now, refusal.message)
        container.ended_at = self._kit.clock.monotonic()
        self._kit.warn(self._pod, "Failed", f"Error: {refusal.message}")

    def _try_again(self, container: Container, seconds: float) -> None:
        container.retry_at = self._kit.clock.monotonic() + seconds
        if not isinstance(container.state, Waiting | Terminated):
            container.state = Waiting(CREATING)

    def _next_mount_retry(self) -> float:
        seconds = self._mount_retry_seconds
        self._mount_retry_seconds = min(seconds * 2, _MOUNT_RETRY_SECONDS[1])
        return seconds
