"""Events: the old kind, which says what it is about, and the new, which also says who reports."""

from collections.abc import Iterator, Sequence

from drydock.api.answers.causes import invalid, required
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object, PlainStrategy
from drydock.api.objects.names import label_key

_LONGEST = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_ELSEWHERE = "does not match event.namespace"


class EventStrategy(PlainStrategy):
    """The core kind. `about` and `reporter` are the fields' names in the API group that serves it."""

    def __init__(self, about: str = "involvedObject", reporter: str = "reportingComponent") -> None:
        self._about = about
        self._reporter = reporter

    def prepare_create(self, new: Object, context: Context) -> None:
        new.setdefault("eventTime", None)  # always shown, as all that follows
        for name in (self._reporter, "reportingInstance"):
            new.setdefault(name, "")
        if self._about == "involvedObject":
            new.setdefault("source", {})
            for name in ("firstTimestamp", "lastTimestamp"):
                new.setdefault(name, None)

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        self.prepare_create(new, context)

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return list(self._wrong(new))

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        return list(self._wrong(new))

    def _wrong(self, event: Object) -> Iterator[Cause]:
        namespace = event["metadata"].get("namespace", "")
        about = (event.get(self._about) or {}).get("namespace", "")
        if not event.get("eventTime"):
            if about != namespace and (about or namespace != "default"):
                yield invalid("involvedObject.namespace", about, _ELSEWHERE)
            return
        if not about and namespace not in ("default", "kube-system"):
            yield invalid("involvedObject.namespace", about, _ELSEWHERE)
        reporter = event.get(self._reporter) or ""
        if not reporter:
            yield required(self._reporter)
        yield from (invalid(self._reporter, reporter, told) for told in label_key(reporter))
        for name, limit in _LONGEST.items():
            value = event.get(name) or ""
            if not value and name != "message":
                yield required(name)
            elif len(value.encode()) > limit:
                yield invalid(name, "", f"can have at most {limit} characters")
