"""Why an image cannot be pulled, and the grant that a registry's 401 asks for."""

import re
from dataclasses import dataclass
from enum import StrEnum

from mooring.planning.services.fixes import kubectl, patch_object

_DEFAULT_REGISTRY = "docker.io"


class PullProblem(StrEnum):
    """What the registry, or the way to it, said."""

    UNAUTHORIZED = "ImageUnauthorized"
    NOT_FOUND = "ImageNotFound"
    UNREACHABLE = "RegistryUnreachable"
    INVALID_NAME = "ImageNameInvalid"
    OTHER = "ImagePullFailed"


# In this order: a registry that hides what exists says "not found or may require authorization", and means 401.
_SIGNS: tuple[tuple[PullProblem, re.Pattern[str]], ...] = (
    (PullProblem.INVALID_NAME, re.compile(r"(?i)invalid ?image ?name|invalid reference format|couldn't parse image")),
    (
        PullProblem.UNAUTHORIZED,
        re.compile(
            r"(?i)\b40[13]\b|unauthorized|forbidden|authentication required|authorization failed|access denied"
            r"|denied:|no basic auth credentials|may require"
        ),
    ),
    (
        PullProblem.NOT_FOUND,
        re.compile(r"(?i)\b404\b|not found|manifest unknown|name unknown|does not exist|no match for platform"),
    ),
    (
        PullProblem.UNREACHABLE,
        re.compile(
            r"(?i)time-?out|timed out|deadline exceeded|no such host|connection refused|connection reset"
            r"|no route to host|network is unreachable|server misbehaving|\b50[0234]\b|x509|\bEOF\b"
        ),
    ),
)


def classify_pull(message: str) -> PullProblem:
    """Told apart by the words that container runtimes pass on."""
    return next((problem for problem, sign in _SIGNS if sign.search(message)), PullProblem.OTHER)


@dataclass(frozen=True, slots=True)
class ImageName:
    """An image's name in parts."""

    registry: str
    repository: str
    tag: str


def split_image(image: str) -> ImageName:
    """`registry/repository:tag`, as container runtimes read it."""
    name, _, digest = image.partition("@")
    first, slash, rest = name.partition("/")
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, rest) if is_host else (_DEFAULT_REGISTRY, name)
    repository, colon, tag = path.rpartition(":")
    if not colon:
        repository, tag = path, ""
    return ImageName(registry, repository, digest or tag)


_AZURE = re.compile(r"(?P<name>[a-z0-9]+)\.azurecr\.io")
_AMAZON = re.compile(r"(?P<account>\d+)\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com")
_GOOGLE = re.compile(r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev")


def registry_grant(image: str, namespace: str, deployment: str) -> str:
    """The exact grant that lets this cluster's nodes pull the image."""
    name = split_image(image)
    if found := _AZURE.fullmatch(name.registry):
        scope = f'"$(az acr show --name {found["name"]} --query id --output tsv)"'
        return f"az role assignment create --assignee <KUBELET_IDENTITY> --role AcrPull --scope {scope}"
    if found := _AMAZON.fullmatch(name.registry):
        arn = f"arn:aws:ecr:{found['region']}:{found['account']}:repository/{name.repository}"
        return (
            "aws iam attach-role-policy --role-name <NODE_ROLE> "
            f"--policy-arn arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly  # {arn}"
        )
    if found := _GOOGLE.fullmatch(name.registry):
        project, _, rest = name.repository.partition("/")
        return (
            f"gcloud artifacts repositories add-iam-policy-binding {rest.split('/')[0]} --project {project} "
            f"--location {found['location']} --role roles/artifactregistry.reader "
            "--member serviceAccount:<NODE_SERVICE_ACCOUNT>"
        )
    return _pull_secret(name.registry, namespace, deployment)


def _pull_secret(registry: str, namespace: str, deployment: str) -> str:
    """Any other registry: credentials in a Secret, given to the account that the pods run as."""
    secret = f"pull-{re.sub(r'[^a-z0-9]+', '-', registry.lower()).strip('-')}"
    server = "https://index.docker.io/v1/" if registry == _DEFAULT_REGISTRY else registry
    created = kubectl(
        namespace,
        "create",
        "secret",
        "docker-registry",
        secret,
        f"--docker-server={server}",
        "--docker-username=<USER>",
        "--docker-password=<PASSWORD>",
    )
    given = patch_object(namespace, "serviceaccount", "default", {"imagePullSecrets": [{"name": secret}]})
    # An account's pull secrets are written into pods when they are made: those that wait have none.
    again = kubectl(namespace, "rollout", "restart", "deployment", deployment)
    return f"{created} && {given} && {again}"
