"""The configuration files of one node, all at the paths where a node has them."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from drydock.certificates import Authority, KeyPair, write_private
from drydock.kubeconfig_file import ClusterAccess, write_kubeconfig
from drydock.nodes.images import PAUSE
from drydock.nodes.machine import CNI_FOLDER
from drydock.nodes.network import NodeAddress

CLUSTER_DOMAIN = "cluster.local"
DNS_ADDRESS = "10.0.0.10"
SHARED = "/mnt/shared"
KUBELET_CONFIG = "/etc/kubernetes/kubelet.yaml"
KUBELET_KUBECONFIG = "/etc/kubernetes/kubelet.kubeconfig"
PROXY_CONFIG = "/etc/kubernetes/kube-proxy.yaml"
CONTAINERD_CONFIG = "/etc/containerd/config.toml"
_PROXY_KUBECONFIG = "/etc/kubernetes/kube-proxy.kubeconfig"
_PKI = "/etc/kubernetes/pki"
_FREE_SPACE = "nodefs.available"

# The kubelet sets these for the whole machine unless it finds them set: it finds these files instead.
KERNEL_SETTINGS = {
    "/proc/sys/vm/overcommit_memory": "1\n",
    "/proc/sys/vm/panic_on_oom": "0\n",
    "/proc/sys/kernel/panic": "10\n",
    "/proc/sys/kernel/panic_on_oops": "1\n",
    "/proc/sys/kernel/keys/root_maxkeys": "1000000\n",
    "/proc/sys/kernel/keys/root_maxbytes": "25000000\n",
}


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """What distinguishes a node."""

    name: str
    number: int
    where: NodeAddress
    cgroup: str


@dataclass(frozen=True, slots=True)
class Membership:
    """What a node needs to join a control plane."""

    url: str
    authority: Authority


def write_base_files(root: Path, identity: NodeIdentity, machine_id: str) -> None:
    """What a node has before it knows a cluster: names, users, containerd, and the network of its pods."""
    etc = root / "etc"
    for folder in ("cni/net.d", "containerd", "kubernetes/pki"):
        (etc / folder).mkdir(parents=True, exist_ok=True)
    (root / "var/log").mkdir(parents=True, exist_ok=True)
    for name in ("passwd", "group", "nsswitch.conf"):
        if (source := Path("/etc") / name).exists():
            (etc / name).write_bytes(source.read_bytes())
    (etc / "hosts").write_text(f"127.0.0.1 localhost\n{identity.where.address} {identity.name}\n")
    (etc / "hostname").write_text(f"{identity.name}\n")
    (etc / "machine-id").write_text(f"{machine_id}\n")
    (etc / "resolv.conf").write_text("")  # names outside of the cluster are not looked up
    (etc / "containerd/config.toml").write_text(_CONTAINERD.format(pause=PAUSE, cni=CNI_FOLDER))
    (etc / "cni/net.d/10-drydock.conflist").write_text(json.dumps(_cni(identity.where.pods), indent=1))


def write_cluster_files(root: Path, identity: NodeIdentity, membership: Membership) -> None:
    """Certificates, kubeconfigs and the settings of kubelet and kube-proxy."""
    authority, name = membership.authority, identity.name
    shown = authority.serving(f"kubelet-{name}-{identity.where.address}", [name, identity.where.address])
    client = authority.client(f"node-{name}", f"system:node:{name}", ["system:nodes"])
    proxy = authority.client("kube-proxy", "system:kube-proxy")
    ca = authority.pair.certificate
    _copy(ca, root, f"{_PKI}/ca.crt")
    _copy(shown.certificate, root, f"{_PKI}/kubelet.crt")
    _copy(shown.key, root, f"{_PKI}/kubelet.key")
    _write_kubeconfig(root, KUBELET_KUBECONFIG, membership, client)
    _write_kubeconfig(root, _PROXY_KUBECONFIG, membership, proxy)
    write_kubelet_config(root, identity)
    (root / PROXY_CONFIG.lstrip("/")).write_text(yaml.safe_dump(_proxy(identity)))


def write_kubelet_config(root: Path, identity: NodeIdentity, wanted_bytes: int = 0) -> None:
    """The kubelet's settings. It evicts pods when less than `wanted_bytes` are free on its disk."""
    config = _kubelet(identity)
    if wanted_bytes:  # a soft threshold: a hard one would be set aside for the node
        config["evictionSoft"] = {_FREE_SPACE: str(wanted_bytes)}
        config["evictionSoftGracePeriod"] = {_FREE_SPACE: "1s"}
    (root / KUBELET_CONFIG.lstrip("/")).write_text(yaml.safe_dump(config))


