"""The names and labels of one installation of Mooring. The Helm chart computes the same from its release."""

from dataclasses import dataclass

APP = "mooring"


@dataclass(frozen=True, slots=True)
class Release:
    """One installation: its name and namespace. Several may share a cluster if they watch different namespaces."""

    namespace: str
    name: str = APP
    managed_by: str = "mooring-install"

    @property
    def cluster_name(self) -> str:
        """The name of its objects that have no namespace: unique in the cluster, because no namespace has a dot."""
        return self.name if self.namespace == self.name else f"{self.name}.{self.namespace}"

    @property
    def account(self) -> str:
        """The user name of its ServiceAccount."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def selector(self) -> dict[str, str]:
        """The labels of its pods that never change."""
        return {"app.kubernetes.io/name": APP, "app.kubernetes.io/instance": self.name}

    @property
    def labels(self) -> dict[str, str]:
        """The labels of all its objects."""
        return {**self.selector, "app.kubernetes.io/managed-by": self.managed_by}
