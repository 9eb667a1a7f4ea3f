"""The moving picture of the README: the sessions of a node roll, without and with protection, drawn from one run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mooring.incidents.drift_roll import DriftRoll
from mooring.incidents.replay import run_half
from mooring.incidents.stage import Nobody

SECONDS = 12.0  # the length of the picture
_HOLD = 0.15  # the part of it in which the end stands still
_CELL, _GAP, _COLUMNS = 18, 6, 8
_WORKING, _DIED, _FINISHED = "#1144A8", "#C93A12", "#8C9399"


@dataclass
class Film(Nobody):
    """An audience that keeps the gauges of a half."""

    frames: list[tuple[float, int, int]] = field(default_factory=list)  # seconds, sessions at work, sessions died

    def show(self, seconds: float, gauges: Mapping[str, object]) -> None:
        working, died = gauges.get("sessions at work"), gauges.get("sessions died")
        if isinstance(working, int) and isinstance(died, int):
            self.frames.append((seconds, working, died))


def draw_roll() -> str:
    """The whole SVG. Both halves share one clock, which ends with the longer one."""
    films = {False: Film(), True: Film()}
    for protected, film in films.items():
        run_half(DriftRoll(), protected=protected, seed=1, audience=film)
    end = max(film.frames[-1][0] for film in films.values())
    sessions = len(DriftRoll.roll.sessions)
    parts = [
        *_half(films[False], "without Mooring's protection", 20, sessions, end),
        *_half(films[True], "with it", 300, sessions, end),
    ]
    minutes = round(end / 60)
    title = f"{sessions} queries while every node is replaced, {minutes} minutes in {SECONDS:g} seconds"
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 190" role="img" font-family="sans-serif">',
            f"<title>{title}</title>",
            '<rect width="560" height="190" rx="8" fill="#ffffff"/>',
            f'<text x="20" y="26" font-size="14" fill="#1b1f23">{title}</text>',
            *parts,
            *_legend(),
            "</svg>",
            "",
        ]
    )


def _half(film: Film, name: str, left: int, sessions: int, end: float) -> Iterator[str]:
    yield f'<text x="{left}" y="52" font-size="12" fill="#3a4149">{name}</text>'
    for number in range(sessions):
        x = left + number % _COLUMNS * (_CELL + _GAP)
        y = 62 + number // _COLUMNS * (_CELL + _GAP)
        times, colours = _changes(film, number, sessions, end)
        yield (
            f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" rx="3" fill="{_WORKING}">'
            f'<animate attributeName="fill" dur="{SECONDS:g}s" repeatCount="indefinite" calcMode="discrete"'
            f' keyTimes="{times}" values="{colours}"/></rect>'
        )
        if _DIED in colours:  # a cross as well: colour is not the only sign
            crosses = ";".join("1" if colour == _DIED else "0" for colour in colours.split(";"))
            yield (
                f'<path d="M{x + 5} {y + 5}l8 8m0-8l-8 8" stroke="#ffffff" stroke-width="2" opacity="0">'
                f'<animate attributeName="opacity" dur="{SECONDS:g}s" repeatCount="indefinite" calcMode="discrete"'
                f' keyTimes="{times}" values="{crosses}"/></path>'
            )


def _changes(film: Film, number: int, sessions: int, end: float) -> tuple[str, str]:
    """Session `number` dies with the first `number + 1` deaths; it is finished when fewer than that many are left."""
    times, colours = ["0"], [_WORKING]
    for seconds, working, died in film.frames:
        colour = _DIED if number < died else _WORKING if sessions - number <= working else _FINISHED
        if colour != colours[-1]:
            times.append(f"{seconds / end * (1 - _HOLD):.4f}")
            colours.append(colour)
    return ";".join(times), ";".join(colours)


def _legend() -> Iterator[str]:
    for left, colour, text in ((20, _WORKING, "running"), (110, _DIED, "killed"), (190, _FINISHED, "finished")):
        yield f'<rect x="{left}" y="166" width="10" height="10" rx="2" fill="{colour}"/>'
        yield f'<text x="{left + 15}" y="175" font-size="11" fill="#3a4149">{text}</text>'
