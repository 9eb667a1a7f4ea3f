"""Comments and documents are complete in themselves, and use the words of the project."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
TEXTS = {".py", ".md", ".sql", ".sh", ".html", ".yaml", ".js", ".toml"}
NUMBERED = re.compile(r"\b(rules?|faults?|sections?) \d+", re.IGNORECASE)
AVOIDED = re.compile(
    r"\b(tells?|told|whoever|shields?|shielded|what is so|outlives? us|nowhere else than|as often as counts"
    r"|in thought|ended of|again and again|take it along|nobody works|is or is not so|not known where)\b",
    re.IGNORECASE,
)
# In what users read: sentences that are read twice, each with the plain form.
UNCLEAR = {
    r"(?<!here )\b(is|are) no (?!longer\b|more\b|such\b)\w": "is not a",
    r"\bmeanwhile\b": "since it was read",
    r"\bby now\b": "now",
    r"\b([Ss]ome|[Nn]o)body\b": "another client, no worker",
    r"\bsince when\b": "time since which",
    r"\bcalled the same\b": "has the same name",
    r"\bnot un\w+ed\b|\bnot without\b|\bnever not\b|\bnone .* no\b": "without the double negation",
    r"'this value'": "the name of the field",
    r"\boutlives?\b": "lasts longer than",
    r"\b(what|where|whether) .* is not known\b": "cannot find",
}
# Of those, the ones that documents do without as well.
UNCLEAR_IN_DOCUMENTS = re.compile(r"(?<!`)\b(somebody|nobody|by now|outlives?|called the same)\b(?!`)", re.IGNORECASE)
STORIES = ("docs/incidents/", "CHANGELOG.md")  # they have figures and entries of earlier versions
PUZZLING = re.compile(
    r"^(telling|seeing|rounds?|hindrances?|given|doors?|berthing|utils?|helpers?|manager|common|misc)$"
)
HAS_AVOIDED_WORDS = {"docs/concepts/glossary.md"}  # it lists them
SOURCES = ("packages/*/src/*", "integrations/*/src/*", "deploy/*")

_SCRIPT = re.compile(r"""//.*|"[^"]*"|`[^`]*`""")  # comments and texts of a script
_PROSE_TOKENS = {
    tokenize.COMMENT,
    tokenize.STRING,
    getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING),
}  # from 3.12 on


def _tracked(*patterns: str) -> list[Path]:
    command = ["git", "ls-files", "--cached", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in listed if Path(name).suffix in TEXTS and "/vendor/" not in name]


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a document; of a program, those of its comments and strings, without their expressions."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        yield from ((number, " ".join(_SCRIPT.findall(line))) for number, line in enumerate(text.splitlines(), 1))
        return
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _PROSE_TOKENS:
            yield from enumerate(re.sub(r"\{[^}]*\}", "", token.string).splitlines(), token.start[0])


def test_nothing_refers_to_numbered_rules_that_the_repository_does_not_have():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in _tracked()
        if path.is_file() and path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if NUMBERED.search(line)
    ]
    assert found == []


@pytest.mark.slow
def test_sources_and_documents_use_plain_words():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in _tracked(*SOURCES, "*.md")
        if path.is_file() and str(path.relative_to(ROOT)) not in HAS_AVOIDED_WORDS
        for number, line in _prose(path)
        if AVOIDED.search(line)
    ]
    assert found == []


def _messages(path: Path) -> Iterator[tuple[int, str]]:
    """What users read of a file: texts of a program without its docstrings, descriptions of fields, words of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        for number, line in enumerate(text.splitlines(), 1):
            if path.suffix == ".html" or "description:" in line or line.lstrip().startswith("#"):
                yield number, re.sub(r"\{[{%#].*?[}%#]\}", "", line)
        return
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.Expr) or _is_code(child)]


def _is_code(node: ast.Expr) -> bool:
    return not isinstance(node.value, ast.Constant)


def _unclear(number: int, line: str) -> str:
    """The line and its plain form, or nothing."""
    plain = [form for pattern, form in UNCLEAR.items() if re.search(pattern, line)]
    return f"{number}: {line.strip()[:120]} (write: {plain[0]})" if plain else ""


@pytest.mark.slow
def test_messages_are_understood_at_the_first_reading():
    found = [
        f"{path.relative_to(ROOT)}:{problem}"
        for path in _tracked("packages/*/src/*", "integrations/*/src/*", "deploy/helm/values.yaml")
        if path.is_file() and path.suffix in {".py", ".html", ".yaml"}
        for number, line in _messages(path)
        if (problem := _unclear(number, line))
    ]
    assert found == []


def test_documents_name_who_acts():
    found = [
        f"{name}:{number}: {line.strip()[:120]}"
        for path in _tracked("*.md")
        if not (name := str(path.relative_to(ROOT))).startswith(STORIES) and path.is_file()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if UNCLEAR_IN_DOCUMENTS.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("unclear", "plain"),
    [
        ("x is no address of this service", "x is not an address of this service"),
        ("the pool was changed meanwhile", "there is no pool x"),
        ("it carries another stamp by now", "it is no longer idle"),
        ("a budget was changed by somebody", "another client changed a budget"),
        ("Nobody waits.", "No claims are queued."),
        ("spec: 'this value' is not allowed", "unknown field batchs"),
    ],
)
def test_an_unclear_sentence_is_found_and_a_plain_one_is_not(unclear: str, plain: str):
    assert _unclear(1, unclear) and not _unclear(1, plain)


def test_modules_are_nouns_that_an_engineer_knows():
    names = {path.stem: path for path in _tracked("packages/*/src/*.py", "integrations/*/src/*.py")}
    assert [str(path) for name, path in names.items() if PUZZLING.match(name)] == []
