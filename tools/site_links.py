"""Links of docs/ that leave it, for the site: shown as text, since the site has only docs/.

A test of the repository checks that they lead somewhere.
"""

import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)[^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """The page without links to files outside of docs/."""
    folder = Path(page.file.abs_src_path).parent
    inside = Path(config["docs_dir"]).resolve()

    def shown(link: re.Match[str]) -> str:
        target = (folder / link[2].partition("#")[0]).resolve()
        return link[0] if target.is_relative_to(inside) else link[1]

    return _LINK.sub(shown, markdown)
