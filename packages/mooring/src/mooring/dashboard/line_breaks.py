"""Places where a browser may break a long name: behind separators, not within a word."""

import re

from markupsafe import Markup, escape

_SEPARATORS = re.compile(r"([/._=,:-]+)")


def breakable(text: object) -> Markup:
    """The escaped text with a place for a line break behind every separator."""
    return Markup(_SEPARATORS.sub(r"\1<wbr>", str(escape(text))))  # escaped, and only <wbr> is added
