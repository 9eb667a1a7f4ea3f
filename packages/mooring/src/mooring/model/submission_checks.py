"""Validation of a Submission's spec: all errors are reported at once."""

import re
from collections.abc import Iterator

from mooring.model import command_checks
from mooring.model.adoption import check_adopt
from mooring.model.errors import InvalidInput
from mooring.model.placement import Placement
from mooring.model.pod_template import (
    SiblingFields,
    check_pod_template,
    check_resources,
    check_selector,
    check_tolerations,
)
from mooring.model.submission import (
    MOST_BATCHES,
    OWN_VARIABLES,
    EnvVar,
    InheritEnv,
    Login,
    Options,
    RawObject,
    Retry,
    Step,
    StepKind,
    SubmissionSpec,
    steps_of,
)

_STEP_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,28}[a-z0-9])?")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.]{0,252}")
_MOST_NAME = 63
_MOST_SCRIPT_BYTES = 1024 * 1024
_SOURCES = {"secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef"}


def check_submission(spec: SubmissionSpec) -> list[InvalidInput]:
    """All errors, each with the field, the value and the allowed form."""
    return list(_problems(spec))


def check_submission_name(name: str) -> list[InvalidInput]:
    """Jobs carry the name as a label."""
    if len(name) > _MOST_NAME:
        return [InvalidInput("metadata.name", name, f"at most {_MOST_NAME} characters")]
    return list(command_checks.check_name("metadata.name", name))


def _problems(spec: SubmissionSpec) -> Iterator[InvalidInput]:
    yield from command_checks.check_key("spec.key", spec.key)
    yield from command_checks.check_program("spec.program", spec.program)
    yield from _check_command("spec", spec.args, spec.options, spec.env)
    yield from _check_surroundings(spec)
    yield from _check_retry("spec.retry", spec.retry)
    if spec.setup is not None:
        yield from _check_step("spec.setup", spec.setup, spec)
    for index, batch in enumerate(spec.batches):
        yield from _check_step(f"spec.batches[{index}]", batch, spec)
    if spec.finalizer is not None:
        yield from _check_step("spec.finalizer", spec.finalizer, spec)
    yield from _check_batches(spec)


def _check_batches(spec: SubmissionSpec) -> Iterator[InvalidInput]:
    if not 1 <= len(spec.batches) <= MOST_BATCHES:
        yield InvalidInput("spec.batches", f"{len(spec.batches)} batches", f"1 to {MOST_BATCHES} of them")
    seen = {"setup", "finalizer"}
    for index, named in enumerate(step for step in steps_of(spec) if step.kind is StepKind.BATCH):
        if named.name in seen:
            yield InvalidInput(f"spec.batches[{index}].name", named.name, "another name than every other step has")
        seen.add(named.name)


def _check_surroundings(spec: SubmissionSpec) -> Iterator[InvalidInput]:
    if not spec.image or command_checks.FORBIDDEN_IN_OPTIONS[0] in spec.image or any(c.isspace() for c in spec.image):
        yield InvalidInput("spec.image", spec.image, "the name of an image")
    if spec.service_account:
        yield from command_checks.check_name("spec.serviceAccount", spec.service_account)
    for index, name in enumerate(spec.requires.config_maps):
        yield from command_checks.check_name(f"spec.requires.configMaps[{index}]", name)
    for index, name in enumerate(spec.requires.warmups):
        yield from command_checks.check_name(f"spec.requires.warmups[{index}]", name)
    if spec.inherit_env is not None:
        yield from _check_inheritance(spec.inherit_env)
    for name, text in spec.scripts.items():
        if not _FILE_NAME.fullmatch(name):
            yield InvalidInput("spec.scripts", name, "a file's name: letters, digits, '-', '_' and '.'")
        if "\0" in text:
            yield InvalidInput(f"spec.scripts[{name}]", text, "text without NUL characters")
    if sum(len(text.encode()) for text in spec.scripts.values()) > _MOST_SCRIPT_BYTES:
        yield InvalidInput(
            "spec.scripts", "...", f"at most {_MOST_SCRIPT_BYTES} bytes in all: a ConfigMap holds no more"
        )
    if spec.login is not None:
        yield from _check_login(spec.login)
    yield from check_resources("spec.resources", spec.resources)
    yield from check_adopt(spec.adopt)
    yield from _check_placement("spec.placement", spec.placement)
    siblings = SiblingFields(spec.placement, spec.service_account, spec.resources, spec.volumes, spec.volume_mounts)
    yield from check_pod_template(spec.pod_template, siblings)


