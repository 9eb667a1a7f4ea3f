"""The volumes of a pod, as folders on this machine, and how they are mounted into its containers."""

import base64
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from drydock.actors.kubelet.environment import (
    ConfigFailed,
    PodFields,
    Sources,
    expand,
    require_config_map,
    require_secret,
)
from drydock.actors.kubelet.payload import File, write_payload
from drydock.actors.kubelet.tokens import PodTokens
from drydock.actors.machinery.objects import Object, namespace_of, spec_of
from drydock.runtime.contract import Mount
from hawser.errors import HawserError, KubeError

_DEFAULT_MODE = 0o644
_EMPTY_MODE = 0o777
_REFRESHED = ("configMap", "secret", "projected", "downwardAPI")


class MountFailed(HawserError):
    """A volume cannot be set up; the containers wait in ContainerCreating."""

    code = "volume_failed"


class PodVolumes:
    """All volumes of one pod. Without a folder they are only checked: what they refer to must be there."""

    def __init__(
        self,
        pod: Object,
        fields: PodFields,
        sources: Sources,
        tokens: PodTokens,
        folder: Path | None,
        disk: Path | None,
    ) -> None:
        self._pod = pod
        self._namespace = namespace_of(pod)
        self._fields = fields
        self._sources = sources
        self._tokens = tokens
        self._folder = folder
        self._disk = disk
        self._volumes: dict[str, Object] = {volume["name"]: volume for volume in spec_of(pod).get("volumes") or ()}

    @property
    def change(self) -> bool:
        """Whether some volume follows an object or a token, so that it has to be written again from time to time."""
        return self._folder is not None and any(
            kind in volume for volume in self._volumes.values() for kind in _REFRESHED
        )

    async def prepare(self) -> None:
        """Write every volume, or write again what changed."""
        for name, volume in self._volumes.items():
            try:
                await self._prepare(name, volume)
            except (ConfigFailed, KubeError) as error:
                raise MountFailed(f'MountVolume.SetUp failed for volume "{name}" : {error.message}') from error

    def mounts(self, container: Object, environment: Mapping[str, str]) -> list[Mount]:
        """What to mount into the container; paths inside a volume are made where they are missing."""
        if self._folder is None:
            return []
        found = []
        for entry in container.get("volumeMounts") or ():
            volume = self._volumes[entry["name"]]
            source = self._source(volume)
            inside = entry.get("subPath") or expand(entry.get("subPathExpr") or "", environment)
            if inside:
                source = _below(source, inside)
                if not source.exists():
                    source.mkdir(parents=True)
            read_only = bool(entry.get("readOnly")) or any(kind in volume for kind in _REFRESHED)
            found.append(Mount(source, entry["mountPath"], read_only))
        return found

    def _source(self, volume: Object) -> Path:
        assert self._folder and self._disk
        if host := volume.get("hostPath"):
            return _below(self._disk, host["path"])
        return self._folder / "volumes" / str(volume["name"])

    async def _prepare(self, name: str, volume: Object) -> None:
        match volume:
            case {"emptyDir": _}:
                if self._folder is not None:
                    self._source(volume).mkdir(parents=True, exist_ok=True)
                    self._source(volume).chmod(_EMPTY_MODE)
            case {"hostPath": host}:
                if self._folder is not None:
                    self._prepare_host_path(self._source(volume), host)
            case {"configMap": source}:
                self._write(volume, source, await self._config_map(source))
            case {"secret": source}:
                self._write(volume, source, await self._secret(source))
            case {"downwardAPI": source}:
                self._write(volume, source, self._downward(source.get("items") or ()))
            case {"projected": source}:
                payload: dict[str, bytes] = {}
                for part in source.get("sources") or ():
                    payload |= await self._projected(part)
                self._write(volume, source, payload)
            case _:
                kinds = ", ".join(key for key in volume if key != "name")
                raise ConfigFailed(f"this node has no volumes of the kind {kinds}")

    def _prepare_host_path(self, path: Path, host: Object) -> None:
        kind = host.get("type") or ""
        checks = {"Directory": path.is_dir, "File": path.is_file}
        if kind in checks and not checks[kind]():
            what = "directory" if kind == "Directory" else "file"
            raise ConfigFailed(f"hostPath type check failed: {host['path']} is not a {what}")
        if kind == "FileOrCreate":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        elif kind in ("", "DirectoryOrCreate") and not path.exists():
            path.mkdir(parents=True)

    def _write(self, volume: Object, source: Object, payload: Mapping[str, bytes]) -> None:
        if self._folder is None:
            return
        mode = int(source.get("defaultMode") or _DEFAULT_MODE)
        modes = {item["path"]: int(item["mode"]) for item in source.get("items") or () if item.get("mode")}
        if outside := [path for path in payload if _leads_out(path)]:
            raise ConfigFailed(f"path {outside[0]!r} leads out of the volume")
        files = {path: File(content, modes.get(path, mode)) for path, content in payload.items()}
        write_payload(self._source(volume), files)

    async def _projected(self, part: Object) -> dict[str, bytes]:
        match part:
            case {"configMap": source}:
                return await self._config_map(source)
            case {"secret": source}:
                return await self._secret(source)
            case {"downwardAPI": source}:
                return self._downward(source.get("items") or ())
            case {"serviceAccountToken": source}:
                if self._folder is None:
                    return {}
                token = await self._tokens.token(str(source.get("audience") or ""), source.get("expirationSeconds"))
                return {source["path"]: token.encode()}
            case _:
                raise ConfigFailed(f"this node cannot project {', '.join(part)}")

    async def _config_map(self, source: Object) -> dict[str, bytes]:
        if self._folder is None and source.get("name") == "kube-root-ca.crt":
            return {}
        found = await require_config_map(source, self._namespace, self._sources) or {}
        text = {key: value.encode() for key, value in (found.get("data") or {}).items()}
        binary = {key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()}
        return _chosen({**text, **binary}, source)

    async def _secret(self, source: Object) -> dict[str, bytes]:
        found = await require_secret(source, self._namespace, self._sources) or {}
        return _chosen({key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}, source)

    def _downward(self, items: list[Object] | tuple[()]) -> dict[str, bytes]:
        payload = {}
        for item in items:
            if reference := item.get("fieldRef"):
                value = self._fields.field(reference["fieldPath"])
            else:
                value = self._fields.resource(item["resourceFieldRef"], {})
            payload[item["path"]] = value.encode()
        return payload


def _chosen(data: Mapping[str, bytes], source: Object) -> dict[str, bytes]:
    """All keys under their own names, or only those asked for."""
    items = source.get("items")
    if not items:
        return dict(data)
    payload = {}
    for item in items:
        if item["key"] in data:
            payload[item["path"]] = data[item["key"]]
        elif not source.get("optional"):
            raise ConfigFailed(f"references non-existent config key: {item['key']}")
    return payload


def _leads_out(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return not parts or parts[0] == "/" or ".." in parts


def _below(folder: Path, path: str) -> Path:
    """`path` under `folder`; nothing in it leads out."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    return folder.joinpath(*parts)
