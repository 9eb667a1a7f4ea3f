"""`services`: all of them, or one."""

from mooring.cli.listings import SERVICES, run_listing
from mooring.cli.lookup import run_one
from mooring.cli.output import Format, Row, show_table
from mooring.client.connection import Connection, Endpoint


def run_services(endpoint: Endpoint, name: str, namespace: str, form: Format, *, watch: bool) -> None:
    """A table of all, or one by its name."""
    if name:
        run_one(Connection(endpoint), SERVICES, name, namespace, form, watch, _tell)
    else:
        run_listing(SERVICES, endpoint, {"namespace": namespace}, form, watch)


def _tell(service: Row, form: Format) -> None:
    show_table([service], SERVICES.columns, wide=form is Format.WIDE)
