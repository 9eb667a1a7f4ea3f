"""Which pool runs a job, by its labels. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass

from mooring.model.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class PoolRule:
    """A pool, and the labels that its runners have."""

    pool: str
    labels: frozenset[str]


def parse_rules(text: str) -> tuple[PoolRule, ...]:
    """From `ci/linux=self-hosted,linux,x64; ci/gpu=self-hosted,gpu`."""
    rules = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        pool, equals, labels = part.partition("=")
        named = frozenset(label.strip().lower() for label in labels.split(",") if label.strip())
        if not equals or pool.strip().count("/") != 1 or not named:
            raise InvalidInput("MOORING_GITHUB_POOLS", part, "NAMESPACE/POOL=LABEL,LABEL; several with ';'")
        rules.append(PoolRule(pool.strip(), named))
    if not rules:
        raise InvalidInput("MOORING_GITHUB_POOLS", text, "at least one NAMESPACE/POOL=LABEL,LABEL")
    return tuple(rules)


def choose_pool(labels: Sequence[str], rules: Sequence[PoolRule]) -> PoolRule | None:
    """The first whose runners have all labels of the job, as GitHub chooses. None: the job is not for us."""
    return next((rule for rule in rules if labels and rule.labels.issuperset(labels)), None)


def find_rule(pool: str, rules: Sequence[PoolRule]) -> PoolRule | None:
    """The rule of a pool."""
    return next((rule for rule in rules if rule.pool == pool), None)
