"""Commands of submissions: submit, cancel, remove, read logs. Changes are audited with their actor and reason."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from hawser.errors import KubeError, ObjectConflict, ObjectNotFound
from hawser.resources import PODS
from hawser.views import Pod
from mooring.controllers.submissions.informer import SubmissionInformer
from mooring.controllers.submissions.manifests import submission_manifest
from mooring.engine.audit import DONE, Result
from mooring.engine.command_errors import explain_refusal
from mooring.engine.context import Context
from mooring.engine.creator import Creator, NameTaken
from mooring.kinds.resources import SUBMISSIONS
from mooring.kinds.views import Submission
from mooring.model import command_checks, names
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.errors import Conflict, InvalidInput, MooringError, NotFound
from mooring.model.evidence import clean_log, clean_reason
from mooring.model.manifest_order import require_none
from mooring.model.submission import ENDED, Cancel, KeyReused, Phase, SubmissionSpec, name_for, spec_hash
from mooring.model.submission_checks import check_submission, check_submission_name

KIND = "Submission"
MOST_LOG_LINES = 1_000
_LOG_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class _Asker:
    """The caller and the reason of a command."""

    actor: str
    reason: str = ""


class SubmissionCommands:
    """The same key and spec give the same submission, however often and wherever they are sent."""

    def __init__(self, context: Context, informer: SubmissionInformer) -> None:
        self._client = context.client
        self._auditor = context.auditor
        self._informer = informer
        self._creator = Creator(context.client, context.clock, context.entropy)

    async def submit(
        self, namespace: str, spec: SubmissionSpec, reason: str = "", name: str = "", *, actor: str
    ) -> tuple[Submission, bool]:
        """The submission, and whether it is new. A refused one that is sent again is looked at again.

        Without a name it is called after its key. The reason is kept as an annotation; it is no part of what makes two
        submissions the same.
        """
        _check(namespace, spec, name)
        wanted = name or name_for(spec.key)
        elsewhere = self._holder(namespace, spec.key, wanted)
        if elsewhere is not None:
            if name and _same(elsewhere, spec):
                raise _named_otherwise(spec.key, elsewhere.metadata.name, name)
            return await self._again(elsewhere, spec), False
        if (known := await self._known(namespace, wanted, spec)) is not None:
            return await self._again(known, spec), False
        view, fresh = await self._create(namespace, wanted, spec, _Asker(actor, clean_reason(reason)))
        return (view, True) if fresh else (await self._again(view, spec), False)

    async def _known(self, namespace: str, name: str, spec: SubmissionSpec) -> Submission | None:
        """The same submission, if it was made before: to send it again changes nothing, so it is not audited."""
        if self._informer.submission(f"{namespace}/{name}") is None:
            return None
        try:
            found = await self._client.get(SUBMISSIONS, name, namespace)
        except ObjectNotFound:
            return None
        except KubeError as error:
            raise _explain(error, namespace, name) from error
        return found if _same(found, spec) and not found.terminating else None

    async def _create(self, namespace: str, name: str, spec: SubmissionSpec, asker: _Asker) -> tuple[Submission, bool]:
        body = submission_manifest(namespace, name, spec, asker.reason)
        found: list[tuple[Submission, bool]] = []

        async def create() -> Result:
            try:
                found.append(await self._creator.create(SUBMISSIONS, body, namespace, lambda there: _same(there, spec)))
            except NameTaken as taken:
                raise _explain_taken(taken, name, spec.key) from taken
            except KubeError as error:
                raise _explain(error, namespace, name, creates=True) from error
            return DONE if found[0][1] else (AuditOutcome.SKIPPED, "it exists already")

        await self._carry_out(create, "create", Subject(KIND, namespace, name, ""), asker, key=spec.key)
        return found[0]

    async def _carry_out(
        self, act: Callable[[], Awaitable[Result]], action: str, subject: Subject, asker: _Asker, **evidence: Any
    ) -> None:
        await self._auditor.carry_out(
            act, actor=asker.actor, action=action, subject=subject, reason=asker.reason, evidence=evidence
        )

    async def cancel(self, namespace: str, name: str, cancel: Cancel) -> Submission:
        """Ask for the end; the reconciler deletes what runs, and runs the finalizer if that is asked for."""
        view = await self._read(namespace, name)
        if view.status.phase in ENDED:
            raise Conflict(f"the submission {namespace}/{name} has {view.status.phase.lower()} already")
        meta, text = view.metadata, msgspec.json.encode(cancel).decode()
        patch = {"metadata": {"uid": meta.uid, "annotations": {names.CANCEL: text}}}
        written: list[Submission] = []

        async def ask() -> Result:
            try:
                written.append(await self._client.merge_patch(SUBMISSIONS, meta.name, patch, namespace))
            except KubeError as error:
                raise _explain(error, namespace, name) from error
            return DONE

        asker = _Asker(cancel.by, clean_reason(cancel.reason))
        await self._carry_out(ask, "cancel", _subject(view), asker, key=view.spec.key, finalize=cancel.finalize)
        return written[0]

    async def remove(self, namespace: str, name: str, *, actor: str) -> Submission:
        """Forget one that has ended, or was refused: its Jobs and their logs go with it."""
        view = await self._read(namespace, name)
        if view.status.phase not in (*ENDED, Phase.REFUSED):
            raise Conflict(f"the submission {namespace}/{name} has not ended", fix="cancel it first")
        meta = view.metadata

        async def delete() -> Result:
            uid, version = meta.uid, meta.resource_version
            try:
                await self._client.delete(
                    SUBMISSIONS, meta.name, namespace, uid=uid, resource_version=version, propagation="Background"
                )
            except ObjectNotFound:
                return DONE
            except KubeError as error:
                raise _explain(error, namespace, name) from error
            return DONE

        await self._carry_out(delete, "delete", _subject(view), _Asker(actor), key=view.spec.key)
        return view

    async def logs(self, namespace: str, name: str, step: str, lines: int) -> tuple[str, tuple[str, ...]]:
        """The pod whose words they are, and its last lines, cleaned."""
        view = await self._read(namespace, name)
        try:
            selector = f"{names.SUBMISSION}={view.metadata.name},{names.STEP}={step}"
            pods = (await self._client.list(PODS, namespace, label_selector=selector)).items
            if not pods:
                raise NotFound(
                    f"{name} has no pod of a step {step!r}", fix="'mooring submissions NAME' lists the steps"
                )
            newest = max(pods, key=_started)
            text = await self._client.logs(
                newest.metadata.name, namespace, container="main", tail_lines=lines, limit_bytes=_LOG_BYTES
            )
        except KubeError as error:
            raise _explain(error, namespace, name) from error
        return newest.metadata.name, clean_log(text, lines)

    async def _read(self, namespace: str, name: str) -> Submission:
        try:
            return await self._client.get(SUBMISSIONS, self._name_of(namespace, name), namespace)
        except InvalidInput as error:
            raise NotFound(f"there is no submission {namespace}/{name}") from error
        except KubeError as error:
            raise _explain(error, namespace, name) from error

    def _name_of(self, namespace: str, text: str) -> str:
        """The name of a submission that is asked for by its name or by its key."""
        if self._informer.submission(f"{namespace}/{text}") is not None:
            return text
        keyed = (
            view for view in self._informer.submissions if (view.metadata.namespace, view.spec.key) == (namespace, text)
        )
        return next((view.metadata.name for view in keyed), text)

    def _holder(self, namespace: str, key: str, name: str) -> Submission | None:
        """A submission that has this key under another name."""
        for view in self._informer.submissions:
            same = (view.metadata.namespace, view.spec.key) == (namespace, key)
            if same and view.metadata.name != name and not view.terminating:
                return view
        return None

    async def _again(self, view: Submission, spec: SubmissionSpec) -> Submission:
        if not _same(view, spec):
            raise _reused(spec.key, view.metadata.name)
        if view.status.phase != Phase.REFUSED:
            return view
        meta = view.metadata
        patch: dict[str, Any] = {
            "metadata": {"resourceVersion": meta.resource_version},
            "status": {"phase": Phase.PENDING.value, "message": "submitted again"},
        }
        try:
            return await self._client.merge_patch(SUBMISSIONS, meta.name, patch, meta.namespace, subresource="status")
        except ObjectConflict:
            return view  # it moved by itself
        except KubeError as error:
            raise _explain(error, meta.namespace, meta.name) from error


def _check(namespace: str, spec: SubmissionSpec, name: str) -> None:
    problems = [*command_checks.check_name("namespace", namespace), *check_submission(spec)]
    if name:
        problems += check_submission_name(name)
    require_none(problems)


def _subject(view: Submission) -> Subject:
    return Subject(KIND, view.metadata.namespace, view.metadata.name, view.metadata.uid)


def _explain_taken(taken: NameTaken, name: str, key: str) -> Conflict:
    found = taken.found
    if found.terminating:
        return Conflict(f"the submission {found.metadata.name} is being deleted", fix="submit again in a moment")
    if isinstance(found, Submission) and found.spec.key != key:
        return _name_taken(name, found.spec.key)
    return _reused(key, found.metadata.name)


def _same(view: Submission, spec: SubmissionSpec) -> bool:
    return not view.defects and spec_hash(view.spec) == spec_hash(spec)


def _reused(key: str, name: str) -> KeyReused:
    return KeyReused(
        f"the key {key!r} belongs to the submission {name}, which has another spec",
        fix="use another key for other work, or the same spec for the same work",
        detail={"key": key, "name": name},
    )


def _named_otherwise(key: str, name: str, wanted: str) -> KeyReused:
    return KeyReused(
        f"the key {key!r} belongs to the submission {name}, and metadata.name asks for {wanted!r}",
        fix="leave out metadata.name to get that submission, or use another key",
        detail={"key": key, "name": name},
    )


def _name_taken(name: str, key: str) -> Conflict:
    return Conflict(
        f"the name {name!r} belongs to the submission with the key {key!r}",
        fix="use another metadata.name, or leave it out: the name then comes from spec.key",
        detail={"key": key, "name": name},
    )


def _explain(error: KubeError, namespace: str, name: str, *, creates: bool = False) -> MooringError:
    return explain_refusal(error, "submission", namespace, name, creates=creates, again="the same key")


def _started(pod: Pod) -> str:
    created = pod.metadata.creation_timestamp
    return created.isoformat() if created else ""
