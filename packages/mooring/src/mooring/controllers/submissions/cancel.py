"""Requests to cancel a submission."""

import msgspec

from mooring.kinds.views import Submission
from mooring.model import names
from mooring.model.submission import Cancel


def read_cancel(view: Submission) -> Cancel | None:
    """The request to cancel, if there is one. An annotation that cannot be parsed counts as one."""
    text = view.metadata.annotations.get(names.CANCEL)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Cancel)
    except msgspec.DecodeError:
        return Cancel(reason=text[:200])
