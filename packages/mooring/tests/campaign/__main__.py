"""`make campaign [SEEDS=N] [MINUTES=M] [FIRST=S] [PLANTED=1]`: random troubles, and the judge at the end of each run.

A seed that fails is shrunk to the shortest list of troubles that still fails, and printed as a test to paste. With
PLANTED=1 bugs are planted into the product, one after another, and each must be caught.
"""

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence

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


def run_seeds(first: int, seeds: int, minutes: float) -> int:
    """Until all seeds are played, or the time is over; the number of seeds that failed."""
    started, met, failed, played = time.monotonic(), Counter(dict.fromkeys(KINDS, 0)), 0, 0
    for seed in range(first, first + seeds):
        if time.monotonic() - started > minutes * 60:
            break
        troubles = choose(seed)
        met.update(one.kind for one in troubles)
        played += 1
        if found := _violations(seed, troubles):
            failed += 1
            least = shrink(seed, troubles)
            print(as_test(seed, least, _violations(seed, least) or found), flush=True)
    missing = sorted(kind for kind, count in met.items() if not count)
    seconds, cpu = time.monotonic() - started, time.process_time()
    print(f"{played} seeds from {first}, {failed} failed, {seconds:.0f} s ({cpu:.0f} s of CPU)")
    print(f"troubles met: {sum(met.values())}; never met: {', '.join(missing) or 'none'}")
    return failed


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
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--only", default="", help="planted bugs whose name contains this")
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    failed = run_planted(options.only) if options.planted else run_seeds(options.first, options.seeds, options.minutes)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
