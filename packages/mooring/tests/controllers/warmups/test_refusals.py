"""What the API server refuses is told in the field of the Warmup that it comes from."""

import pytest

from hawser.errors import StatusCause
from mooring.controllers.warmups.refusals import _tell


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("spec.template.spec.volumes[0].hostPath.path", "spec.localPath"),
        ("spec.template.spec.containers[0].volumeMounts[0].mountPath", "spec.localPath"),
        ("spec.template.spec.volumes[3].projected", "spec.podTemplate.volumes[1].projected"),
        ("spec.template.spec.initContainers[0].volumeMounts[2].name", "spec.podTemplate.volumeMounts[0].name"),
        ("spec.template.spec.containers[0].resources.requests[cpu]", "spec.podTemplate.resources"),
        ("spec.template.spec.containers[0].securityContext.runAsUser", "spec.podTemplate.containerSecurityContext"),
        ("spec.template.spec.securityContext.runAsUser", "spec.podTemplate.securityContext"),
        ("spec.template.spec.containers[0].env[1].name", "spec.env"),
    ],
)
def test_a_refused_field_of_a_job_is_told_as_a_field_of_the_warmup(field: str, told: str):
    message = _tell(StatusCause(field=field, message="Invalid value"))
    assert message == f"{told}: Invalid value (fix: correct {told})"
