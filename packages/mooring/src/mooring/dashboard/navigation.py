"""The pages in the order of the menu, with their path and key, and which pages are live."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """One entry of the menu."""

    id: str
    title: str
    path: str
    key: str
    live: bool = True


Menu = tuple[Page, ...]
MENU: Menu = (
    Page("fleet", "Fleet", "/", "f"),
    Page("claims", "Claims", "/claims", "c"),
    Page("warmups", "Warmups", "/warmups", "w"),
    Page("submissions", "Submissions", "/submissions", "b"),
    Page("services", "Services", "/services", "s"),
    Page("invariants", "Invariants", "/invariants", "i"),
    Page("audit", "Audit", "/audit", "a"),
    Page("usage", "Usage", "/usage", "u", live=False),
    Page("doctor", "Doctor", "/doctor", "o", live=False),
    Page("docs", "API", "/docs", "d", live=False),
)
REPLAYS = Page("replays", "Replays", "/replays", "r", live=False)  # only where replays can be played
LIVE = frozenset({page.id for page in MENU if page.live} | {"worker", "node", "pool", "claim"})
