"""What a session has to have on its worker, and how another worker is brought to it."""

from dataclasses import dataclass, field

from mooring_postgres_gateway.failures import CONNECTION_FAILURE, SessionError
from mooring_postgres_gateway.repetition import Transaction
from mooring_postgres_gateway.statements import Kind, Nature
from mooring_postgres_gateway.streams import MessageStream
from mooring_postgres_gateway.unit import Prepared, Unit
from mooring_postgres_gateway.wire.bodies import IDLE, IN_TRANSACTION, SYNC, parse_error
from mooring_postgres_gateway.wire.frames import Message, encode_text

_MOST_SETTINGS = 100


@dataclass(slots=True)
class SessionState:
    """`pinned`: the session may have objects that only its worker has, so it cannot move to another."""

    prepared: dict[str, Prepared] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    pinned: bool = False

    def holds_more_than(self, statements: int, size: int) -> bool:
        """Whether it has more prepared statements, or longer ones."""
        total = sum(len(known.parse.sql) for known in self.prepared.values())
        return len(self.prepared) > statements or total > size

    def learn(self, unit: Unit, status: bytes, *, in_transaction: bool) -> None:
        """From an exchange that has ended."""
        undone = unit.failed and status == IDLE and not unit.controls_transaction
        if undone:
            return  # its transaction was its own, and is rolled back
        for nature in unit.natures:
            self._learn(nature, failed=unit.failed, in_transaction=in_transaction)

    def _learn(self, nature: Nature, *, failed: bool, in_transaction: bool) -> None:
        if nature.kind is Kind.DISCARD and not failed:
            self.prepared.clear()
            self.settings.clear()
            self.pinned = False
        elif nature.kind is Kind.SETTING:
            self._learn_setting(nature, in_transaction=in_transaction)
        elif nature.kind is Kind.NEUTRAL and nature.text.upper().startswith("DEALLOCATE"):
            self._deallocate(nature.text)
        self.pinned = self.pinned or nature.pins

    def _learn_setting(self, nature: Nature, *, in_transaction: bool) -> None:
        if in_transaction or len(self.settings) >= _MOST_SETTINGS:
            self.pinned = True  # a rollback would undo it, so its value is not known here
        elif nature.setting == "all":
            self.settings.clear()
        else:
            self.settings.pop(nature.setting, None)
            self.settings[nature.setting] = nature.text

    def _deallocate(self, text: str) -> None:
        name = text.split()[-1]
        if name.upper() == "ALL":
            self.prepared.clear()
        self.prepared.pop(name.strip('"') if name.startswith('"') else name.lower(), None)

    async def restore(self, stream: MessageStream, transaction: Transaction) -> None:
        """Bring a new worker to this state. Raises `SessionError` if it does not accept it."""
        queries = list(self.settings.values())
        if transaction.status == IN_TRANSACTION:
            queries.append(transaction.begin or "BEGIN")
        for text in queries:
            await stream.send(Message(b"Q", encode_text(text)))
            await _expect_ready(stream)
        if self.prepared:
            await stream.send_all([*(known.parse.encode() for known in self.prepared.values()), SYNC])
            await _expect_ready(stream)


async def _expect_ready(stream: MessageStream) -> None:
    refusal = ""
    while (message := await stream.read()).kind != b"Z":
        if message.kind == b"E":
            refusal = refusal or parse_error(message.body).get("M", "no reason")
    if refusal:
        raise SessionError(CONNECTION_FAILURE, refusal)
