"""Declaration of `mooring demand`: what a floor that follows demand would do."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.application import State, Token, Url, app
from mooring.cli.output import Format

demand = typer.Typer(help="Floors that follow demand.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(demand, name="demand")


@demand.command()
def simulate(
    trace: Annotated[
        Path | None, typer.Option("--trace", help="File with one arrival a line: seconds, or a time as in RFC 3339.")
    ] = None,
    from_ledger: Annotated[
        str, typer.Option("--from-ledger", help="Arrivals of the last day of this pool, NAMESPACE/NAME.")
    ] = "",
    synthetic: Annotated[
        str, typer.Option("--synthetic", help="steady, diurnal, monday, bursts, step, spikes, or all.")
    ] = "",
    bars: Annotated[
        bool,
        typer.Option("--bars", help="The five traces that the planner is judged by; exit code 1 if one is missed."),
    ] = False,
    wait: Annotated[str, typer.Option("--wait", help="Wait target.")] = "500ms",
    percentile: Annotated[int, typer.Option("--percentile", min=50, max=99, help="Percentage within it.")] = 99,
    start: Annotated[
        list[str] | None, typer.Option("--start", help="Mean time that a worker takes to start; repeatable.")
    ] = None,
    learn: Annotated[str, typer.Option("--learn", help="Time at the start that the planner only learns from.")] = "24h",
    scale_down_after: Annotated[str, typer.Option("--scale-down-after", help="As in spec.demand.")] = "300s",
    minimum: Annotated[int, typer.Option("--min", min=0, help="Smallest floor.")] = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of synthetic arrivals.")] = 1,
    svg: Annotated[Path | None, typer.Option("--svg", help="Write a drawing of arrivals and floors here.")] = None,
    output: Annotated[Format, typer.Option("-o", "--output", help="table or json.")] = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Play arrivals through the planner in virtual time, and compare with fixed floors found by search."""
    from mooring.cli.failures import guarded
    from mooring.cli.launch.demand import SimulateCommand, run_simulation
    from mooring.client.connection import find_endpoint
    from mooring.model.demand import Demand

    asked = SimulateCommand(
        trace=trace,
        from_ledger=from_ledger,
        synthetic=synthetic,
        demand=Demand(wait=wait, percentile=percentile, min=minimum, scale_down_after=scale_down_after),
        starts=tuple(start or ()),
        learn=learn,
        seed=seed,
        svg=svg,
        output=output,
        bars=bars,
    )
    guarded(lambda: run_simulation(asked, lambda: find_endpoint(url, token, state)))
