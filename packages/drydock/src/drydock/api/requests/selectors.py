"""Label and field selectors of a query, read from text. Labels are matched by `hawser.fitting.selectors`."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from drydock.api.answers.status import Refusal
from drydock.api.kinds.kind import Kind, Object
from hawser.fitting.selectors import Matcher as LabelMatcher
from hawser.fitting.selectors import compile_requirements, is_whole_number, match_everything

Matcher = Callable[[Object], bool]

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_TOKEN = re.compile(r"\s*(==|!=|=|!|,|\(|\)|<|>|[^\s,()=!<>]+)")
_NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One condition on a field."""

    path: str
    equal: bool
    value: str


def parse_labels(text: str) -> LabelMatcher:
    """The selector of a `labelSelector` parameter; 400 when it makes no sense."""
    return compile_requirements(_LabelParser(text).requirements(), {}) if text.strip() else match_everything


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """The terms of a `fieldSelector` parameter; 400 when it makes no sense."""
    terms = []
    for part in _split_terms(text):
        found = re.match(r"((?:\\.|[^\\=!])*)(!=|==|=)(.*)", part, re.DOTALL)
        if not found:
            raise Refusal(400, "BadRequest", f"invalid selector: '{text}'; can't understand '{part}'")
        path, operator, value = found.groups()
        terms.append(FieldTerm(path, operator != "!=", re.sub(r"\\(.)", r"\1", value)))
    return tuple(terms)


def build_matcher(kind: Kind, labels: LabelMatcher, fields: Sequence[FieldTerm]) -> Matcher | None:
    """One function for both selectors, None when everything matches; 400 for a field one cannot select by."""
    known = {"metadata.name", "metadata.namespace", *kind.selectable_fields}
    for term in fields:
        if term.path not in known:
            raise _unknown_field(kind, term.path)
    if labels is match_everything and not fields:
        return None

    def matches(candidate: Object) -> bool:
        return labels(candidate["metadata"].get("labels") or {}) and all(
            (_field_value(kind, candidate, term.path) == term.value) is term.equal for term in fields
        )

    return matches


def selected_name(fields: Sequence[FieldTerm]) -> str:
    """The one name that a field selector allows, if it names one."""
    return next((term.value for term in fields if term.path == "metadata.name" and term.equal), "")


def _field_value(kind: Kind, candidate: Object, path: str) -> str:
    if path in ("metadata.name", "metadata.namespace"):
        return str(candidate["metadata"].get(path.removeprefix("metadata."), ""))
    assert kind.field_value is not None, f"{kind.kind} declares selectable fields without a way to read them"
    return kind.field_value(candidate, path)


def _unknown_field(kind: Kind, path: str) -> Refusal:
    if kind.selectable_fields or kind.custom:
        return Refusal(400, "BadRequest", f"field label not supported: {path}")
    known = '"metadata.name", "metadata.namespace"'
    return Refusal(400, "BadRequest", f'"{path}" is not a known field selector: only {known}')


def _split_terms(text: str) -> list[str]:
    return [part for part in re.split(r"(?<!\\),", text) if part]


class _LabelParser:
    """Reads `a=b,c in (d,e),!f,g>1`."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text.strip())
        self._position = 0

    def requirements(self) -> list[Object]:
        found = [self._requirement()]
        while self._peek():
            self._expect(",")
            if not self._peek():
                break
            found.append(self._requirement())
        return found

    def _requirement(self) -> Object:
        if self._peek() == "!":
            self._next()
            return _requirement(self._key(), "DoesNotExist")
        key = self._key()
        match self._peek():
            case "" | ",":
                return _requirement(key, "Exists")
            case "=" | "==" | "!=" as sign:
                self._next()
                return _requirement(key, "NotIn" if sign == "!=" else "In", [self._exact_value()])
            case "in" | "notin" as word:
                self._next()
                return _requirement(key, "In" if word == "in" else "NotIn", self._value_set())
            case ">" | "<" as sign:
                self._next()
                return _requirement(key, "Gt" if sign == ">" else "Lt", [self._number(key)])
            case other:
                raise _unparsable(f"found '{other}', expected: in, notin, =, ==, !=, gt, lt")

    def _key(self) -> str:
        key = self._next()
        if not key or key in ",()=!<>" or key in ("==", "!="):
            raise _unparsable(f"found '{key}', expected: !, identifier, or 'end of string'")
        prefix, slash, name = key.rpartition("/")
        if not _NAME.fullmatch(name) or len(name) > 63:
            raise _unparsable(f'<nil>: Invalid value: "{key}": {_NAME_RULE}')
        if slash and not _PREFIX.fullmatch(prefix):
            raise _unparsable(f'<nil>: Invalid value: "{key}": prefix part must be a DNS subdomain')
        return key

    def _exact_value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        value = self._next()
        if value in "()=!<>" or value in ("==", "!="):
            raise _unparsable(f"found '{value}', expected: identifier")
        return _checked_value(value)

    def _value_set(self) -> frozenset[str]:
        self._expect("(")
        values = {""} if self._peek() in (",", ")") else set()
        while self._peek() not in (")", ""):
            if self._peek() == ",":
                self._next()
                if self._peek() in (",", ")"):
                    values.add("")
                continue
            values.add(_checked_value(self._next()))
        self._expect(")")
        return frozenset(values)

    def _number(self, key: str) -> str:
        value = self._next()
        if not is_whole_number(value):
            raise _unparsable(
                f"values[0][{key}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
        return value

    def _expect(self, token: str) -> None:
        found = self._next()
        if found != token:
            raise _unparsable(f"found '{found}', expected: '{token}'")

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._position += 1
        return token


def _requirement(key: str, operator: str, values: Collection[str] = ()) -> Object:
    return {"key": key, "operator": operator, "values": values}


def _checked_value(value: str) -> str:
    if len(value) > 63:
        raise _unparsable(f'<nil>: Invalid value: "{value}": must be no more than 63 bytes')
    if not _NAME.fullmatch(value):
        raise _unparsable(f'<nil>: Invalid value: "{value}": {_VALUE_RULE}')
    return value


def _unparsable(detail: str) -> Refusal:
    return Refusal(400, "BadRequest", f"unable to parse requirement: {detail}")
