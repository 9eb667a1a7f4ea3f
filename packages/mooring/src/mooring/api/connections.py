"""How many connections may be open: of one address, and in all.

At a limit, the connection that has waited longest for its client makes room. So a client that opens many and sends
nothing, or sends slowly, keeps nobody out. A new connection is refused only while all others have requests under way.
"""

import resource
from collections import Counter
from collections.abc import Callable

from mooring.api.limits import LimitOptions
from mooring.api.metrics import CONNECTIONS, REQUESTS_REFUSED

RESERVED_DESCRIPTORS = 512  # for the database, the Kubernetes API, health checks (256 at once), mints and files


class Connection:
    """An open connection. It waits for its client, except while a request that has arrived is answered."""

    __slots__ = ("_connections", "address", "close")

    def __init__(self, connections: "Connections", address: str, close: Callable[[], object]) -> None:
        self._connections = connections
        self.address = address
        self.close = close  # at once, without an answer

    def answering(self) -> None:
        """A whole request has arrived."""
        self._connections.waiting.pop(self, None)

    def waiting(self) -> None:
        """It has been answered."""
        if self in self._connections.open:
            self._connections.waiting.setdefault(self)

    def ended(self) -> None:
        """It is closed. More than once is the same as once."""
        self._connections.forget(self)


class Connections:
    """All of one replica, over all its listeners."""

    def __init__(self, limits: LimitOptions) -> None:
        self._each = limits.connections_each
        self._most = limits.connections
        self._of: Counter[str] = Counter()
        self.open: set[Connection] = set()
        self.waiting: dict[Connection, None] = {}  # the longest first

    def admit(self, address: str, close: Callable[[], object]) -> Connection | None:
        """A new connection, or None if there is no room for it."""
        if not self._has_room(address):
            REQUESTS_REFUSED.labels("connections").inc()
            return None
        connection = Connection(self, address, close)
        self.open.add(connection)
        self.waiting[connection] = None
        self._of[address] += 1
        CONNECTIONS.set(len(self.open))
        return connection

    def _has_room(self, address: str) -> bool:
        if self._of[address] >= self._each:
            return self.close_longest_waiting(address)
        return len(self.open) < self._most or self.close_longest_waiting()

    def close_longest_waiting(self, address: str = "") -> bool:
        """Close one of this address, or of any. False if all have requests under way."""
        found = next((one for one in self.waiting if not address or one.address == address), None)
        if found is None:
            return False
        REQUESTS_REFUSED.labels("connections").inc()
        found.ended()
        found.close()
        return True

    def forget(self, connection: Connection) -> None:
        """Stop counting a connection that is closed, or is being closed."""
        if connection not in self.open:
            return
        self.open.remove(connection)
        self.waiting.pop(connection, None)
        self._of[connection.address] -= 1
        if not self._of[connection.address]:
            del self._of[connection.address]
        CONNECTIONS.set(len(self.open))


def allow_descriptors(connections: int) -> int:
    """Raise this process's limit of open files as far as needed; how many connections fit under it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVED_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    room = connections if soft == resource.RLIM_INFINITY else soft - RESERVED_DESCRIPTORS
    return max(1, min(connections, room))
