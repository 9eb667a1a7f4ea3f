"""The blocking SDK against a Mooring behind a real port."""

import subprocess
import sys
import threading
import time

import pytest

from mooring.client.errors import (
    ClaimTimeout,
    LeaseLost,
    LimitReached,
    LossCause,
    RemoteError,
    Unavailable,
    Unreachable,
    read_why,
)
from mooring.client.sdk import Mooring
from mooring.controllers.claims.handover import COMPLETION_SECONDS
from mooring.ledger.records import ClaimFilter
from mooring.model.claim import ClaimState, EndCause
from mooring.model.errors import InvalidInput, Misconfigured
from packages.mooring.tests.client.dock import TOKEN, Front


@pytest.fixture
def mooring(dock):
    return Mooring(dock.url, TOKEN)


def test_a_worker_is_held_for_the_block_and_released_after_it(dock, mooring):
    pool = dock.pool()
    with mooring.claim(pool, owner="acme") as claim:
        held = dock.claim(claim.id)
        assert held.state is ClaimState.RUNNING and held.owner == "acme" and held.epoch == claim.epoch
        assert claim.worker.name == dock.pods(pool)[0].metadata.name and claim.worker.address
        claim.check()
    assert dock.claim(claim.id).state is ClaimState.RELEASED
    assert claim.lost is None


def test_an_error_in_the_block_releases_the_worker_too(dock, mooring):
    pool = dock.pool()
    with pytest.raises(ZeroDivisionError), mooring.claim(pool, owner="acme"):
        1 / 0  # noqa: B018
    assert dock.open_claims(pool) == 0


def test_a_claim_outlives_its_ttl_because_it_is_renewed(dock, mooring):
    pool = dock.pool()
    with mooring.claim(pool, owner="acme", ttl="1s") as claim:
        first = dock.claim(claim.id).heartbeat_at
        time.sleep(1.6)
        claim.check()
        held = dock.claim(claim.id)
        assert held.state is ClaimState.RUNNING and held.heartbeat_at > first


@pytest.mark.parametrize(
    ("cause", "reason", "loss"),
    [
        (EndCause.EXPIRED, "no heartbeat", LossCause.EXPIRED),
        (EndCause.WORKER_LOST, "it may have been drained", LossCause.EVICTED),
        (EndCause.DRAINED, "its worker is gone", LossCause.DRAINED),
        (EndCause.REVOKED, "released by an operator", LossCause.REVOKED),
    ],
)
def test_a_lost_claim_is_raised_by_check_and_again_at_the_end(dock, mooring, cause, reason, loss):
    pool = dock.pool()
    with pytest.raises(LeaseLost) as raised, mooring.claim(pool, owner="acme", ttl="1s") as claim:
        dock.end(claim.id, cause, reason)
        deadline = time.monotonic() + 3
        while claim.lost is None and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(LeaseLost):
            claim.check()
    assert raised.value.cause is loss and reason in raised.value.message
    assert raised.value.at == dock.claim(claim.id).ended_at


def test_a_loss_that_was_not_noticed_is_raised_at_the_end_of_the_block(dock, mooring):
    pool = dock.pool()
    with pytest.raises(LeaseLost) as raised, mooring.claim(pool, owner="acme", ttl="1h") as claim:
        dock.end(claim.id, EndCause.EXPIRED, "no heartbeat")
    assert raised.value.cause is LossCause.EXPIRED


def test_an_error_in_the_block_is_not_hidden_by_a_lost_claim(dock, mooring):
    pool = dock.pool()
    with pytest.raises(KeyError) as raised, mooring.claim(pool, owner="acme", ttl="1h") as claim:
        dock.end(claim.id, EndCause.EXPIRED, "no heartbeat")
        raise KeyError("mine")
    assert any("is lost" in note for note in raised.value.__notes__)


def test_without_renewals_getting_through_the_claim_ends_by_our_own_clock(dock):
    pool = dock.pool()
    with Front(dock.url) as front:
        claim = Mooring(front.url, TOKEN).claim(pool, owner="acme", ttl="1s")
        with pytest.raises(LeaseLost) as raised, claim:
            front.closed = True
            started = time.monotonic()
            while claim.lost is None:
                time.sleep(0.05)
            assert 0.4 < time.monotonic() - started < 1.5
    assert raised.value.cause is LossCause.EXPIRED


def test_a_short_disturbance_does_not_lose_the_claim(dock):
    pool = dock.pool()
    with Front(dock.url, only=b"heartbeat") as front:
        with Mooring(front.url, TOKEN).claim(pool, owner="acme", ttl="2s") as claim:
            front.refuse = 1
            time.sleep(1.5)
            claim.check()
        assert front.refuse == 0