def kubelet_command(identity: NodeIdentity) -> list[str]:
    return [
        "kubelet",
        f"--config={KUBELET_CONFIG}",
        f"--kubeconfig={KUBELET_KUBECONFIG}",
        f"--node-ip={identity.where.address}",
        f"--hostname-override={identity.name}",
    ]


def proxy_command() -> list[str]:
    return ["kube-proxy", f"--config={PROXY_CONFIG}"]


def containerd_command() -> list[str]:
    """Without the supervisor's mark in its environment: what it starts shall outlive it, as on any node."""
    return ["env", "-u", "DRYDOCK_PROCESS", "containerd", f"--config={CONTAINERD_CONFIG}"]


def _kubelet(identity: NodeIdentity) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": identity.where.address,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{_PKI}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{_PKI}/kubelet.crt",
        "tlsPrivateKeyFile": f"{_PKI}/kubelet.key",
        "readOnlyPort": 0,
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "clusterDomain": CLUSTER_DOMAIN,
        "clusterDNS": [DNS_ADDRESS],
        "resolvConf": "/etc/resolv.conf",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{identity.cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "makeIPTablesUtilChains": False,
        "imageGCHighThresholdPercent": 100,  # no registry could bring an image back
        "evictionHard": {"memory.available": "100Mi", _FREE_SPACE: "200Mi"},
        "evictionPressureTransitionPeriod": "5s",
        "nodeLeaseDurationSeconds": 20,
        "oomScoreAdj": _lowest_oom_score(),
    }


def _lowest_oom_score() -> int:
    """A score below that of this process needs a capability that containers of this machine may lack."""
    return int(Path("/proc/self/oom_score_adj").read_text())


def _proxy(identity: NodeIdentity) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "bindAddress": identity.where.address,
        "hostnameOverride": identity.name,
        "healthzBindAddress": f"{identity.where.address}:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "clientConnection": {"kubeconfig": _PROXY_KUBECONFIG},
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "nftables": {"syncPeriod": "30s", "minSyncPeriod": "100ms"},
    }


def _cni(pods: str) -> dict[str, Any]:
    ipam = {"type": "host-local", "ranges": [[{"subnet": pods}]], "routes": [{"dst": "0.0.0.0/0"}]}
    ipam["dataDir"] = "/run/cni"  # addresses are free again after a reboot, as the pods that had them are gone
    plugins = [{"type": "ptp", "ipam": ipam}, {"type": "portmap", "capabilities": {"portMappings": True}}]
    return {"cniVersion": "1.0.0", "name": "drydock", "plugins": plugins}


_CONTAINERD = """\
version = 3

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "{pause}"

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = false

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["{cni}"]
"""


def _copy(source: Path, root: Path, target: str) -> None:
    write_private(root / target.lstrip("/"), source.read_bytes())


def _write_kubeconfig(root: Path, path: str, membership: Membership, client: KeyPair) -> None:
    access = ClusterAccess(membership.url, membership.authority.pair.certificate, client=client)
    write_kubeconfig(root / path.lstrip("/"), access)


def environment() -> dict[str, str]:
    """Of every program of a node."""
    return {
        "PATH": "/run/drydock/bin0:/run/drydock/bin1:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
    }


def host_files() -> list[str]:
    """Files of this machine that programs of a node need at the same place."""
    return [path for path in ("/etc/alternatives", "/etc/ld.so.cache") if os.path.exists(path)]
