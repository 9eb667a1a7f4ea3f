"""The agent of a notebook worker: polls Mooring and starts each user's server from preloaded modules.

    python -m mooring_jupyterhub.agent [--url URL] [--ca FILE] [--token-file FILE] [--port 8000]

Options and exit codes are those of `mooring.client.worker`. It polls, and is healthy, once the modules are imported.
"""

from hawser.clock import Entropy, SystemClock
from mooring.client.sessions import Session, SessionRun
from mooring.client.worker import AgentOptions, WorkerAgent, run_agent, run_process
from mooring_jupyterhub.notebook import Host, NotebookRun, Preloader


class NotebookAgent(WorkerAgent):
    """One worker that runs one user's server at a time."""

    def __init__(self, options: AgentOptions, host: Host, entropy: Entropy) -> None:
        super().__init__(options, host.clock, entropy)
        self._host = host

    def open_session(self, session: Session) -> SessionRun:
        """The server of a user."""
        return NotebookRun(session, self._host)


async def serve(options: AgentOptions, address: str, port: int) -> int:
    """Preload, then serve sessions; returns the exit code of the process."""
    preloader = await Preloader.start()
    try:
        host = Host(address, SystemClock(), preloader)
        return await run_agent(NotebookAgent(options, host, Entropy()), address, port)
    finally:
        await preloader.close()


def main() -> None:
    """Run the agent in this process."""
    run_process(serve)


if __name__ == "__main__":
    main()
