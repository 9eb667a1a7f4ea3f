"""The kubelet's endpoints on a loopback port, over TLS, for an API server that is another process."""

import ssl
from pathlib import Path
from types import TracebackType

from aiohttp import web

from drydock.streaming.switching import switch_protocols
from drydock.streaming.upgrade import Upgrade
from hawser.transport import Request, Transport


def server_context(certificate: Path, key: Path, client_authority: Path) -> ssl.SSLContext:
    """TLS for the server: only clients with a certificate of that authority may read."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(client_authority))
    context.load_cert_chain(certificate, key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


class KubeletListener:
    """`async with KubeletListener(context) as server:` listens on a free port of 127.0.0.1; `serve` says what answers.

    The port is part of each Node object, so it has to be known before there is a fleet to ask.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._kubelet: Transport | None = None
        self.port = 0

    async def __aenter__(self) -> "KubeletListener":
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._context).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    def serve(self, kubelet: Transport) -> None:
        """From now on, this one answers."""
        self._kubelet = kubelet

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._kubelet is None:
            return web.Response(status=503, text="this node is not ready yet")
        headers = {name.lower(): ",".join(request.headers.getall(name)) for name in request.headers}
        asked = Request(request.method, request.path, tuple(request.query.items()), headers)
        answer = await self._kubelet.send(asked)
        if isinstance(answer, Upgrade):
            return await switch_protocols(request, answer)
        out = web.StreamResponse(status=answer.status, headers=answer.headers)
        out.force_close()  # an idle connection would stay open after us: closing TLS takes the API server's answer
        await out.prepare(request)
        try:
            async for chunk in answer:
                await out.write(chunk)
            await out.write_eof()
        except ConnectionResetError:
            pass  # who followed the log has gone
        finally:
            await answer.close()
        return out
