"""Documents of services on a stage. There are no sockets in virtual time, so answers are given by address."""

from collections.abc import Callable

import msgspec

from mooring.controllers.services.document import Question, read_answer
from mooring.model.service_observations import Answer, Outcome

_TITLED = {
    "openapi": "3.1.0",
    "info": {"title": "Staged", "version": "1"},
    "paths": {"/things": {"get": {"summary": "All things", "responses": {"200": {"description": "things"}}}}},
}
DOCUMENT = read_answer(msgspec.json.encode(_TITLED))


class StagedDocuments:
    """Every service answers `DOCUMENT` at `/openapi.json` on the ports of `listens`, unless a play changes that."""

    def __init__(self) -> None:
        self.listens: frozenset[int] = frozenset({8080})
        self.pages: dict[str, Answer] = {"/openapi.json": DOCUMENT}
        self.asked: list[str] = []
        self.answers: Callable[[Question], Answer | None] = lambda _: None  # decided by the play

    async def ask(self, question: Question) -> Answer:
        """The answer of the service."""
        self.asked.append(question.url)
        if (answer := self.answers(question)) is not None:
            return answer
        if question.port not in self.listens:
            return Answer(Outcome.NOBODY_LISTENS, "the connection was refused")
        return self.pages.get(question.path, Answer(Outcome.BAD_STATUS, "answered 404", 404))

    async def close(self) -> None:
        return None