def _check_inheritance(inherit: InheritEnv) -> Iterator[InvalidInput]:
    yield from command_checks.check_name("spec.inheritEnv.deployment", inherit.deployment)
    if not inherit.prefixes:
        yield InvalidInput("spec.inheritEnv.prefixes", [], "a list of prefixes: nothing is copied unless it is named")
    for index, prefix in enumerate(inherit.prefixes):
        yield from command_checks.check_variable(f"spec.inheritEnv.prefixes[{index}]", prefix)


def _check_login(login: Login) -> Iterator[InvalidInput]:
    if not login.command:
        yield InvalidInput("spec.login.command", [], "a program and its arguments, as a list")
        return
    yield from command_checks.check_program("spec.login.command[0]", login.command[0])
    yield from command_checks.check_arguments("spec.login.command", login.command[1:])
    if not 1 <= login.attempts <= 100:
        yield InvalidInput("spec.login.attempts", login.attempts, "between 1 and 100")
    if not 0 <= login.delay_seconds <= 600:
        yield InvalidInput("spec.login.delaySeconds", login.delay_seconds, "between 0 and 600")


def _check_step(field: str, step: Step, spec: SubmissionSpec) -> Iterator[InvalidInput]:
    template, placement = spec.pod_template, spec.placement
    if step.name and not _STEP_NAME.fullmatch(step.name):
        yield InvalidInput(f"{field}.name", step.name, "1 to 30 lower case letters, digits or '-'")
    if step.program:
        yield from command_checks.check_program(f"{field}.program", step.program)
    yield from _check_command(field, step.args, step.options, step.env)
    if step.retry is not None:
        yield from _check_retry(f"{field}.retry", step.retry)
    if step.placement is not None:
        yield from _check_placement(f"{field}.placement", step.placement)
        yield from check_selector(template, step.placement, f"{field}.placement")
    if step.shard is not None and step.shard < 0:
        yield InvalidInput(f"{field}.shard", step.shard, "the number of a shard, from 0")
    if step.shard is not None and not (step.placement or placement).warmup:
        yield InvalidInput(f"{field}.shard", step.shard, "given together with placement.warmup, whose shard it is")


def _check_command(
    field: str, args: tuple[str, ...], options: Options, env: tuple[EnvVar, ...]
) -> Iterator[InvalidInput]:
    yield from command_checks.check_arguments(f"{field}.args", args)
    for name, value in options.items():
        yield from command_checks.check_option(f"{field}.options", name, value)
    for index, variable in enumerate(env):
        place = f"{field}.env[{index}]"
        yield from command_checks.check_variable(f"{place}.name", variable.name)
        yield from command_checks.check_text(f"{place}.value", variable.value)
        if variable.name.startswith(OWN_VARIABLES):
            yield InvalidInput(f"{place}.name", variable.name, f"free of {OWN_VARIABLES}*: Mooring sets those itself")
        if variable.value_from is not None:
            yield from _check_source(f"{place}.valueFrom", variable.value_from, variable.value)


def _check_source(field: str, source: RawObject, value: str) -> Iterator[InvalidInput]:
    if value or len(source) != 1 or not set(source) <= _SOURCES:
        yield InvalidInput(field, source, f"exactly one of {', '.join(sorted(_SOURCES))}, and no value beside it")
        return
    for name, reference in source.items():
        if not isinstance(reference, dict):
            yield InvalidInput(f"{field}.{name}", reference, "an object, as in a pod")


def _check_retry(field: str, retry: Retry) -> Iterator[InvalidInput]:
    if not 1 <= retry.attempts <= 100:
        yield InvalidInput(f"{field}.attempts", retry.attempts, "between 1 and 100")
    if not 1 <= retry.deadline_seconds <= 86_400 * 30:
        yield InvalidInput(f"{field}.deadlineSeconds", retry.deadline_seconds, "between 1 and 2592000")


def _check_placement(field: str, placement: Placement) -> Iterator[InvalidInput]:
    if placement.node_pool and placement.node_selector:
        yield InvalidInput(field, "nodePool and nodeSelector", "either nodePool or nodeSelector, not both")
    if placement.warmup:
        yield from command_checks.check_name(f"{field}.warmup", placement.warmup)
    yield from check_tolerations(f"{field}.tolerations", placement.tolerations)
