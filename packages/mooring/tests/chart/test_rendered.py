"""What the chart makes of its values."""

import base64
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from mooring.settings import describe_settings
from packages.mooring.tests.acceptance.world import run_command
from packages.mooring.tests.chart.rendering import (
    CHART,
    Body,
    by_name,
    pod_of,
    render,
    run_helm,
    template,
    variables,
    without_labels_of_helm,
)

pytestmark = pytest.mark.realtime  # each test runs Helm

AFFINITY = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
SPOT = {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
EXTRA_METADATA = {"labels": {"team": "platform"}, "annotations": {"contact": "platform@example.com"}}
EVERYTHING: Body = {
    "serviceMonitor": {"enabled": True, "endpoint": {"scrapeTimeout": "9s"}},
    "prometheusRule": {"enabled": True},
    "dashboard": {"enabled": True, "annotations": {"grafana_folder": "fleets"}},
    "ingress": {"enabled": True, "hosts": ["mooring.example"], "className": "nginx"},
    "networkPolicy": {"enabled": True, "egress": [{"ports": [{"port": 5432}]}]},
    "priorityClass": {"create": True},
    "tokens": {"secret": "named"},
    "labels": {"team": "platform"},
    "annotations": {"contact": "platform@example.com"},
    "podLabels": {"mesh": "on"},
    "podAnnotations": {"scrape": "yes"},
    "uninstall": {"podLabels": {"job": "hook"}, "podAnnotations": {"sidecar.istio.io/inject": "false"}},
    "serviceAccount": {"annotations": {"role": "arn"}},
    "extraEnv": [{"name": "MOORING_KEEP_AUDIT_DAYS", "value": "30"}],
    "extraEnvFrom": [{"configMapRef": {"name": "proxy"}}],
    "extraVolumes": [{"name": "ca", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca"}],
    "imagePullSecrets": [{"name": "registry"}],
    "antiAffinity": "required",
    "nodePool": "system",
    "tolerations": [SPOT],
    "database": {"connections": 20},
    "service": {
        "annotations": {"lb": "internal"},
        "type": "LoadBalancer",
        "port": 8443,
        "spec": {"loadBalancerClass": "example.com/internal"},
    },
    "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    "revisionHistoryLimit": 3,
    "extraContainers": [{"name": "proxy", "image": "database-proxy"}],
    "extraInitContainers": [{"name": "first", "image": "busybox"}],
    "extraObjects": [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "{{ .Release.Name }}-extra", **EXTRA_METADATA},
        }
    ],
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["192.0.2.53"]},
    "hostAliases": [{"ip": "192.0.2.7", "hostnames": ["db.example"]}],
}


def test_helm_finds_nothing_to_complain_about():
    for values in ({}, EVERYTHING, {"watchNamespaces": ["runners"]}):
        done = run_helm("lint", "--strict", str(CHART), values=values)
        assert done.code == 0, done.out + done.err


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ((), {}),
        (("--image", "r.example:5000/mooring:7"), {"image": {"repository": "r.example:5000/mooring", "tag": "7"}}),
        (("--node-selector", "disk=ssd", "--node-selector", "arm=no"), {"nodeSelector": {"disk": "ssd", "arm": "no"}}),
        (("--node-selector", "karpenter.sh/nodepool=work"), {"nodePool": "work"}),
        (("--node-selector", "agentpool=work"), {"nodePool": "work", "nodePoolLabel": "agentpool"}),
        (("--toleration", "spot=yes:NoSchedule"), {"tolerations": [SPOT]}),
        (("--affinity", yaml.safe_dump(AFFINITY)), {"affinity": AFFINITY}),
    ],
    ids=["defaults", "image", "selector", "node pool", "node pool by label", "tolerations", "affinity"],
)
@pytest.mark.parametrize("namespace", ["mooring", "fleet"])
def test_the_chart_renders_what_install_prints(tmp_path: Path, namespace: str, options: tuple[str, ...], values: Body):
    printed = run_command("install", "--namespace", namespace, *options, HOME=str(tmp_path))
    assert printed.code == 0
    by_helm, by_install = render(values, namespace=namespace), by_name(printed.out)
    del by_install["Namespace", namespace]  # Helm creates it itself, if asked
    del by_helm["Secret", "mooring-tls"]  # Helm makes a certificate; install says how to make one
    del by_helm["Job", "mooring-uninstall"]  # a hook
    assert without_labels_of_helm(by_helm) == without_labels_of_helm(by_install)


