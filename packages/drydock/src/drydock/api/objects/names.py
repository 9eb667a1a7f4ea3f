"""The forms of names, labels and keys. Each check returns what is wrong with a text, in kube-apiserver's words."""

import re
from collections.abc import Callable

NameCheck = Callable[[str], list[str]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_LABEL_KEY})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"

_ENDS = "and must start and end with an alphanumeric character"
_LABEL_RULE = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
_SUBDOMAIN_RULE = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
)
_LABEL_KEY_RULE = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_LABEL_VALUE_RULE = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
)
_CONFIG_KEY_RULE = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_PERCENT_RULE = "a valid percent string must be a numeric string followed by an ending '%'"


def _pattern(rule: str, pattern: str, *examples: str) -> tuple[re.Pattern[str], str]:
    shown = " or ".join(f"'{example}', " for example in examples)
    return re.compile(pattern), f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


_DNS_LABEL = _pattern(_LABEL_RULE, _LABEL, "my-name", "123-abc")
_DNS_SUBDOMAIN = _pattern(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com")
_KEY = _pattern(_LABEL_KEY_RULE, _LABEL_KEY, "MyName", "my.name", "123-abc")
_VALUE = _pattern(_LABEL_VALUE_RULE, _LABEL_VALUE, "MyValue", "my_value", "12345")
_CONFIG = _pattern(_CONFIG_KEY_RULE, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name")
_SHARE = _pattern(_PERCENT_RULE, _PERCENT, "1%", "93%")


def dns_label(text: str) -> list[str]:
    wrong = _too_long(text, 63)
    if not _DNS_LABEL[0].fullmatch(text):
        wrong.append("must not contain dots" if _DNS_SUBDOMAIN[0].fullmatch(text) else _DNS_LABEL[1])
    return wrong


def dns_subdomain(text: str) -> list[str]:
    return _too_long(text, 253) + _misfit(text, _DNS_SUBDOMAIN)


def path_segment(text: str) -> list[str]:
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{mark}'" for mark in "/%" if mark in text]


def label_key(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_KEY[1]} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    wrong = []
    if slash and not prefix:
        wrong.append("prefix part must be non-empty")
    elif slash:
        wrong += [f"prefix part {told}" for told in _too_long(prefix, 253, "bytes") + _misfit(prefix, _DNS_SUBDOMAIN)]
    if not name:
        wrong.append("name part must be non-empty")
    wrong += [f"name part {told}" for told in _too_long(name, 63, "bytes") + _misfit(name, _KEY)]
    return wrong


def label_value(text: str) -> list[str]:
    return _too_long(text, 63, "bytes") + _misfit(text, _VALUE)


def config_key(text: str) -> list[str]:
    return _too_long(text, 253) + _misfit(text, _CONFIG) + _climbs(text)


def percentage(text: str) -> list[str]:
    return _misfit(text, _SHARE)


def environment_name(text: str) -> list[str]:
    if not text:
        return ["environment variable name must be non-empty"]
    if all(" " <= character <= "~" and character != "=" for character in text):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def port_name(text: str) -> list[str]:
    wrong = _too_long(text, 15)
    if not re.fullmatch("[-a-z0-9]+", text):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in text:
        wrong.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        wrong.append("must not begin or end with a hyphen")
    return wrong


def as_prefix(check: NameCheck) -> NameCheck:
    """The check for a generateName: something valid may still follow a trailing dash."""

    def checked(text: str) -> list[str]:
        return check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return checked


def _too_long(text: str, limit: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(text.encode()) > limit else []


def _misfit(text: str, form: tuple[re.Pattern[str], str]) -> list[str]:
    return [] if form[0].fullmatch(text) else [form[1]]


def _climbs(text: str) -> list[str]:
    if text in (".", ".."):
        return [f"must not be '{text}'"]
    return ["must not start with '..'"] if text.startswith("..") else []
