"""The judge of a run: reads what clients, replicas and the API server wrote down, and says what was wrong.

It shares no code with the product, and imports nothing but the standard library.
"""

from packages.testing.judge.history import Event, History, read_history
from packages.testing.judge.verdict import judge

__all__ = ["Event", "History", "judge", "read_history"]
