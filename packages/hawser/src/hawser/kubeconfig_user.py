"""A kubeconfig's user as a source of credentials: tokens, certificates, passwords, plugins."""

import base64
import os
import shutil
import stat
from typing import Any

from hawser.credentials import Credential, CredentialSource, FixedCredential, TokenFile, basic, bearer
from hawser.errors import CredentialsFailed, Misconfigured
from hawser.exec_plugin import VERSIONS, ExecPlugin
from hawser.kubeconfig_entry import Entry
from hawser.tls import ClientCertificate, Trust, client_context

_CLUSTER_EXTENSION = "client.authentication.k8s.io/exec"
_IMPERSONATION = ("as", "as-uid", "as-groups", "as-user-extra")


def credential_source(user: Entry, cluster: Entry) -> CredentialSource:
    """How this user authenticates to that cluster."""
    for field in _IMPERSONATION:
        if user.has(field):
            raise user.wrong(field, "asks for impersonation, which is not supported", "use a user without it")
    if user.has("auth-provider"):
        raise user.wrong("auth-provider", "is no longer part of Kubernetes", "use a credential plugin: `exec:`")
    certificate = _certificate(user)
    if user.has("tokenFile"):
        return _token_file(user, certificate)
    if user.has("token"):
        return FixedCredential(Credential(_bearer(user), certificate))
    if user.has("username") or user.has("password"):
        return FixedCredential(Credential(basic(user.text("username"), user.text("password")), certificate))
    if user.has("exec"):
        return _plugin(user.part("exec"), cluster, certificate)
    return FixedCredential(Credential(certificate=certificate))


def _bearer(user: Entry) -> str:
    try:
        return bearer(user.text("token"))
    except CredentialsFailed as error:
        raise user.wrong("token", f"is of no use: {error.message}", "write the token in one line") from error


def _certificate(user: Entry) -> ClientCertificate | None:
    chain, key = user.content("client-certificate"), user.content("client-key")
    if not chain and not key:
        return None
    if not chain or not key:
        there, missing = ("client-certificate", "client-key") if chain else ("client-key", "client-certificate")
        raise user.wrong(missing, f"is missing, although there is a {there}", f"give {missing} or {missing}-data")
    certificate = ClientCertificate(chain, key)
    try:
        client_context(Trust(verify=False), certificate)
    except Misconfigured as error:
        field = user.source_of("client-certificate")
        raise user.wrong(field, f"is of no use: {error.message}", error.fix) from error
    return certificate


def _token_file(user: Entry, certificate: ClientCertificate | None) -> TokenFile:
    path = user.path("tokenFile")
    try:
        found = stat.S_ISREG(path.stat().st_mode)
    except OSError:
        found = False
    if not found:
        raise user.wrong("tokenFile", f"names {path}, which is not there", "correct the path")
    return TokenFile(path, certificate)


def _plugin(plugin: Entry, cluster: Entry, certificate: ClientCertificate | None) -> ExecPlugin:
    version = plugin.text("apiVersion")
    if version not in VERSIONS:
        raise plugin.wrong("apiVersion", f"is {version!r}", f"write {' or '.join(VERSIONS)}")
    if plugin.text("interactiveMode") == "Always":
        raise plugin.wrong("interactiveMode", "is Always, and there is no terminal", "use one that needs none")
    variables = {item.text("name"): item.text("value") for item in plugin.parts("env")} if plugin.has("env") else {}
    return ExecPlugin(
        command=_program(plugin),
        api_version=version,
        args=plugin.texts("args"),
        env=variables,
        install_hint=plugin.text("installHint").strip(),
        cluster=_cluster_info(cluster) if plugin.flag("provideClusterInfo") else None,
        certificate=certificate,
    )


def _program(plugin: Entry) -> str:
    command = plugin.text("command")
    if not command:
        raise plugin.wrong("command", "is missing", "name the program that prints the credentials")
    located = str(plugin.path("command")) if os.sep in command else command
    found = shutil.which(located)
    if found is None:
        hint = plugin.text("installHint").strip() or f"install {command} or correct the path"
        raise plugin.wrong("command", f"names {located}, which is not installed", hint)
    return found


def _cluster_info(cluster: Entry) -> dict[str, Any]:
    """What a plugin may know of the cluster, under the names of the exec API."""
    info: dict[str, Any] = {"server": cluster.text("server")}
    if cluster.has("tls-server-name"):
        info["tls-server-name"] = cluster.text("tls-server-name")
    if cluster.flag("insecure-skip-tls-verify"):
        info["insecure-skip-tls-verify"] = True
    if authority := cluster.content("certificate-authority"):
        info["certificate-authority-data"] = base64.b64encode(authority).decode()
    for item in cluster.parts("extensions"):
        if item.text("name") == _CLUSTER_EXTENSION:
            info["config"] = item.fields.get("extension")
    return info
