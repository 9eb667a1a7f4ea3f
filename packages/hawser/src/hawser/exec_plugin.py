"""Credential plugins: a program that a kubeconfig names prints who we are (client.authentication.k8s.io)."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hawser.credentials import Credential, bearer
from hawser.errors import CredentialsFailed, Misconfigured
from hawser.tls import ClientCertificate, Trust, client_context
from hawser.views.base import Time

VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_TIMEOUT_SECONDS = 60.0
_MOST_SHOWN = 1000


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Time | None = None


class _Answer(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status | None = None


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A plugin as a kubeconfig describes it. `cluster` is passed to plugins that ask for it."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = None
    certificate: ClientCertificate | None = None  # the one to show when the plugin gives none

    @property
    def reload_seconds(self) -> float | None:
        """None: the plugin says itself when to come back."""
        return None

    async def load(self) -> Credential:
        return self._read(await self._run())

    async def _run(self) -> bytes:
        spec: dict[str, Any] = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        try:
            environment = {**os.environ, **self.env, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
            process = await asyncio.create_subprocess_exec(
                self.command,
                *self.args,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except (OSError, ValueError, RecursionError) as error:  # arguments and variables come from the kubeconfig
            raise self._failure(f"cannot be started: {error}", fix=self.install_hint) from error
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                output, complaints = await process.communicate()
        except TimeoutError:
            raise self._failure(f"gave no answer within {_TIMEOUT_SECONDS:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = complaints.decode("utf-8", "replace").strip()[-_MOST_SHOWN:]
            raise self._failure(f"ended with code {process.returncode}: {said or 'it said nothing'}")
        return output

    def _read(self, output: bytes) -> Credential:
        try:
            answer = msgspec.json.decode(output, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._failure(f"printed something that is not an ExecCredential: {error}") from error
        if answer.kind != "ExecCredential" or answer.api_version != self.api_version:
            raise self._failure(f"answered with {answer.api_version} {answer.kind}, not {self.api_version}")
        status = answer.status or _Status()
        chain, key = status.client_certificate_data, status.client_key_data
        if bool(chain) != bool(key):
            raise self._failure("gave only one of clientCertificateData and clientKeyData")
        if not status.token and not chain:
            raise self._failure("gave neither a token nor a client certificate")
        certificate = ClientCertificate(chain.encode(), key.encode()) if chain and key else None
        try:
            authorization = bearer(status.token) if status.token else ""
            if certificate is not None:
                client_context(Trust(verify=False), certificate)
        except (CredentialsFailed, Misconfigured) as error:
            raise self._failure(f"gave credentials that cannot be used: {error.message}") from error
        return Credential(authorization, certificate or self.certificate, status.expiration_timestamp)

    def _failure(self, what: str, fix: str = "") -> CredentialsFailed:
        by_hand = f"run `{' '.join([self.command, *self.args])}` by hand and log in if it asks for it"
        return CredentialsFailed(f"the credential plugin {self.command} {what}", fix=fix or by_hand)
