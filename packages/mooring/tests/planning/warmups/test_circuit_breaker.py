"""The circuit: five in an hour open it for half an hour; time or a hand closes it; each Job counts once."""

from datetime import timedelta

from mooring.model.warmup import Circuit
from mooring.planning.warmups.circuit_breaker import compute_circuit
from packages.mooring.tests.planning.warmups.datasets import NOW, dataset, job, nodes

NODE = nodes(1)["node-0"]


def failed(count: int, prefix: str = "f"):
    return [job(dataset(), 0, NODE, uid=f"{prefix}{n}", complete=False, failed=True) for n in range(count)]


def after(minutes: float):
    return NOW + timedelta(minutes=minutes)


def test_four_failures_are_borne_and_the_fifth_opens_it():
    four = compute_circuit(Circuit(), failed(4), "", NOW)
    assert not four.is_open
    five = compute_circuit(four, failed(5), "", after(59))
    assert five.is_open and five.open_until == after(89)


def test_a_job_counts_once_however_often_it_is_seen():
    circuit = Circuit()
    for minute in range(10):
        circuit = compute_circuit(circuit, failed(1), "", after(minute))
    assert len(circuit.failures) == 1 and not circuit.is_open


def test_failures_older_than_an_hour_do_not_count():
    circuit = compute_circuit(Circuit(), failed(4), "", NOW)
    assert not compute_circuit(circuit, failed(1, "g"), "", after(61)).is_open


def test_it_closes_by_time_and_what_failed_before_is_forgiven():
    opened = compute_circuit(Circuit(), failed(5), "", NOW)
    assert compute_circuit(opened, failed(5), "", after(29)).is_open
    closed = compute_circuit(opened, failed(5), "", after(30))
    assert not closed.is_open
    assert not compute_circuit(closed, failed(5), "", after(31)).is_open
    assert compute_circuit(closed, failed(5) + failed(5, "g"), "", after(32)).is_open


def test_it_closes_by_hand_once_for_each_request():
    opened = compute_circuit(Circuit(), failed(5), "", NOW)
    closed = compute_circuit(opened, failed(5), "please", after(1))
    assert not closed.is_open and closed.closed_by == "please"
    again = compute_circuit(closed, failed(5) + failed(5, "g"), "please", after(2))
    assert again.is_open, "an old request closes nothing"