@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_a_request_whose_answer_was_lost_is_repeated_without_a_second_claim(dock, lost):
    pool = dock.pool(warm=2, max=2)
    with Front(dock.url, lose=lost, only=b"/claims") as front:
        with Mooring(front.url, TOKEN).claim(pool, owner="acme"):
            assert dock.open_claims(pool) == 1
        assert front.lose == 0
    assert dock.open_claims(pool) == 0


def test_the_answer_to_a_wait_may_be_lost_as_well(dock, mooring):
    pool = dock.pool()
    held = threading.Event()
    done = threading.Event()

    def hold():
        with mooring.claim(pool, owner="first"):
            held.set()
            done.wait(5)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(5)
    threading.Timer(0.5, done.set).start()
    with Front(dock.url, lose=1, only=b"/claims HTTP") as front:
        with Mooring(front.url, TOKEN).claim(pool, owner="second", wait="10s") as claim:
            assert dock.claim(claim.id).state is ClaimState.RUNNING
        assert front.lose == 0
    holder.join()
    assert dock.open_claims(pool) == 0


def test_on_wait_gets_the_position_in_the_queue_and_why(dock, mooring):
    pool = dock.pool()
    told = []
    with pytest.raises(ClaimTimeout) as raised, mooring.claim(pool, owner="first"):  # noqa: SIM117
        with mooring.claim(pool, owner="second", wait="1s", on_wait=told.append):
            pass
    assert told and told[0].position == 1 and told[0].waited_seconds >= 0.4
    assert "next in line" in told[0].why.message and told[0].why.since is not None
    why = raised.value.why
    assert why == read_why(raised.value.detail["why"]) and why.since is not None
    assert "0 idle, 1 busy" in why.blockers[0] and "at most 1" in why.blockers[0]
    assert why.fix and pool in why.message
    assert dock.open_claims(pool) == 0


def test_without_wait_a_full_pool_is_a_timeout_at_once(dock, mooring):
    pool = dock.pool()
    with mooring.claim(pool, owner="first"), pytest.raises(ClaimTimeout) as raised:
        mooring.claim(pool, owner="second").__enter__()
    assert raised.value.remote_code == "no_idle_worker"
    assert raised.value.why.since is not None and "1 busy" in raised.value.why.blockers[0]


def test_an_interrupt_in_on_wait_leaves_nothing_in_the_queue(dock, mooring):
    pool = dock.pool()

    def interrupt(_):
        raise KeyboardInterrupt

    with mooring.claim(pool, owner="first"):
        with pytest.raises(KeyboardInterrupt):
            mooring.claim(pool, owner="second", wait="30s", on_wait=interrupt).__enter__()
        assert dock.open_claims(pool) == 1


def test_an_owner_over_the_limit_gets_a_typed_error(dock, mooring):
    pool = dock.pool(warm=2, max=2, limits={"perOwner": 1})
    with mooring.claim(pool, owner="acme"), pytest.raises(LimitReached) as raised:
        mooring.claim(pool, owner="acme").__enter__()
    assert not raised.value.retryable
    assert "acme holds 1 of at most 1" in raised.value.why.message and len(raised.value.why.blockers) == 1


@pytest.mark.parametrize("wait", ["0s", "20s"])
def test_a_claim_that_its_control_plane_left_unfinished_is_completed_by_the_repeated_request(dock, mooring, wait):
    pool = dock.pool()
    left = dock.leave_half_way(pool, "half-way", COMPLETION_SECONDS - 1.5)
    started = time.monotonic()
    with mooring.claim(pool, owner="acme", key="half-way", wait=wait) as claim:
        assert 1 < time.monotonic() - started < 6
        assert claim.id == left and dock.claim(left).state is ClaimState.RUNNING
        assert dock.open_claims(pool) == 1


def test_the_same_key_joins_the_same_claim_until_it_is_over(dock, mooring):
    pool = dock.pool(warm=2, max=2)
    with mooring.claim(pool, owner="acme", key="build-42") as one:
        again = mooring.claim(pool, owner="acme", key="build-42")
        again.__enter__()
        assert again.id == one.id and again.epoch == one.epoch
        again.detach()
    with pytest.raises(RemoteError) as raised:
        mooring.claim(pool, owner="acme", key="build-42").__enter__()
    assert raised.value.remote_code == "claim_ended"


def test_a_detached_claim_stays_and_can_be_attached_elsewhere(dock, mooring):
    pool = dock.pool()
    with mooring.claim(pool, owner="acme") as claim:
        claim_id = claim.detach()
    assert dock.claim(claim_id).state is ClaimState.RUNNING
    with Mooring(dock.url, TOKEN).attach(claim_id) as again:
        assert again.worker == claim.worker and again.epoch == claim.epoch
        with pytest.raises(RemoteError):
            mooring.claim(pool, owner="acme", wait=0).__enter__()
    assert dock.claim(claim_id).state is ClaimState.RELEASED


