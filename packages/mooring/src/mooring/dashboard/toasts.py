"""After an act: back to its object, with a message about the audit row that it left."""

from datetime import datetime, timedelta
from urllib.parse import quote

from litestar.response import Redirect

from mooring.ledger.records import AuditFilter
from mooring.model.errors import Unavailable
from mooring.queries.fleet import FleetQueries

_LATELY = timedelta(seconds=30)


async def done(fleet: FleetQueries, back: str, which: AuditFilter, now: datetime) -> Redirect:
    """To the page `back`; with the newest act that matches, if it is from just now."""
    try:
        rows = (await fleet.audit(which, 1, None)).items
    except Unavailable:
        rows = ()
    if not rows or now - rows[0].entry.at > _LATELY:
        return Redirect(back, status_code=303)
    sign = "&" if "?" in back else "?"
    return Redirect(f"{back}{sign}toast={quote(rows[0].entry.id)}", status_code=303)
