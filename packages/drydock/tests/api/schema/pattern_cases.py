"""Patterns and what becomes of them: the same table for the unit tests and for a real API server."""

from typing import Any

FOUND: list[tuple[str, str, bool]] = [
    ("^[a-z]+$", "abc", True),
    ("^[a-z]+$", "abc\n", False),
    ("(?m)^[a-z]+$", "abc\n", True),
    ("b", "abc", True),
    (r"^\d+$", "٣", False),
    (r"^\w$", "ä", False),
    (r"^\s$", "\u00a0", False),
    (r"^[$]\$$", "$$", True),
    (r"a\z", "ba", True),
    (r"a\z", "a\n", False),
    ("^[[:alpha:]_]+$", "a_b", True),
    ("^[[:^alpha:]]$", "1", True),
    ("^[[]$", "[", True),
    ("(?i)^ab$", "AB", True),
    ("(?i)^k$", "\u212a", True),  # the Kelvin sign folds to k
    ("^(?P<year>[0-9]{4})$", "2026", True),
    ("^(?<year>[0-9]{4})$", "26", False),
    (r"^\p{Greek}+$", "λόγος", True),
    (r"^\p{Greek}+$", "logos", False),
    (r"^\pL{1,1000}$", "é", True),
    (r"^\P{Lu}$", "A", False),
    (r"^\Q(a+)\E$", "(a+)", True),
    ("^a{,2}$", "a{,2}", True),
    ("^.$", "\U0001f600", True),
    ("^.$", "\n", False),
    ("(?s)^.$", "\n", True),
    (r"^(?:a|b|ab)(?:c|bcd)$", "abcd", True),
    (r"^(a+)+$", "a" * 200 + "b", False),
]
# Each with what a kube-apiserver says of it behind "error parsing regexp: ".
REFUSED: list[tuple[str, str]] = [
    ("(", "missing closing ): `(`"),
    (")", "unexpected ): `)`"),
    ("[a", "missing closing ]: `[a`"),
    ("*a", "missing argument to repetition operator: `*`"),
    ("a**", "invalid nested repetition operator: `**`"),
    ("a++", "invalid nested repetition operator: `++`"),
    ("(?=a)b", "invalid or unsupported Perl syntax: `(?=`"),
    ("(?!a)b", "invalid or unsupported Perl syntax: `(?!`"),
    ("(?>a)b", "invalid or unsupported Perl syntax: `(?>`"),
    (r"a\Z", r"invalid escape sequence: `\Z`"),
    (r"(a)\1", r"invalid escape sequence: `\1`"),
    (r"^\C$", r"invalid escape sequence: `\C`"),
    ("a{1001}", "invalid repeat count: `{1001}`"),
    ("(a{100}){100}", "invalid repeat count: `{100}`"),
    ("[b-a]", "invalid character class range: `b-a`"),
    (r"\p{Klingon}", r"invalid character class range: `\p{Klingon}`"),
    ("a\\", "trailing backslash at end of expression: ``"),
]
FOUND_ALL: list[tuple[str, str, list[str]]] = [
    ("[0-9]+", "a1b22", ["1", "22"]),
    ("a*", "baaab", ["", "aaa", ""]),
    ("", "ab", ["", "", ""]),
]


def pattern_schema(patterns: list[str]) -> dict[str, Any]:
    """A spec with a field `p<number>` for each pattern."""
    fields = {f"p{number}": {"type": "string", "pattern": pattern} for number, pattern in enumerate(patterns)}
    spec = {"type": "object", "properties": fields}
    return {"type": "object", "properties": {"spec": spec}}


def pattern_definition(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A cluster-scoped CustomResourceDefinition with this schema."""
    plural, kind = f"{name}s", name.capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.patterns.example.com"},
        "spec": {
            "group": "patterns.example.com",
            "scope": "Cluster",
            "names": {"plural": plural, "singular": name, "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
