"""docs/how-to/access.md says what the code does."""

from mooring.kinds.caller_roles import caller_roles
from packages.mooring.tests.access.documentation import BEGIN, DOCUMENT, END, write_table


def test_the_table_of_routes_is_that_of_the_code():
    written = DOCUMENT.read_text().partition(BEGIN)[2].partition(END)[0].strip()
    assert written == write_table(), "run: python -m packages.mooring.tests.access.documentation"


def test_every_role_is_described():
    text = DOCUMENT.read_text()
    assert all(f"`{role['metadata']['name']}`" in text for role in caller_roles())
