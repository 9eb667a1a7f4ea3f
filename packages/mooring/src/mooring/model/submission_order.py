"""A request to submit work, read from the fields of a spec or from a whole manifest."""

from typing import Annotated, Any

import msgspec

from mooring.model import names
from mooring.model.errors import InvalidInput
from mooring.model.submission import SubmissionSpec

DEFAULT_NAMESPACE = "default"


class ManifestMetadata(msgspec.Struct, frozen=True):
    """The metadata of a manifest that is used. Without a name it is derived from the key."""

    name: str = ""
    namespace: str = ""


class Order(SubmissionSpec, frozen=True, kw_only=True):
    """The body of a submit: the fields of a Submission's spec with its namespace, or a whole manifest; and a reason."""

    namespace: str = ""  # `default` if it is not given
    reason: Annotated[str, msgspec.Meta(max_length=500)] = ""
    api_version: str = ""
    kind: str = ""
    metadata: ManifestMetadata | None = None
    spec: SubmissionSpec | None = None
    status: dict[str, Any] | None = None  # of a manifest as kubectl prints it; not used

    @property
    def name(self) -> str:
        """The name that a manifest asks for; empty if the key decides."""
        return self.metadata.name if self.metadata is not None else ""

    def read(self) -> tuple[str, SubmissionSpec]:
        """The namespace and the spec, from either form."""
        flat = {name: getattr(self, name) for name in SubmissionSpec.__struct_fields__}
        if self.spec is None:
            for name, value in (("apiVersion", self.api_version), ("kind", self.kind), ("metadata", self.metadata)):
                if value:
                    raise InvalidInput(
                        "spec", None, f"given, as {name} is: a whole manifest, or only the spec's fields"
                    )
            return self.namespace or DEFAULT_NAMESPACE, SubmissionSpec(**flat)
        self._check_manifest(flat)
        inside = self.metadata.namespace if self.metadata is not None else ""
        return inside or self.namespace or DEFAULT_NAMESPACE, self.spec

    def _check_manifest(self, flat: dict[str, Any]) -> None:
        if self.api_version not in ("", names.API_VERSION):
            raise InvalidInput("apiVersion", self.api_version, names.API_VERSION)
        if self.kind not in ("", "Submission"):
            raise InvalidInput("kind", self.kind, "Submission")
        inside = self.metadata.namespace if self.metadata is not None else ""
        if inside and self.namespace not in ("", inside):
            raise InvalidInput("namespace", self.namespace, f"{inside}, as metadata.namespace is, or left out")
        unset = SubmissionSpec()
        for field in msgspec.structs.fields(SubmissionSpec):
            if flat[field.name] != getattr(unset, field.name):
                message = f"given as spec.{field.encode_name}: a whole manifest has it there"
                raise InvalidInput(field.encode_name, flat[field.name], message)
