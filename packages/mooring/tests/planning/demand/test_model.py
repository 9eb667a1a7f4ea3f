"""What the model learns from steps, and what it expects then."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec
import pytest

from mooring.model.pool_history import bucket_of
from mooring.planning.demand.allowance import FACTORS
from mooring.planning.demand.history import unlearned_since
from mooring.planning.demand.model import Aim, DemandModel, Step, binomial, read_model
from mooring.planning.demand.rates import DAY, LEVEL
from mooring.planning.demand.surprises import Surprises

AIM = Aim(wait_seconds=0.5, share=0.01, kept_seconds=300.0)
MONDAY = 1_767_571_200.0


def learn(model: DemandModel, rate: float | Callable[[float], float], steps: int, *, seed: int = 1) -> None:
    """Poisson arrivals at a rate, or at one that depends on the time, in claims a second."""
    random = Random(seed)
    at = model.until or MONDAY
    for _ in range(steps):
        at += 10
        now = rate(at) if callable(rate) else rate
        arrivals: Counter[int] = Counter()
        moment = random.expovariate(now) if now else 10.0
        while moment < 10:
            arrivals[int(moment * 2)] += 1
            moment += random.expovariate(now)
        model.learn(Step(at, arrivals, {bucket_of(40.0): 1} if arrivals else {}), AIM)


def workday(at: float) -> float:
    return 0.5 if 8 <= at % 86_400 / 3600 < 18 else 0.02


def test_a_steady_rate_is_found_and_its_floor_is_that_of_a_poisson_process() -> None:
    model = DemandModel()
    learn(model, 0.5, 2000)
    outlook = model.look(model.until, AIM)
    assert outlook.rate == pytest.approx(0.5, rel=0.1)
    assert outlook.start_seconds == pytest.approx(40, rel=0.1)
    assert 28 <= outlook.needed <= 36, "31 arrivals of 20 expected ones is the 99th percentile"
    assert not outlook.quiet


def test_a_floor_needs_fewer_workers_for_a_longer_wait_and_none_beyond_the_start() -> None:
    model = DemandModel()
    learn(model, 0.5, 1000)
    floors = [one.floor for one in model.look(model.until, AIM).waits]
    assert floors == sorted(floors, reverse=True)
    assert floors[-1] == 0
    assert model.look(model.until, AIM).predict_wait(floors[3]) <= 0.5


def test_a_step_is_followed_within_two_minutes() -> None:
    model = DemandModel()
    learn(model, 0.2, 1500)
    before = model.look(model.until, AIM)
    learn(model, 1.0, 12, seed=2)
    after = model.look(model.until, AIM)
    assert after.rate > 2.5 * before.rate
    assert after.needed > 2 * before.needed
    assert after.correction_seconds in (30.0, 120.0)


def test_ordinary_noise_corrects_nothing() -> None:
    model = DemandModel()
    learn(model, 0.5, 1500)
    corrected = 0
    for seed in range(50):
        learn(model, 0.5, 6, seed=seed + 10)
        corrected += bool(model.look(model.until, AIM).correction_seconds)
    assert corrected <= 3


def test_a_rhythm_of_days_is_known_after_one_day() -> None:
    model = DemandModel()
    learn(model, workday, 8640 + 360)
    assert model.rates.base_name() == DAY
    night, noon = model.until, model.until + 11 * 3600
    assert model.look(noon, AIM).usual_rate > 10 * model.look(night, AIM).usual_rate


@pytest.mark.parametrize("missed", [2, 60])
def test_a_rhythm_is_known_though_some_steps_of_every_day_are_missing(missed: int) -> None:
    model, day = DemandModel(), 8640
    learn(model, workday, day // 2)
    for _ in range(3):
        model.until += 10.0 * missed  # nothing led meanwhile
        learn(model, workday, day - missed)
    assert model.rates.base_name() == DAY
    assert model.rates.base(model.until, 0.0) == pytest.approx(0.5, rel=0.3), "at noon, when the steps are missing"


def test_without_a_rhythm_the_level_is_kept() -> None:
    model = DemandModel()
    learn(model, 0.1, 8640 + 720)
    assert model.rates.base_name() == LEVEL


def test_a_pool_is_quiet_when_no_claim_came_and_none_is_expected() -> None:
    model = DemandModel()
    learn(model, 0.1, 60)
    learn(model, 0.0, 20)
    assert not model.look(model.until, AIM).quiet, "the last one came less than scaleDownAfter ago"
    learn(model, 0.0, 300)
    outlook = model.look(model.until, AIM)
    assert (outlook.quiet, outlook.needed) == (True, 0)


@pytest.mark.parametrize("percentile", [50, 75, 99])
def test_more_late_claims_never_need_more_workers(percentile: int) -> None:
    shares = [factor * (1 - percentile / 100) for factor in FACTORS]
    for forecast in (0.0, 0.5, 5.0, 50.0):
        floors = Surprises().floors(forecast, shares)
        assert floors == sorted(floors, reverse=True)


def test_workers_that_return_are_used_up_for_no_longer_than_they_are_held() -> None:
    returning = Aim(0.5, 0.01, 300.0, returns=True)
    model = DemandModel(starts={bucket_of(40.0): 1.0}, holds={bucket_of(2.0): 1.0})
    assert model.window_seconds(returning) == pytest.approx(2, rel=0.1)
    assert model.window_seconds(AIM) == pytest.approx(39.5, rel=0.1)


def test_a_flood_of_claims_in_one_moment_is_learnt_in_proportion_to_their_number() -> None:
    model = DemandModel()
    learn(model, 0.5, 60)
    flood = Step(model.until + 10, {0: 1100, 1: 1100}, {bucket_of(40.0): 1})
    model.learn(flood, AIM)
    assert model.look(model.until, AIM).rate > 1
    assert binomial(1100, 0.3) == ((330, 1.0),), "each number that is possible would be learnt for each claim"
    assert sum(share for _, share in binomial(20, 0.3)) == pytest.approx(1, abs=1e-4)


def test_a_clock_that_is_set_back_stops_no_learning() -> None:
    model = DemandModel()
    learn(model, 0.5, 60)
    now = datetime.fromtimestamp(model.until - 3600, UTC)
    assert unlearned_since(model, now) == now - timedelta(seconds=10), "the last step, not from an hour on"
    for step in range(400):
        model.learn(Step(now.timestamp() + 10 * step), AIM)
    assert model.look(model.until, AIM).quiet


def test_the_same_steps_give_the_same_model_and_a_model_comes_back_from_json_as_it_was() -> None:
    first, second = DemandModel(), DemandModel()
    learn(first, 0.3, 200)
    learn(second, 0.3, 120)
    saved = msgspec.json.decode(msgspec.json.encode(second))
    restored = read_model(saved)
    assert restored == second
    assert restored is not None
    twin = DemandModel()
    learn(twin, 0.3, 200)
    assert first == twin
    learn(restored, 0.3, 10, seed=5)
    learn(second, 0.3, 10, seed=5)
    assert restored.look(restored.until, AIM) == second.look(second.until, AIM)


def test_a_model_of_another_version_is_not_read() -> None:
    assert read_model({"until": "yesterday"}) is None
