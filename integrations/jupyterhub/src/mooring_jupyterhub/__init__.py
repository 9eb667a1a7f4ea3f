"""A JupyterHub spawner that starts notebook servers on warm Mooring workers, and the agent of these workers.

The hub's side is `spawner`, the worker's side is `agent`. Must not know: the server's rooms; both use Mooring's SDK.
"""

from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"  # for `JupyterHub.template_paths`
