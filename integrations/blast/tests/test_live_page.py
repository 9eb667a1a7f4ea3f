"""The page in a real browser: a query from the form to its hits, without a reload; axe-core finds nothing."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from integrations.blast.tests.live import WITHIN, Demo, search_whole
from packages.mooring.tests.acceptance.browser import browser, open_page
from packages.mooring.tests.pages.test_accessibility import violations

__all__ = ["browser"]

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_query_is_sent_watched_and_answered(browser: Browser, demo: Demo, tmp_path: Path, scheme: str) -> None:
    text = demo.query(0)
    with open_page(browser, demo.page, color_scheme=scheme) as page:
        assert violations(page) == []
        page.get_by_label("Query (FASTA)").fill(text)
        page.get_by_role("button", name="Search").click()
        page.wait_for_url(f"{demo.page}/searches/*", timeout=120_000)
        assert violations(page) == []
        expect(page.get_by_role("status")).to_contain_text("done", timeout=1000 * WITHIN)
        expect(page.get_by_role("heading", name="Hits")).to_be_visible()
        assert violations(page) == []
        expected = search_whole(demo.dataset, text, tmp_path).splitlines()
        rows = page.get_by_role("row").all_inner_texts()
        assert [row.split() for row in rows] == [line.split() for line in expected]
