"""Log lines and messages as evidence: without terminal control sequences and without secrets."""

import re
from collections.abc import Callable

import msgspec

LAST_LINES = 60
MOST_LINE_CHARACTERS = 1_000
MASK = "***"
_LOOKED_AT_CHARACTERS = 4 * MOST_LINE_CHARACTERS  # masking makes a line shorter

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_NAMES = (
    r"(?:pass(?:word|wd|phrase)?|secret|token|bearer|credentials?|connection[_-]?string|authorization|signature"
    r"|(?<![a-z])sig|(?:api|access|account|client|encryption|master|private|secret|shared|signing|storage|subscription)"
    r"[_\-\s]?(?:access[_\-\s]?)?(?:key|secret))"
)
# A value in quotes (also in escaped quotes of a JSON text), or one word.
_QUOTED = r"\\+\".*?(?:\\+\"|$)|\"(?:\\.|[^\"\\])*(?:\"|$)|\\+'.*?(?:\\+'|$)|'(?:\\.|[^'\\])*(?:'|$)"
_SCHEMES = (
    r"(?:basic|bearer|digest|negotiate|ntlm|oauth|token|api-?key|key|shared(?:key(?:lite)?|accesssignature)"
    r"|aws[\w\-]*|goog[\w\-]*|hmac[\w\-]*|scram[\w\-]*)"
)
# Each pattern keeps the name of the secret (group 1) and drops the secret.
_SECRETS = (
    re.compile(rf"(?i)(authorization\\*[\"']?\s*[:=]\s*\\*[\"']?){_SCHEMES}[\s:][^\"'\\]+"),
    re.compile(r"(?i)(\b(?:set-)?cookie\\*[\"']?\s*[:=]\s*\\*[\"']?)[^\"'\\]+"),
    re.compile(r"(?i)(\b(?:bearer|basic|token|apikey)\s+)[A-Za-z0-9._~+/=\-]{8,}"),
    re.compile(
        r"(?i)([?&;](?:sig|se|sp|sv|skoid|x-amz-signature|x-amz-security-token|x-goog-signature|signature)=)[^&\s\"']+"
    ),
    re.compile(rf"(?i)({_NAMES}(?:\\*[\"'])?\s*[:=]\s*)(?:{_QUOTED}|(?:bearer|basic)\s+\S+|(?!\\+[\"'])[^\s,;&\"']+)"),
    re.compile(rf"(?i)({_NAMES}%3[ad])(?:(?!%26|%3b)[^\s&;\"'])+"),
    re.compile(rf"(?i)(--[\w.\-]{{0,40}}{_NAMES}[= ])(?:{_QUOTED}|[^\s\"']+)"),
    # `PWD` is also the current directory of a shell: a path is kept.
    re.compile(rf"(?i)(pwd(?:\\*[\"'])?\s*[:=]\s*)(?![\"']?(?:[/~.]|[a-z]:\\))(?:{_QUOTED}|[^\s,;&\"']+)"),
    re.compile(r"(\b[a-z][a-z0-9+.\-]{0,40}://[^\s/:@]*:)[^\s/@]+(?=@)"),
    re.compile(r"(?i)(\bhttps?://)[^\s/:@]+(?=@)"),
    re.compile(r"()\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]*)?"),
    re.compile(r"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(
        r"()\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w\-]{16,}|xox[abprs]-[\w\-]{10,}|sk-[\w\-]{16,})"
    ),
)
# A value named key is masked only if it looks like a secret and not like a name, a date or a path.
_KEY = re.compile(r"(?i)(\bkey\\*[\"']?\s*[:=]\s*\\*[\"']?)([A-Za-z0-9+/_=\-]{16,})(?![\w.])")
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")


class Failure(msgspec.Struct, rename="camel", frozen=True):
    """What failed, where, and the log lines that explain it."""

    pod: str = ""
    container: str = ""
    restarts: int = 0
    exit_code: int = 0
    logs: tuple[str, ...] = ()
    reason: str = ""


def describe_crash(exit_code: int | str, restarts: int) -> str:
    """`keeps crashing (exit code 1, restarted once)`."""
    times = "once" if restarts == 1 else f"{restarts} times"
    return f"keeps crashing (exit code {exit_code}, restarted {times})"


def clean_line(line: str) -> str:
    """One line without escapes, control characters and secrets, cut to the maximum length."""
    whole = _without_controls(line)
    plain = _mask_secrets(whole[:_LOOKED_AT_CHARACTERS])
    endless = len(plain) > MOST_LINE_CHARACTERS or len(whole) > _LOOKED_AT_CHARACTERS
    return plain[:MOST_LINE_CHARACTERS] + "…" if endless else plain


def clean_line_end(line: str) -> str:
    """The same, for text whose end counts: of a line that is too long, the beginning is cut off.

    What the cut may have separated from the name that marks it as a secret is left out too.
    """
    whole = _without_controls(line)
    if len(whole) <= _LOOKED_AT_CHARACTERS:
        return _mask_secrets(whole)
    end = whole[-_LOOKED_AT_CHARACTERS:]
    torn = re.match(r"\S{0,1000}", end)
    return "…" + _mask_secrets(end[torn.end() if torn else 0 :])


def _without_controls(line: str) -> str:
    return _CONTROLS.sub("", _ESCAPES.sub("", line)).replace("\t", "    ").rstrip()


def _mask_secrets(plain: str) -> str:
    for secret in _SECRETS:
        plain = secret.sub(rf"\g<1>{MASK}", plain)
    return _KEY.sub(_mask_key, plain)


def _mask_key(match: re.Match[str]) -> str:
    return f"{match[1]}{MASK}" if _looks_random(match[2]) else match[0]


def _looks_random(value: str) -> bool:
    """Long, with upper case, lower case and digits in one piece; or a long hexadecimal number."""
    kinds = (str.isupper, str.islower, str.isdigit)
    mixed = all(any(map(kind, value)) for kind in kinds)
    spread = max(map(len, re.split(r"[-_/]", value))) >= 16
    return (mixed and spread) or re.fullmatch(r"[0-9a-fA-F]{32,}", value) is not None


def clean_reason(text: str) -> str:
    """A reason given by a user, on one line; it is shown in logs and on terminals."""
    return clean_line(" ".join(text.split()))


def clean_log(text: str, last: int = LAST_LINES, clean: Callable[[str], str] = clean_line) -> tuple[str, ...]:
    """The last lines of a log. A private key is masked completely, also if its beginning was cut off."""
    kept: list[str] = []
    within_key = False
    for line in text.splitlines():
        if _KEY_END.search(line):
            if not within_key:
                kept = _drop_key_body(kept)
                kept.append(MASK)
            within_key = False
            continue
        if _KEY_BEGIN.search(line):
            within_key = True
            kept.append(MASK)
        elif not within_key:
            kept.append(clean(line))
    return tuple(kept[-last:])


_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{16,}")


def _drop_key_body(lines: list[str]) -> list[str]:
    while lines and _KEY_BODY.fullmatch(lines[-1].strip()):
        lines = lines[:-1]
    return lines