@pytest.mark.parametrize("image", ["mooring", "r.example:5000/a/mooring", "r.example/mooring:7@sha256:" + "0" * 64])
def test_values_that_install_prints_are_taken_by_the_chart(tmp_path: Path, image: str):
    options = ("--image", image, "--toleration", "spot=yes:NoSchedule", "--values")
    printed = run_command("install", *options, HOME=str(tmp_path))
    objects = render(yaml.safe_load(printed.out))
    assert pod_of(objects)["tolerations"] == [SPOT]
    rendered = pod_of(objects)["containers"][0]["image"]
    assert rendered.split("@")[0].startswith(image.partition("@")[0].removesuffix(":7"))


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"replica": 3}, "replica"),
        ({"tls": {"mode": "self-signed"}}, "tls/mode"),
        ({"tls": {"mod": "off"}}, "mod"),
        ({"replicas": "two"}, "replicas"),
        ({"image": {"digest": "sha256:beef"}}, "image/digest"),
        ({"watchNamespaces": "runners"}, "watchNamespaces"),
        ({"resources": None, "probes": {"readiness": {"period": 3}}}, "period"),
        ({"logLevel": "loud"}, "logLevel"),
    ],
)
def test_wrong_values_are_refused_by_name(values: Body, complaint: str):
    done = template(values)
    assert done.code != 0 and complaint in done.err.replace(".", "/")


