"""`make campaign [SEEDS=N] [MINUTES=M] [FIRST=S] [PLANTED=1]`: random troubles, and the judge at the end of each run.

A seed that fails is shrunk to the shortest list of troubles that still fails, and printed as a test to paste. With
PLANTED=1 bugs are planted into the product, one after another, and each must be caught.
"""

import argparse
import logging
import resource
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice

import structlog

from packages.mooring.tests.campaign.planted import PLANTED
from packages.mooring.tests.campaign.run import examine
from packages.mooring.tests.campaign.troubles import KINDS, Trouble, choose

_MOST_SEEDS_A_BUG = 8


def shrink(seed: int, troubles: Sequence[Trouble]) -> tuple[Trouble, ...]:
    """The shortest list that still fails, found by leaving out one after another."""
    kept = tuple(troubles)
    index = 0
    while index < len(kept):
        shorter = kept[:index] + kept[index + 1 :]
        if _fails(seed, shorter):
            kept = shorter
        else:
            index += 1
    return kept


def _fails(seed: int, troubles: Sequence[Trouble]) -> bool:
    return bool(_violations(seed, troubles))


def _violations(seed: int, troubles: Sequence[Trouble]) -> list[str]:
    """A run that dies has failed, too."""
    try:
        return examine(seed, troubles)[0]
    except Exception as error:  # noqa: BLE001 - whatever it is, the seed is to be reported and shrunk
        return [f"the run died: {error!r}"[:300]]


def as_test(seed: int, troubles: Sequence[Trouble], found: Sequence[str]) -> str:
    """A test to paste into packages/mooring/tests/campaign/test_campaign.py."""
    listed = "".join(f"        {one!r},\n" for one in troubles)
    said = "".join(f"    # {violation}\n" for violation in found[:5])
    body = f"{said}    troubles = [\n{listed}    ]\n    assert examine({seed}, troubles)[0] == []\n"
    return f"def test_seed_{seed}():\n{body}"


def play_seed(seed: int) -> str:
    """A test to paste; empty if the judge found nothing."""
    _silence_logs()
    troubles = choose(seed)
    found = _violations(seed, troubles)
    if not found:
        return ""
    least = shrink(seed, troubles)
    return as_test(seed, least, _violations(seed, least) or found)


def run_seeds(first: int, seeds: int, minutes: float, jobs: int) -> int:
    """Until all seeds are played, or the time is over; the number of seeds that failed."""
    started, wanted = time.monotonic(), iter(range(first, first + seeds))
    played: list[int] = []
    failed = 0
    with ProcessPoolExecutor(jobs, initializer=_silence_logs) as pool:
        pending: dict[Future[str], int] = {}
        while True:
            in_time = time.monotonic() - started <= minutes * 60
            pending |= {
                pool.submit(play_seed, seed): seed for seed in islice(wanted, jobs - len(pending) if in_time else 0)
            }
            if not pending:
                break
            for done in wait(pending, return_when=FIRST_COMPLETED).done:
                played.append(pending.pop(done))
                if test := done.result():
                    failed += 1
                    print(test, flush=True)
    met = Counter(one.kind for seed in played for one in choose(seed))
    missing = sorted(set(KINDS) - set(met))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, cpu = time.monotonic() - started, used.ru_utime + used.ru_stime
    print(f"{len(played)} seeds from {first}, {failed} failed, {seconds:.0f} s ({cpu:.0f} s of CPU, {jobs} at once)")
    print(f"troubles met: {sum(met.values())}; never met: {', '.join(missing) or 'none'}")
    return failed


def _silence_logs() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def run_planted(only: str) -> int:
    """The number of bugs that were not caught, of those whose name contains `only`."""
    chosen = {name: bug for name, bug in PLANTED.items() if only in name}
    uncaught = 0
    for name, (plant, troubles) in chosen.items():
        caught = ""
        for seed in range(1, 1 + _MOST_SEEDS_A_BUG):
            with plant():
                found = _violations(seed, troubles or choose(seed))
            judged = [violation for violation in found if not violation.startswith("the run died")]
            if judged:
                caught = f"seed {seed}: {judged[0]}"
                break
        uncaught += not caught
        print(f"{'caught' if caught else 'NOT CAUGHT'}: {name}{f' ({caught[:140]})' if caught else ''}", flush=True)
    print(f"{len(chosen)} bugs planted, {len(chosen) - uncaught} caught")
    return uncaught


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--jobs", type=int, default=1, help="how many seeds at once")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--only", default="", help="planted bugs whose name contains this")
    options = parser.parse_args()
    _silence_logs()
    if options.planted:
        return 1 if run_planted(options.only) else 0
    failed = run_seeds(options.first, options.seeds, options.minutes, options.jobs)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
