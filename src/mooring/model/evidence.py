"""Evidence for people: log lines and messages, stripped of what could harm a terminal and of what must stay secret."""

import re

import msgspec

LAST_LINES = 60
MOST_LINE_CHARACTERS = 1_000
MASK = "***"
_LOOKED_AT_CHARACTERS = 4 * MOST_LINE_CHARACTERS  # what is hidden makes a line shorter

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_NAMES = (
    r"(?:pass(?:word|wd|phrase)?|secret|token|bearer|credentials?|connection[_-]?string|authorization|signature"
    r"|(?<![a-z])sig|(?:api|access|account|client|encryption|master|private|secret|shared|signing|storage|subscription)"
    r"[_\-\s]?(?:access[_\-\s]?)?(?:key|secret))"
)
# A value in quotes (also in quotes that a JSON text within a text has escaped), or one word.
_QUOTED = r"\\+\".*?(?:\\+\"|$)|\"(?:\\.|[^\"\\])*(?:\"|$)|\\+'.*?(?:\\+'|$)|'(?:\\.|[^'\\])*(?:'|$)"
_SCHEMES = (
    r"(?:basic|bearer|digest|negotiate|ntlm|oauth|token|api-?key|key|shared(?:key(?:lite)?|accesssignature)"
    r"|aws[\w\-]*|goog[\w\-]*|hmac[\w\-]*|scram[\w\-]*)"
)
# Each pattern keeps what names the secret (group 1) and loses the secret itself.
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
    # The directory that a shell is in has this name too: a path stays.
    re.compile(rf"(?i)(pwd(?:\\*[\"'])?\s*[:=]\s*)(?![\"']?(?:[/~.]|[a-z]:\\))(?:{_QUOTED}|[^\s,;&\"']+)"),
    re.compile(r"(\b[a-z][a-z0-9+.\-]{0,40}://[^\s/:@]*:)[^\s/@]+(?=@)"),
    re.compile(r"(?i)(\bhttps?://)[^\s/:@]+(?=@)"),
    re.compile(r"()\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]*)?"),
    re.compile(r"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(
        r"()\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w\-]{16,}|xox[abprs]-[\w\-]{10,}|sk-[\w\-]{16,})"
    ),
)
# A key may be anything: it is masked only when it looks like a secret and not like a name, a date or a path.
_KEY = re.compile(r"(?i)(\bkey\\*[\"']?\s*[:=]\s*\\*[\"']?)([A-Za-z0-9+/_=\-]{16,})(?![\w.])")
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
    whole = _CONTROLS.sub("", _ESCAPES.sub("", line)).replace("\t", "    ").rstrip()
    plain = whole[:_LOOKED_AT_CHARACTERS]
    for secret in _SECRETS:
        plain = secret.sub(rf"\g<1>{MASK}", plain)
    plain = _KEY.sub(_mask_key, plain)
    endless = len(plain) > MOST_LINE_CHARACTERS or len(whole) > _LOOKED_AT_CHARACTERS
    return plain[:MOST_LINE_CHARACTERS] + "…" if endless else plain


def _mask_key(match: re.Match[str]) -> str:
    return f"{match[1]}{MASK}" if _looks_random(match[2]) else match[0]


def _looks_random(value: str) -> bool:
    """Long, and of all kinds of characters in one piece; or a long hexadecimal number."""
    kinds = (str.isupper, str.islower, str.isdigit)
    mixed = all(any(map(kind, value)) for kind in kinds)
    spread = max(map(len, re.split(r"[-_/]", value))) >= 16
    return (mixed and spread) or re.fullmatch(r"[0-9a-fA-F]{32,}", value) is not None


def clean_reason(text: str) -> str:
    """What somebody gave as a reason, on one line; others will read it, in logs and on terminals."""
    return clean_line(" ".join(text.split()))


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
