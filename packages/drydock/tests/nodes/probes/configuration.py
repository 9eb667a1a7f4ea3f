"""What containers find: variables, files of ConfigMaps and Secrets, tokens, fields of their pod."""

import base64
import json
from typing import Any

from hawser.resources import CONFIGMAPS, SECRETS
from packages.drydock.tests.nodes.probes.probed import Facts, Probe, Probed, phase, shell, state, statuses


def field(path: str) -> dict[str, Any]:
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


async def _sources(at: Probed) -> None:
    config = {"metadata": {"name": "c"}, "data": {"color": "blue", "size": "9", "not-a-name": "kept"}}
    await at.client.create(CONFIGMAPS, config, at.namespace)
    data = {"password": base64.b64encode(b"s3cret").decode()}
    await at.client.create(SECRETS, {"metadata": {"name": "s"}, "data": data}, at.namespace)


async def variables(at: Probed) -> Facts:
    await _sources(at)
    resources = {"limits": {"cpu": "1500m", "memory": "64Mi"}, "requests": {"cpu": "100m"}}
    named: dict[str, dict[str, Any]] = {
        "A_PLAIN": {"value": "one"},
        "A_LATER": {"value": "$(A_PLAIN)-two"},
        "A_ESCAPED": {"value": "$$(A_PLAIN)"},
        "A_UNKNOWN": {"value": "$(NOPE)"},
        "A_EMPTY": {"value": ""},
        "A_NAME": field("metadata.name"),
        "A_NAMESPACE": field("metadata.namespace"),
        "A_LABEL": field("metadata.labels['app']"),
        "A_NONE": field("metadata.annotations['nothing']"),
        "A_ACCOUNT": field("spec.serviceAccountName"),
        "A_CPU": {"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        "A_MEMORY": {"valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
        "A_REQUEST": {"valueFrom": {"resourceFieldRef": {"resource": "requests.cpu", "divisor": "1m"}}},
        "A_COLOR": {"valueFrom": {"configMapKeyRef": {"name": "c", "key": "color"}}},
        "A_PASSWORD": {"valueFrom": {"secretKeyRef": {"name": "s", "key": "password"}}},
        "A_OPTIONAL": {"valueFrom": {"configMapKeyRef": {"name": "none", "key": "x", "optional": True}}},
        "A_COMPOSED": {"value": "$(A_COLOR)/$(A_NAME)/$(B_size)"},
    }
    container = {
        "command": ["sh", "-c", "env | grep -E '^(A|B)_|^HOSTNAME|^KUBERNETES_SERVICE_HOST' | sort; echo $0 $1"],
        "args": ["$(A_PLAIN)", "$$(A_PLAIN)"],
        "env": [{"name": name, **value} for name, value in named.items()],
        "envFrom": [{"prefix": "B_", "configMapRef": {"name": "c"}}],
        "resources": resources,
    }
    await at.pod("p", container, metadata={"labels": {"app": "web"}})
    await at.until_over("p")
    return at.plain(await at.log("p")).splitlines()


async def fields_that_depend_on_the_node(at: Probed) -> Facts:
    named = {"NODE": "spec.nodeName", "IP": "status.podIP", "HOST": "status.hostIP", "ID": "metadata.uid"}
    env = [{"name": name, **field(path)} for name, path in named.items()]
    await at.pod("p", shell("echo $NODE $IP $HOST $ID", env=env))
    over = await at.until_over("p")
    wanted = [
        over["spec"]["nodeName"],
        over["status"]["podIP"],
        over["status"]["hostIP"],
        over["metadata"]["uid"],
    ]
    return (await at.log("p")).split() == wanted


async def what_is_missing(at: Probed) -> Facts:
    def reference(kind: str, name: str, key: str) -> dict[str, Any]:
        return {"env": [{"name": "X", "valueFrom": {kind: {"name": name, "key": key}}}]}

    await _sources(at)
    found = {}
    cases = {
        "map": reference("configMapKeyRef", "none", "x"),
        "key": reference("configMapKeyRef", "c", "none"),
        "secret": reference("secretKeyRef", "none", "x"),
        "from": {"envFrom": [{"secretRef": {"name": "none"}}]},
    }
    for name, extra in cases.items():
        await at.pod(name, shell("true", **extra))
    for name in cases:
        pod = await at.until(name, lambda pod: any("Error" in str(one["state"]) for one in statuses(pod)))
        found[name] = (phase(pod), at.plain(str(state(statuses(pod)[0]))))
    return found


async def volumes(at: Probed) -> Facts:
    await _sources(at)
    everything = [
        {"name": "plain", "configMap": {"name": "c"}},
        {"name": "some", "configMap": {"name": "c", "items": [{"key": "color", "path": "deep/hue", "mode": 0o600}]}},
        {"name": "hidden", "secret": {"secretName": "s", "defaultMode": 0o400}},
        {"name": "none", "configMap": {"name": "none", "optional": True}},
        {"name": "empty", "emptyDir": {}},
        {
            "name": "about",
            "downwardAPI": {
                "items": [
                    {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                    {"path": "notes", "fieldRef": {"fieldPath": "metadata.annotations['note']"}},
                    {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
                    {"path": "cpu", "resourceFieldRef": {"containerName": "c0", "resource": "limits.cpu"}},
                ]
            },
        },
    ]
    mounts = [{"name": one["name"], "mountPath": f"/v/{one['name']}"} for one in everything]
    mounts.append({"name": "plain", "mountPath": "/v/single/size.txt", "subPath": "size"})
    script = (
        "cd /v; for f in plain/color plain/size some/deep/hue hidden/password about/labels about/notes about/name"
        ' about/cpu single/size.txt; do echo "$f $(stat -L -c %a $f) $(cat $f)"; done; ls none empty some plain;'
        " readlink plain/color; stat -c %a empty; touch plain/x 2>&1 | grep -o 'Read-only.*'"
    )
    container = shell(script, volumeMounts=mounts, resources={"limits": {"cpu": "2"}})
    await at.pod(
        "p",
        container,
        volumes=everything,
        metadata={"labels": {"app": "web", "tier": "x"}, "annotations": {"note": 'a "b"'}},
    )
    await at.until_over("p")
    return at.plain(await at.log("p")).splitlines()


async def tokens(at: Probed) -> Facts:
    source = {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 3600}}
    volume = {"name": "t", "projected": {"sources": [source]}}
    mount = [{"name": "t", "mountPath": "/t"}]
    own = "/var/run/secrets/kubernetes.io/serviceaccount"
    script = f"cat /t/token; echo; stat -L -c %a /t/token; ls {own}; cat {own}/namespace; echo; cat {own}/token"
    await at.pod("p", shell(script, volumeMounts=mount), volumes=[volume])
    over = await at.until_over("p")
    first, mode, *files, space, own_token = (await at.log("p")).splitlines()
    claims, own_claims = _claims(first), _claims(own_token)
    return {
        "audience": claims["aud"],
        "subject": at.plain(claims["sub"]),
        "seconds": claims["exp"] - claims["iat"],
        "pod": claims["kubernetes.io"]["pod"]["uid"] == over["metadata"]["uid"],
        "fields": sorted(claims["kubernetes.io"]),
        "mode": mode,
        "files": files,
        "namespace": at.plain(space),
        "own audience": own_claims["aud"] == [own_claims["iss"]],
        "own seconds": own_claims["exp"] - own_claims["iat"],
    }


def _claims(token: str) -> dict[str, Any]:
    body = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return found


PROBES: tuple[Probe, ...] = (variables, fields_that_depend_on_the_node, what_is_missing, volumes, tokens)
