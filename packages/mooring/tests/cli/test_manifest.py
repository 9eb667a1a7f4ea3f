"""Files with objects: what is wrong with them, and where."""

from pathlib import Path

import pytest

from mooring.cli.remote.manifest import read_manifest
from mooring.model.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "line", "found", "because"),
    [
        ("a: [b\n", 2, "a: [b", "expected ',' or ']'"),
        ("kind: Submission\nspec: {a: b: c}\n", 2, "spec: {a: b: c}", "expected ',' or '}'"),
        ("a: 1\n\tb: 2\n", 2, "b: 2", "cannot start any token"),
    ],
)
def test_text_that_is_no_yaml_is_refused_with_its_line_and_on_one_line(
    tmp_path: Path, text: str, line: int, found: str, because: str
):
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        read_manifest(file, "Submission")
    assert refused.value.message == f"{file}: line {line}: {found!r} is not allowed"
    assert because in refused.value.fix and "\n" not in refused.value.fix


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    file = tmp_path / "bad.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="its content"):
        read_manifest(file, "Submission")
