"""Commands that recover from a failed pull: find the identity of the node, grant it access, force a new pull.

They run as they are in a shell with the cloud's own client. Values that only the user knows are in angle brackets.
"""

import json
import re
import shlex
from dataclasses import dataclass

from mooring.planning.services.fixes import kubectl
from mooring.planning.services.registries import DEFAULT_REGISTRY, ImageName, split_image

_AZURE = re.compile(r"(?P<name>[a-z0-9]+)\.azurecr\.io")
_AMAZON = re.compile(r"(?P<account>\d+)\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com")
_GOOGLE = re.compile(r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev")


@dataclass(frozen=True, slots=True)
class FailedPull:
    """The image, the pod that needs it, and the command that makes its node pull again."""

    image: str
    namespace: str
    node: str
    pull_again: str
    account: str = ""  # ServiceAccount of the pod; empty means default
    attach: str = ""  # the command that gives the Secret to pods that have pull secrets of their own

    @property
    def name(self) -> ImageName:
        return split_image(self.image)


def grant_and_pull(pull: FailedPull) -> str:
    """After a 401 or 403: one command line that finds the identity, grants access and forces a new pull."""
    registry = pull.name.registry
    if found := _AZURE.fullmatch(registry):
        steps = _azure(pull, found["name"])
    elif found := _AMAZON.fullmatch(registry):
        steps = _amazon(pull)
    elif found := _GOOGLE.fullmatch(registry):
        steps = _google(pull, found["location"])
    else:
        steps = _pull_secret(pull)
    return " && ".join((*steps, pull.pull_again))


def pull_again(namespace: str, pod: str, *, recreated: bool) -> str:
    """The command that replaces one pod, so that its image is pulled at once and not after the kubelet's back-off."""
    if recreated:  # by its controller
        return kubectl(namespace, "delete", "pod", pod)
    return (
        f"{kubectl(namespace, 'get', 'pod', pod, '-o', 'json')} | {kubectl(namespace, 'replace', '--force', '-f', '-')}"
    )


def pull_secret_name(image: str) -> str:
    """The Secret that a recovery makes for the registry of an image."""
    return f"pull-{re.sub(r'[^a-z0-9]+', '-', split_image(image).registry.lower()).strip('-')}"


def _azure(pull: FailedPull, registry: str) -> tuple[str, ...]:
    """The kubelet identity of the AKS cluster: the label of its nodes names the cluster's node resource group."""
    group = _read_node(pull, r"{.metadata.labels.kubernetes\.azure\.com/cluster}")
    query = "[?starts_with(nodeResourceGroup, '$group')].identityProfile.kubeletidentity.objectId | [0]"
    return (
        f'group="{group}"',
        'test -n "$group"',  # an empty one is the beginning of every name
        f'identity="$(az aks list --query "{query}" --output tsv)"',
        'az role assignment create --assignee-object-id "$identity" --assignee-principal-type ServicePrincipal'
        f' --role AcrPull --scope "$(az acr show --name {registry} --query id --output tsv)"',
    )


def _amazon(pull: FailedPull) -> tuple[str, ...]:
    """The role in the instance profile of the node."""
    instance = _read_node(pull, "{.spec.providerID}")
    region = _read_node(pull, r"{.metadata.labels.topology\.kubernetes\.io/region}")
    described = (
        'aws ec2 describe-instances --region "$region" --instance-ids "${instance##*/}"'
        " --query 'Reservations[0].Instances[0].IamInstanceProfile.Arn' --output text"
    )
    role = (
        'aws iam get-instance-profile --instance-profile-name "${profile##*/}"'
        " --query 'InstanceProfile.Roles[0].RoleName' --output text"
    )
    return (
        f'instance="{instance}"',
        f'region="{region}"',
        f'profile="$({described})"',
        f'role="$({role})"',
        'aws iam attach-role-policy --role-name "$role"'
        " --policy-arn arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
    )


def _google(pull: FailedPull, location: str) -> tuple[str, ...]:
    """The service account of the node's instance; `spec.providerID` is gce://PROJECT/ZONE/INSTANCE."""
    project, _, rest = pull.name.repository.partition("/")
    repository = shlex.quote(rest.split("/")[0])
    member = (
        'gcloud compute instances describe "${instance##*/}" --project "${instance%%/*}" --zone "$zone"'
        " --format 'value(serviceAccounts[0].email)'"
    )
    return (
        f'provider="{_read_node(pull, "{.spec.providerID}")}"',
        'instance="${provider#gce://}"',
        'zone="${instance%/*}"',
        'zone="${zone#*/}"',
        f'member="$({member})"',
        f"gcloud artifacts repositories add-iam-policy-binding {repository} --project {shlex.quote(project)}"
        f' --location {location} --role roles/artifactregistry.reader --member "serviceAccount:$member"',
    )


def _read_node(pull: FailedPull, path: str) -> str:
    return f"$({shlex.join(['kubectl', 'get', 'node', pull.node or '<NODE>', '-o', f'jsonpath={path}'])})"


def _pull_secret(pull: FailedPull) -> tuple[str, ...]:
    """For any other registry: credentials in a Secret, added to the ServiceAccount of the pods."""
    registry, secret = pull.name.registry, pull_secret_name(pull.image)
    server = "https://index.docker.io/v1/" if registry == DEFAULT_REGISTRY else registry
    options = (f"--docker-server={server}", "--docker-username=<USER>", "--docker-password=<PASSWORD>")
    made = kubectl(
        pull.namespace, "create", "secret", "docker-registry", secret, *options, "--dry-run=client", "-o", "yaml"
    )
    body = json.dumps({"imagePullSecrets": [{"name": secret}]})
    # Pull secrets of a ServiceAccount are copied into pods when they are created; existing pods do not have them.
    # The default type of patch adds to the account's list, where a merge patch would replace it.
    to_account = kubectl(pull.namespace, "patch", "serviceaccount", pull.account or "default", "-p", body)
    return (f"{made} | kubectl apply -f -", pull.attach or to_account)
