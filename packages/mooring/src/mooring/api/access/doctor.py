"""What the doctor says about static tokens."""

from collections.abc import Iterable

from mooring.api.access.static_tokens import StaticTokens
from mooring.model.doctor_report import Check, CheckStatus


async def look_at_tokens(tokens: StaticTokens) -> Iterable[Check]:
    """One line if a file of tokens is configured."""
    tokens.refresh()
    if not tokens.configured:
        return ()
    if tokens.problem:
        fix = "correct the file: tokens: [{name, user, groups, sha256}]; until then the tokens from before stay valid"
        return (Check("access/tokens", CheckStatus.FAIL, tokens.problem, fix=fix),)
    return (Check("access/tokens", CheckStatus.OK, f"{tokens.count} static tokens are valid"),)