def test_an_ended_or_unknown_claim_cannot_be_attached(dock, mooring):
    pool = dock.pool()
    with mooring.claim(pool, owner="acme") as claim:
        pass
    with pytest.raises(LeaseLost):
        mooring.attach(claim.id).__enter__()
    with pytest.raises(RemoteError) as raised:
        mooring.attach("no-such-claim").__enter__()
    assert raised.value.status == 404


def test_closing_is_bounded_in_time_when_the_server_does_not_answer(dock, monkeypatch):
    monkeypatch.setattr("mooring.client.claim.CLOSE_SECONDS", 1.0)
    pool = dock.pool()
    with Front(dock.url) as front:
        claim = Mooring(front.url, TOKEN).claim(pool, owner="acme", ttl="1m")
        claim.__enter__()
        front.closed = True
        started = time.monotonic()
        claim.close()
        assert time.monotonic() - started < 3
    dock.end(claim.id, EndCause.RELEASED, "tidied up")


def test_an_unreachable_server_is_a_retryable_error_after_some_retries(monkeypatch):
    monkeypatch.setattr("mooring.client.retry.Retry.__init__.__defaults__", (0.3,))
    with pytest.raises(Unreachable) as raised:
        Mooring("http://127.0.0.1:9", "t").claim("a/b", owner="acme").__enter__()
    assert raised.value.retryable and isinstance(raised.value, Unavailable)


def test_wrong_tokens_pools_and_values_have_their_own_errors(dock, mooring):
    with pytest.raises(RemoteError) as raised:
        Mooring(dock.url, "wrong").claim("runners/linux", owner="acme").__enter__()
    assert raised.value.status == 401
    with pytest.raises(RemoteError) as raised:
        mooring.claim("runners/windows", owner="acme").__enter__()
    assert raised.value.remote_code == "unknown_pool"
    with pytest.raises(RemoteError) as raised:
        mooring.claim(dock.pool(), owner="a\nb").__enter__()
    assert raised.value.status == 400
    for pool, ttl in (("linux", "5m"), ("a/b/c", "5m"), ("a/b", "0s"), ("a/b", "1.5s"), ("a/b", "soon")):
        with pytest.raises(InvalidInput):
            mooring.claim(pool, owner="acme", ttl=ttl)


def test_the_address_comes_from_the_environment_or_the_state_folder(dock, monkeypatch, tmp_path):
    pool = dock.pool()
    monkeypatch.delenv("MOORING_URL", raising=False)
    monkeypatch.delenv("MOORING_TOKEN", raising=False)
    monkeypatch.setenv("MOORING_STATE", str(tmp_path))
    with pytest.raises(Misconfigured):
        Mooring()
    (tmp_path / "url").write_text(dock.url + "\n")
    (tmp_path / "token").write_text(TOKEN + "\n")
    with Mooring() as mooring, mooring.claim(pool, owner="acme"):
        pass
    monkeypatch.setenv("MOORING_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("MOORING_TOKEN", "wrong")
    with Mooring(dock.url, TOKEN) as mooring, mooring.claim(pool, owner="acme"):
        pass


def test_a_claim_is_used_in_a_block_and_only_once(dock, mooring):
    claim = mooring.claim(dock.pool(), owner="acme")
    with pytest.raises(Exception, match="not open"):
        _ = claim.worker
    with claim:
        pass
    with pytest.raises(Exception, match="only once"), claim:
        pass


def test_the_blocking_sdk_and_the_worker_import_neither_aiohttp_nor_server_packages():
    code = "import sys, mooring.client.sdk, mooring.client.worker; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["aiohttp", "asyncpg", "litestar", "rich", "typer", "structlog", "yaml"]
    found = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("given", [{"ttl": None}, {"wait": None}, {"owner": None}, {"key": 7}, {"pool": None}])
def test_an_argument_of_another_type_is_refused_with_its_name(mooring, given):
    with pytest.raises(InvalidInput, match=next(iter(given))):
        mooring.claim(**{"pool": "runners/linux", "owner": "acme", **given})


def test_run_refuses_a_pool_whose_workers_do_not_poll_and_claims_nothing(dock, mooring):
    pool = dock.pool()
    started = time.monotonic()
    with pytest.raises(InvalidInput, match=r"dispatch: Poll.*use claim\(\)"):
        mooring.run(pool, owner="acme", payload={"command": ["true"]}, timeout="1h")
    assert time.monotonic() - started < 5
    assert dock.call(dock.ledger.claims.list(ClaimFilter(pool=pool.split("/")[1]))).total == 0
