"""Long names break behind their separators, and nothing in them becomes markup."""

import pytest

from mooring.dashboard.line_breaks import breakable


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain words", "plain words"),
        ("permission/pods", "permission/<wbr>pods"),
        ("crds.apiextensions.k8s.io", "crds.<wbr>apiextensions.<wbr>k8s.<wbr>io"),
        ("a<b>&c-d", "a&lt;b&gt;&amp;c-<wbr>d"),
    ],
)
def test_a_text_may_break_behind_separators(text: str, html: str) -> None:
    assert str(breakable(text)) == html
