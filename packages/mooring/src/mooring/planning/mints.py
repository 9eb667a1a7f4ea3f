"""The doctor's judgement of a pool's mint: where it is, and the Secret that it is called with."""

from collections.abc import Mapping
from enum import StrEnum

from mooring.model.doctor_report import Check, CheckStatus
from mooring.model.pool import MintAuth, Pool, SecretKey
from mooring.planning.destinations import choose_fix


class KeyState(StrEnum):
    """What a look at the Secret found. Its value is never looked at."""

    PRESENT = "present"
    FORBIDDEN = "forbidden"
    NO_SECRET = "no_secret"
    NO_KEY = "no_key"


def find_key(auth: MintAuth | None) -> SecretKey | None:
    """The key that authenticates the calls; None if they are not authenticated."""
    return (auth.bearer or auth.hmac) if auth is not None else None


def name_subject(username: str) -> str:
    """The option of `kubectl create rolebinding` that names this user."""
    prefix, _, account = username.rpartition("system:serviceaccount:")
    return f"--user={username}" if prefix or account == username else f"--serviceaccount={account}"


def judge_mint_url(pool: Pool, refusals: Mapping[str, str]) -> Check:
    """Whether Mooring calls the mint of this pool. `refusals` has the fields whose URL is not called, and why."""
    if not refusals:
        return Check(_check_id(pool), CheckStatus.OK, "its mint may be called; the calls are not authenticated")
    said = "; ".join(f"spec.mint.{name} is not called: {why}" for name, why in refusals.items())
    return Check(_check_id(pool), CheckStatus.FAIL, said, dict(refusals), choose_fix(said))


def judge_mint_key(pool: Pool, which: SecretKey, state: KeyState, subject: str) -> Check:
    """Whether claims of this pool can be minted. `subject` names the account that Mooring runs as."""
    check_id, secret = _check_id(pool), f"Secret {pool.namespace}/{which.secret_name}"
    evidence = {"secret": which.secret_name, "key": which.key}
    match state:
        case KeyState.FORBIDDEN:
            role = f"{pool.name}-mint"
            fix = (
                f"kubectl -n {pool.namespace} create role {role} --verb=get --resource=secrets"
                f" --resource-name={which.secret_name} && kubectl -n {pool.namespace} create rolebinding {role}"
                f" --role={role} {subject}"
            )
            return Check(check_id, CheckStatus.FAIL, f"Mooring may not read {secret} of its mint", evidence, fix)
        case KeyState.NO_SECRET:
            fix = f"kubectl -n {pool.namespace} create secret generic {which.secret_name} --from-file={which.key}=FILE"
            return Check(check_id, CheckStatus.FAIL, f"{secret} of its mint does not exist", evidence, fix)
        case KeyState.NO_KEY:
            fix = f"kubectl -n {pool.namespace} describe secret {which.secret_name}"
            return Check(check_id, CheckStatus.FAIL, f"{secret} of its mint has no key {which.key!r}", evidence, fix)
        case KeyState.PRESENT:
            return Check(check_id, CheckStatus.OK, f"{secret} of its mint can be read", evidence)


def _check_id(pool: Pool) -> str:
    return f"mint/{pool.key}"
