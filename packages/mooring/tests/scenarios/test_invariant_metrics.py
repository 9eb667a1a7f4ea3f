"""The invariants at `/metrics`: a scrape exports what `GET /v1/invariants` answers, and unknown is no zero."""

import math

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from mooring.ledger.faults import Fault, LedgerCall
from mooring.ledger.records import InvariantCheck
from mooring.model.invariant import INVARIANT_IDS

BROKEN, PAUSED = "mooring_invariant_broken", "mooring_invariant_paused"
FOUND, HEALED = "mooring_invariant_found_total", "mooring_invariant_healed_total"


def scrape(name: str) -> dict[str, float]:
    """The samples of one metric, by invariant."""
    families = text_string_to_metric_families(generate_latest().decode())
    samples = [sample for family in families for sample in family.samples]
    return {sample.labels["invariant"]: sample.value for sample in samples if sample.name == name}


async def test_a_scrape_exports_of_every_invariant_what_the_api_reads(world):
    replica = world.start()
    await world.pool(warm=2, max=2)
    await world.until_idle(2)
    await world.clock.sleep(300)
    rules = replica.mooring.queries.fleet.invariants()
    assert {rule.id for rule in rules} == INVARIANT_IDS
    assert all(rule.known for rule in rules)
    assert scrape(BROKEN) == {rule.id: rule.broken for rule in rules}
    assert scrape(PAUSED) == {rule.id: 0.0 for rule in rules}
    assert scrape(FOUND) == {rule.id: rule.found for rule in rules}
    assert scrape(HEALED) == {rule.id: rule.healed for rule in rules}


async def test_what_is_broken_is_counted_until_it_holds(world):
    world.start()
    await world.pool("starved", warm=1, max=1, placement={"nodeSelector": {"disk": "none"}})
    await world.clock.sleep(30)
    assert scrape(BROKEN)["schedulable"] == 1.0
    await world.change({"placement": None}, "starved")
    await world.clock.sleep(60)
    assert scrape(BROKEN)["schedulable"] == 0.0


async def test_a_switch_is_seen_at_the_next_scrape(world):
    switches = world.start().mooring.switches
    await world.clock.sleep(5)
    await switches.pause("adopted", actor="me", reason="a deploy")
    assert {rule for rule, paused in scrape(PAUSED).items() if paused} == {"adopted"}
    await switches.resume("adopted", actor="me")
    assert not any(scrape(PAUSED).values())


async def test_an_invariant_that_nobody_has_checked_is_unknown_not_zero(world):
    await world.pause(["stamped-has-claim"])
    replica = world.start()
    await world.clock.sleep(5)
    unknown = {rule.id for rule in replica.mooring.queries.fleet.invariants() if not rule.known}
    assert "warm-floor" not in unknown
    assert "stamped-has-claim" in unknown, "paused, but never looked at"
    assert {rule for rule, broken in scrape(BROKEN).items() if math.isnan(broken)} == unknown
    await world.clock.sleep(300)
    assert not any(map(math.isnan, scrape(BROKEN).values()))


async def test_the_invariant_of_warm_jobs_holds_once_the_last_warmup_is_gone(world):
    left = InvariantCheck(id="warm-on-live-node", at=world.clock.now(), broken=2)
    await world.ledger.invariants.record([left])
    world.start()
    await world.clock.sleep(120)
    assert scrape(BROKEN)["warm-on-live-node"] == 0.0


async def test_nothing_is_exported_before_the_ledger_was_read_so_that_no_counter_jumps_up_from_zero(world):
    away = True

    def fault(call: LedgerCall) -> Fault:
        return Fault.AWAY if away and call.path == "invariants.all" else Fault.NONE

    world.start(fault=fault)
    await world.clock.sleep(5)
    assert (scrape(BROKEN), scrape(PAUSED), scrape(FOUND), scrape(HEALED)) == ({}, {}, {}, {})
    away = False
    await world.clock.sleep(30)
    assert scrape(FOUND).keys() == scrape(PAUSED).keys() == INVARIANT_IDS
