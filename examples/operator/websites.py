"""A small operator written with kopf: each Website gets a Deployment with its page, and reports when it is served."""

import kopf
from kubernetes import client, config


@kopf.on.startup()
def connect(**_: object) -> None:
    config.load_kube_config()


@kopf.on.create("websites")
@kopf.on.update("websites")
def deploy(spec: kopf.Spec, name: str, namespace: str, **_: object) -> dict[str, int]:
    """Create the Deployment, or change its number of replicas."""
    replicas = spec.get("replicas", 1)
    container = {"name": "web", "image": "httpd", "args": [spec["page"]]}
    body = {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"website": name}},
            "template": {"metadata": {"labels": {"website": name}}, "spec": {"containers": [container]}},
        },
    }
    kopf.adopt(body)
    deployments = client.AppsV1Api()
    try:
        deployments.create_namespaced_deployment(namespace, body)
    except client.ApiException as error:
        if error.status != 409:
            raise
        deployments.patch_namespaced_deployment(name, namespace, {"spec": {"replicas": replicas}})
    return {"replicas": replicas}