def test_with_everything_on_all_objects_are_there_with_labels_and_annotations():
    objects = render(EVERYTHING)
    kinds = {kind for kind, _ in objects}
    assert kinds >= {"ServiceMonitor", "PrometheusRule", "ConfigMap", "Ingress", "NetworkPolicy", "PriorityClass"}
    for (kind, name), body in objects.items():
        assert body["metadata"]["labels"]["team"] == "platform", (kind, name)
        assert body["metadata"]["annotations"]["contact"] == "platform@example.com", (kind, name)
    pod = pod_of(objects)
    container, proxy = pod["containers"]
    assert proxy["name"] == "proxy" and pod["initContainers"][0]["name"] == "first"
    assert pod["dnsConfig"]["nameservers"] == ["192.0.2.53"] and pod["hostAliases"][0]["ip"] == "192.0.2.7"
    assert pod["priorityClassName"] == "mooring" and pod["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["nodeSelector"] == {"karpenter.sh/nodepool": "system"} and pod["tolerations"] == [SPOT]
    assert "requiredDuringSchedulingIgnoredDuringExecution" in pod["affinity"]["podAntiAffinity"]
    found = variables(objects)
    assert found["MOORING_TOKENS"] == "/tokens/tokens" and found["MOORING_KEEP_AUDIT_DAYS"] == "30"
    assert found["MOORING_DATABASE_CONNECTIONS"] == "20"
    assert found["MOORING_WORKER_URL"] == "https://mooring.mooring.svc:8443"
    assert {"name": "ca", "mountPath": "/ca"} in container["volumeMounts"]
    assert objects["ServiceAccount", "mooring"]["metadata"]["annotations"]["role"] == "arn"
    labels = objects["Deployment", "mooring"]["spec"]["template"]["metadata"]["labels"]
    assert labels["mesh"] == "on" and labels["team"] == "platform"
    assert objects["Deployment", "mooring"]["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert objects["Service", "mooring"]["spec"]["loadBalancerClass"] == "example.com/internal"
    assert objects["ServiceMonitor", "mooring"]["spec"]["endpoints"][0]["scrapeTimeout"] == "9s"
    assert objects["ConfigMap", "mooring-dashboard"]["metadata"]["annotations"]["grafana_folder"] == "fleets"
    assert ("ConfigMap", "mooring-extra") in objects
    for rule in objects["PrometheusRule", "mooring"]["spec"]["groups"][0]["rules"]:
        assert rule["annotations"]["runbook_url"].endswith(f"/runbook/alerts.html#{rule['alert'].lower()}")


def test_the_pod_of_the_hook_has_labels_and_annotations_of_its_own():
    """A namespace may refuse pods without its labels, and a Job with a sidecar of a mesh never ends."""
    found = render(EVERYTHING)["Job", "mooring-uninstall"]["spec"]["template"]["metadata"]
    assert found["labels"] == {"app.kubernetes.io/name": "mooring-uninstall", "team": "platform", "job": "hook"}
    assert found["annotations"] == {"contact": "platform@example.com", "sidecar.istio.io/inject": "false"}


def test_a_digest_takes_precedence_over_the_tag():
    digest = "sha256:" + "a" * 64
    objects = render({"image": {"repository": "r.example/mooring", "tag": "7", "digest": digest}})
    assert pod_of(objects)["containers"][0]["image"] == f"r.example/mooring@{digest}"


def test_one_replica_has_no_budget():
    assert ("PodDisruptionBudget", "mooring") not in render({"replicas": 1})


def test_replicas_that_are_not_ready_block_no_drain():
    """Without their database no replica is ready, and a budget that counts them would refuse every eviction."""
    assert render()["PodDisruptionBudget", "mooring"]["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_a_drain_waits_until_the_service_has_forgotten_a_pod_and_then_for_its_requests():
    pod = pod_of(render())
    wait = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert 0 < wait < pod["terminationGracePeriodSeconds"] - 30


# -- HTTPS


def certificates(secret: Body, key: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(base64.b64decode(secret["data"][key]))


def test_by_default_the_chart_makes_a_certificate_for_the_names_of_the_service():
    objects = render(namespace="fleet")
    secret = objects["Secret", "mooring-tls"]
    [authority], [certificate] = certificates(secret, "ca.crt"), certificates(secret, "tls.crt")
    certificate.verify_directly_issued_by(authority)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "mooring.fleet.svc" in names.get_values_for_type(x509.DNSName)
    left = certificate.not_valid_after_utc - datetime.now(UTC)
    assert timedelta(days=728) < left < timedelta(days=731)
    assert authority.not_valid_after_utc - datetime.now(UTC) > timedelta(days=3645), "renewals are of the same CA"
    [volume] = [one for one in pod_of(objects)["volumes"] if one["name"] == "tls"]
    mounted = {item["key"] for item in volume["secret"]["items"]}
    assert mounted == {"tls.crt", "tls.key", "ca.crt"} and "ca.key" in secret["data"], "the CA's key is in no pod"
    found = variables(objects)
    assert found["MOORING_TLS_CERTIFICATE"] == "/tls/tls.crt" and "MOORING_PLAIN_HTTP" not in found
    assert found["MOORING_WORKER_URL"] == "https://mooring.fleet.svc"
    assert objects["Service", "mooring"]["spec"]["ports"][0]["port"] == 443


def test_a_certificate_of_cert_manager_is_asked_for_and_used():
    objects = render({"tls": {"mode": "cert-manager", "issuerRef": {"name": "ca", "kind": "ClusterIssuer"}}})
    spec = objects["Certificate", "mooring"]["spec"]
    assert spec["issuerRef"] == {"name": "ca", "kind": "ClusterIssuer", "group": "cert-manager.io"}
    assert "mooring.mooring.svc" in spec["dnsNames"] and ("Secret", "mooring-tls") not in objects
    assert {"name": "tls", "secret": {"secretName": spec["secretName"]}} in pod_of(objects)["volumes"]


def test_a_secret_of_your_own_is_used_without_a_ca_if_it_has_none():
    objects = render({"tls": {"mode": "secret", "secret": "wildcard", "caKey": ""}})
    assert {"name": "tls", "secret": {"secretName": "wildcard"}} in pod_of(objects)["volumes"]
    assert "MOORING_WORKER_CA" not in variables(objects) and not any(kind == "Secret" for kind, _ in objects)


def test_without_tls_plain_http_is_asked_for_by_name_and_probed():
    objects = render({"tls": {"mode": "off"}, "serviceMonitor": {"enabled": True}})
    found = variables(objects)
    assert found["MOORING_PLAIN_HTTP"] == "true" and "MOORING_TLS_KEY" not in found
    assert found["MOORING_WORKER_URL"] == "http://mooring.mooring.svc"
    container = pod_of(objects)["containers"][0]
    assert {container[one]["httpGet"]["scheme"] for one in ("startupProbe", "livenessProbe", "readinessProbe")} == {
        "HTTP"
    }
    assert objects["Service", "mooring"]["spec"]["ports"][0]["port"] == 80
    assert "scheme" not in objects["ServiceMonitor", "mooring"]["spec"]["endpoints"][0]


# -- several releases, single namespaces


def cluster_scoped(objects: Any) -> set[tuple[str, str]]:
    return {key for key, body in objects.items() if "namespace" not in body["metadata"]}


def test_two_releases_share_no_name_of_the_cluster():
    second: Body = {"crds": {"install": False}, "rbac": {"userRoles": False}, "headroomClass": False}
    second["priorityClass"] = {"create": True}
    first = {**second, "watchNamespaces": ["a"]}
    found = [
        render(first, namespace="mooring"),
        render(second, namespace="fleet"),
        render(second, release="other", namespace="fleet"),
        render(second, release="mooring-fleet", namespace="x"),
    ]
    scoped = [key for objects in found for key in cluster_scoped(objects)]
    assert len(scoped) == len(set(scoped)) == 20
    assert ("Deployment", "other-mooring") in found[2]


def test_in_named_namespaces_only_what_has_no_namespace_is_allowed_everywhere():
    done = template({"watchNamespaces": ["runners", "queries"]}, namespace="fleet")
    bodies = [body for body in yaml.safe_load_all(done.out) if body]
    [wide] = [one for one in bodies if (one["kind"], one["metadata"]["name"]) == ("ClusterRole", "mooring.fleet")]
    allowed = {resource for rule in wide["rules"] for resource in rule["resources"]}
    assert "nodes" in allowed and not allowed & {"pods", "jobs", "services", "workerpools", "persistentvolumeclaims"}
    roles = {
        (body["metadata"]["namespace"], body["metadata"]["name"]): body for body in bodies if body["kind"] == "Role"
    }
    assert set(roles) == {
        ("runners", "mooring.fleet"),
        ("queries", "mooring.fleet"),
        ("fleet", "mooring-uninstall"),
    }
    inside = {resource for rule in roles["runners", "mooring.fleet"]["rules"] for resource in rule["resources"]}
    everything = {r for rule in render()["ClusterRole", "mooring"]["rules"] for r in rule["resources"]}
    assert inside | allowed == everything and not inside & allowed
    objects = by_name(done.out)
    assert variables(objects)["MOORING_NAMESPACES"] == "runners,queries"
    selector = objects["ValidatingAdmissionPolicyBinding", "mooring.fleet-marks"]["spec"]["matchResources"]
    assert selector["namespaceSelector"]["matchExpressions"][0]["values"] == ["runners", "queries"]
    hook = objects["Job", "mooring-uninstall"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--watch-namespace=runners" in hook and "--watch-namespace=queries" in hook


# -- safety


def test_no_role_has_a_wildcard_or_secrets():
    for values in ({}, EVERYTHING, {"watchNamespaces": ["runners"]}):
        for (kind, name), body in render(values).items():
            for rule in body.get("rules", ()) if kind in ("ClusterRole", "Role") else ():
                every = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
                assert not any("*" in one for one in every), name
                assert "secrets" not in rule["resources"], name


def test_every_variable_of_the_container_is_a_setting():
    values = {**EVERYTHING, "watchNamespaces": ["runners"]}
    used = {*variables(render(values)), *variables(render({"tls": {"mode": "off"}}))}
    assert used - set(describe_settings()) == set()


def test_the_hook_calls_a_command_that_exists_with_options_that_it_has():
    [container] = render()["Job", "mooring-uninstall"]["spec"]["template"]["spec"]["containers"]
    command, *options = container["args"]
    shown = run_command(command, "--help")
    assert shown.code == 0
    for option in options:
        assert re.match(r"--[a-z-]+", option)[0] in shown.out  # type: ignore[index]
