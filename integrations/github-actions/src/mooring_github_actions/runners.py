"""Runners at GitHub for claims of Mooring: registered by the mint, removed when nothing needs them."""

import re
from typing import Any

from mooring.model.errors import InvalidInput
from mooring_github_actions.github import GitHub, GitHubError
from mooring_github_actions.names import FIELD, make_runner_name
from mooring_github_actions.pools import PoolRule, find_rule

WORK_FOLDER = "_work"
_REPOSITORY = re.compile(r"[\w-]+/(?!\.{1,2}$)[\w.-]+", re.ASCII)  # it becomes a part of the addresses that are called


class Runners:
    """A claim has a runner for each worker that it was bound to; only the last one may run a job."""

    def __init__(self, github: GitHub, rules: tuple[PoolRule, ...], owner: str, group: int) -> None:
        self._github = github
        self._rules = rules
        self._owner = owner
        self._group = group

    def serves(self, call: dict[str, Any]) -> bool:
        """Whether the receiver made the claim. The payload of others may name any repository of the installation."""
        return call.get("owner") == self._owner

    async def register(self, call: dict[str, Any]) -> dict[str, Any]:
        """Answer a mint call. Runners of earlier attempts are removed: their workers are gone."""
        if not self.serves(call):
            raise InvalidInput("owner", call.get("owner"), f"{self._owner!r}: claims are made by the receiver")
        claim, attempt, repository = read_call(call)
        rule = find_rule(str(call.get("pool")), self._rules)
        if rule is None:
            raise InvalidInput("pool", call.get("pool"), "a pool of MOORING_GITHUB_POOLS")
        await self.remove(repository, claim, attempt - 1)
        name = make_runner_name(claim, attempt)
        body = {
            "name": name,
            "runner_group_id": self._group,
            "labels": sorted(rule.labels),
            "work_folder": WORK_FOLDER,
        }
        try:
            made = await self._github.generate_jitconfig(repository, body)
        except GitHubError as error:
            if error.status != 409:
                raise
            # The name is taken: an earlier call for this attempt was answered, and its answer was lost.
            await self._remove_named(repository, name)
            made = await self._github.generate_jitconfig(repository, body)
        return {"jitconfig": made["encoded_jit_config"], "runner": {"id": made["runner"]["id"], "name": name}}

    async def remove(self, repository: str, claim: str, attempts: int) -> bool:
        """Remove all runners of a claim. False: one runs a job, and stays."""
        gone = True
        for attempt in range(1, attempts + 1):
            gone = await self._remove_named(repository, make_runner_name(claim, attempt)) and gone
        return gone

    async def _remove_named(self, repository: str, name: str) -> bool:
        gone = True
        for runner in await self._github.find_runners(repository, name):
            gone = await self._github.remove_runner(repository, runner["id"]) and gone
        return gone


def read_call(call: dict[str, Any]) -> tuple[str, int, str]:
    """Claim, attempt and repository of a mint or revoke call."""
    claim, attempt = call.get("claim"), call.get("attempt")
    if not isinstance(claim, str) or not claim:
        raise InvalidInput("claim", claim, "the id of a claim")
    if not isinstance(attempt, int) or isinstance(attempt, bool) or attempt < 0:
        raise InvalidInput("attempt", attempt, "a number that is not negative")
    return claim, attempt, read_repository(call.get("payload"))


def read_repository(payload: object) -> str:
    """The repository of a claim's job, from the claim's payload."""
    job = payload.get(FIELD) if isinstance(payload, dict) else None
    repository = job.get("repository") if isinstance(job, dict) else None
    if not isinstance(repository, str) or not _REPOSITORY.fullmatch(repository):
        raise InvalidInput(f"payload.{FIELD}.repository", repository, "owner/name; claims are made by the receiver")
    return repository


def read_runner(payload: object) -> int | None:
    """The id of the runner that the mint registered for the claim's current worker; None if there is none."""
    runner = payload.get("runner") if isinstance(payload, dict) else None
    found = runner.get("id") if isinstance(runner, dict) else None
    return found if isinstance(found, int) else None
