"""The command lines of the real control plane's programs."""

import json
from dataclasses import dataclass
from pathlib import Path

from drydock.certificates import Authority, KeyPair
from drydock.kubernetes.binaries import Binaries

SERVICE_RANGE = "10.0.0.0/16"
LOOPBACK = "127.0.0.1"
_WRITES = ["create", "update", "patch", "delete", "deletecollection"]
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Request", "verbs": ["delete"]},
        {"level": "Metadata", "verbs": _WRITES},
        {"level": "None"},
    ],
}
ISSUER = "https://kubernetes.default.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class PlaneOptions:
    """What callers may choose about a control plane. Zero means the programs' own default, or any free port."""

    port: int = 0
    node_monitor_grace_seconds: int = 0
    event_ttl_seconds: int = 3600
    client_qps: int = 300  # of the controller manager and the scheduler; their own 20 and 50 are for large clusters
    start_deadline_seconds: float = 90.0
    context: str = "drydock"  # the name in the kubeconfig
    address: str = LOOPBACK  # of the API server; nodes on machines of their own cannot reach loopback
    audit: bool = False  # every write, with its body, as a line of JSON in the logs: audit.jsonl

    @property
    def reachable(self) -> bool:
        """Whether others than processes of this machine can connect."""
        return self.address != LOOPBACK


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the programs listen: etcd on 127.0.0.1, the API server on its address."""

    apiserver: int
    etcd: int
    etcd_peer: int


@dataclass(frozen=True, slots=True)
class Credentials:
    """The certificates of one control plane."""

    authority: KeyPair
    apiserver: KeyPair
    etcd: KeyPair
    etcd_client: KeyPair
    kubelet_server: KeyPair
    kubelet_client: KeyPair
    controller_manager: KeyPair
    scheduler: KeyPair
    service_accounts: KeyPair


def issue_credentials(authority: Authority, address: str) -> Credentials:
    """Everything the programs show each other."""
    loopback = ["localhost", LOOPBACK]
    shown = "apiserver" if address == LOOPBACK else f"apiserver-{address}"
    service_names = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]
    return Credentials(
        authority=authority.pair,
        apiserver=authority.serving(shown, [*loopback, *service_names, "10.0.0.1", address]),
        etcd=authority.serving("etcd", loopback),
        etcd_client=authority.client("etcd-client", "kube-apiserver"),
        kubelet_server=authority.serving("kubelet", loopback),
        kubelet_client=authority.client("kubelet-client", "kube-apiserver-kubelet-client", ["system:masters"]),
        # Without an account a controller (forty token requests at every start) the manager acts in its own name,
        # for which the built-in role of that name is too small.
        controller_manager=authority.client("controller-manager", "system:kube-controller-manager", ["system:masters"]),
        scheduler=authority.client("scheduler", "system:kube-scheduler"),
        service_accounts=authority.signing_key("service-accounts"),
    )


def etcd_command(binaries: Binaries, ports: Ports, credentials: Credentials, data: Path) -> list[str]:
    """etcd, reachable only with a certificate of our authority."""
    client, peer = f"https://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.etcd_peer}"
    return [
        str(binaries.etcd),
        f"--data-dir={data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        f"--cert-file={credentials.etcd.certificate}",
        f"--key-file={credentials.etcd.key}",
        f"--trusted-ca-file={credentials.authority.certificate}",
        "--client-cert-auth",
        "--unsafe-no-fsync",  # a crash of the machine loses a test cluster; a killed process does not
        "--log-level=warn",
    ]


def apiserver_command(
    binaries: Binaries, ports: Ports, credentials: Credentials, tokens: Path, options: PlaneOptions
) -> list[str]:
    """kube-apiserver with RBAC and default admission; the kubelets are reached by their address."""
    return [
        str(binaries.apiserver),
        f"--bind-address={options.address}",
        f"--advertise-address={options.address}",
        f"--secure-port={ports.apiserver}",
        f"--tls-cert-file={credentials.apiserver.certificate}",
        f"--tls-private-key-file={credentials.apiserver.key}",
        f"--client-ca-file={credentials.authority.certificate}",
        f"--etcd-servers=https://127.0.0.1:{ports.etcd}",
        f"--etcd-cafile={credentials.authority.certificate}",
        f"--etcd-certfile={credentials.etcd_client.certificate}",
        f"--etcd-keyfile={credentials.etcd_client.key}",
        f"--token-auth-file={tokens}",
        *_surroundings(options),
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={credentials.service_accounts.certificate}",
        f"--service-account-signing-key-file={credentials.service_accounts.key}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--allow-privileged",
        f"--event-ttl={options.event_ttl_seconds}s",
        f"--kubelet-certificate-authority={credentials.authority.certificate}",
        f"--kubelet-client-certificate={credentials.kubelet_client.certificate}",
        f"--kubelet-client-key={credentials.kubelet_client.key}",
        "--kubelet-preferred-address-types=InternalIP,Hostname",
        "--profiling=false",
    ]


def audit_flags(folder: Path, log: Path) -> list[str]:
    """The API server's own record of all writes, once they are answered."""
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(_AUDIT_POLICY))
    return [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking"]


def _surroundings(options: PlaneOptions) -> list[str]:
    if options.reachable:
        return ["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"]
    # The service `kubernetes` cannot point at 127.0.0.1: endpoints on loopback are refused.
    return ["--authorization-mode=RBAC", "--endpoint-reconciler-type=none"]


def controller_manager_command(
    binaries: Binaries, credentials: Credentials, kubeconfig: Path, options: PlaneOptions
) -> list[str]:
    """kube-controller-manager with every default controller."""
    command = [
        str(binaries.controller_manager),
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--service-account-private-key-file={credentials.service_accounts.key}",
        f"--root-ca-file={credentials.authority.certificate}",
        f"--cluster-signing-cert-file={credentials.authority.certificate}",
        f"--cluster-signing-key-file={credentials.authority.key}",
        f"--kube-api-qps={options.client_qps}",
        f"--kube-api-burst={options.client_qps}",
        "--profiling=false",
    ]
    if options.node_monitor_grace_seconds:
        command.append(f"--node-monitor-grace-period={options.node_monitor_grace_seconds}s")
    return command


def scheduler_command(binaries: Binaries, kubeconfig: Path, options: PlaneOptions) -> list[str]:
    """kube-scheduler with its default profile."""
    return [
        str(binaries.scheduler),
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--kube-api-qps={options.client_qps}",
        f"--kube-api-burst={options.client_qps}",
        "--profiling=false",
    ]
