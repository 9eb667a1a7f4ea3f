"""Evidence for people: log lines and messages, stripped of what could harm a terminal and of what must stay secret."""

import re

import msgspec

LAST_LINES = 60
MOST_LINE_CHARACTERS = 1_000
MASK = "***"

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_NAMES = (
    r"[\w.\-]*(?:pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|account[_-]?key"
    r"|private[_-]?key|client[_-]?secret|credentials?|connection[_-]?string|sig(?:nature)?|authorization)"
)
# Each pattern keeps what names the secret (group 1) and loses the secret itself.
_SECRETS = (
    re.compile(r"(?i)(\b(?:bearer|basic|token|apikey)\s+)[A-Za-z0-9._~+/=\-]{8,}"),
    re.compile(
        r"(?i)([?&;](?:sig|se|sp|sv|skoid|x-amz-signature|x-amz-security-token|x-goog-signature|signature)=)[^&\s\"']+"
    ),
    re.compile(rf"(?i)(\b{_NAMES}[\"']?\s*[:=]\s*)(?:\"[^\"]*\"|'[^']*'|(?:bearer|basic)\s+\S+|[^\s,;&\"']+)"),
    re.compile(rf"(?i)(--{_NAMES}[= ])(?:\"[^\"]*\"|'[^']*'|[^\s\"']+)"),
    re.compile(r"(\b[a-z][a-z0-9+.\-]*://[^\s/:@]*:)[^\s/@]+(?=@)"),
    re.compile(r"()\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*"),
    re.compile(r"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(
        r"()\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w\-]{16,}|xox[abprs]-[\w\-]{10,}|sk-[\w\-]{16,})"
    ),
)
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")


class Failure(msgspec.Struct, rename="camel", frozen=True):
    """What failed where, and the lines that explain it."""

    pod: str = ""
    container: str = ""
    restarts: int = 0
    exit_code: int = 0
    logs: tuple[str, ...] = ()
    reason: str = ""


def clean_line(line: str) -> str:
    """One line without escapes, control characters and secrets, cut when it is endless."""
    plain = _CONTROLS.sub("", _ESCAPES.sub("", line)).replace("\t", "    ").rstrip()
    for secret in _SECRETS:
        plain = secret.sub(rf"\g<1>{MASK}", plain)
    return plain if len(plain) <= MOST_LINE_CHARACTERS else plain[:MOST_LINE_CHARACTERS] + "…"


def clean_log(text: str, last: int = LAST_LINES) -> tuple[str, ...]:
    """The last lines of a log. A private key is masked as a whole, also where its beginning was cut off."""
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
            kept.append(clean_line(line))
    return tuple(kept[-last:])


_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{16,}")


def _drop_key_body(lines: list[str]) -> list[str]:
    while lines and _KEY_BODY.fullmatch(lines[-1].strip()):
        lines = lines[:-1]
    return lines
