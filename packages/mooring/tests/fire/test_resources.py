"""How a soak is judged and drawn."""

from pathlib import Path
from xml.etree import ElementTree

from packages.mooring.tests.fire.plot import write_plot
from packages.mooring.tests.fire.resources import Sample, find_growth, write_samples


def samples(**growth: float) -> list[Sample]:
    """A run of 40 samples in which some figures grow by so much each."""
    base = {"memory_mib": 100.0, "file_handles": 40.0, "connections": 12.0}
    steady = {"tables_mib": 1.0, "indexes_mib": 1.0, "claims": 10.0}
    return [
        Sample(seconds=60.0 * n, **{name: value + n * growth.get(name, 0.0) for name, value in base.items()}, **steady)
        for n in range(40)
    ]


def test_steady_use_is_bounded() -> None:
    assert find_growth(samples()) == []


def test_each_figure_that_grows_is_named() -> None:
    assert find_growth(samples(memory_mib=2.0)) == ["memory_mib grew from 129 to 169"]
    assert find_growth(samples(file_handles=1.0, connections=1.0)) == [
        "file_handles grew from 54.5 to 74.5",
        "connections grew from 26.5 to 46.5",
    ]


def test_a_run_that_is_too_short_is_not_called_bounded() -> None:
    assert find_growth(samples()[:5]) == ["the run is too short to judge"]


def test_the_samples_and_the_plot_are_written(tmp_path: Path) -> None:
    write_samples(samples(), tmp_path / "soak.csv")
    write_plot(samples(), tmp_path / "soak.svg", "50 workers")
    assert len((tmp_path / "soak.csv").read_text().splitlines()) == 41
    root = ElementTree.fromstring((tmp_path / "soak.svg").read_text())
    assert len(root.findall("{http://www.w3.org/2000/svg}polyline")) == 6
