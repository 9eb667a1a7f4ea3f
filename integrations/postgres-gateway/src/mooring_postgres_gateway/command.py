"""`mooring-postgres-gateway`: serve, write a key, print a user's verifier."""

import argparse
import asyncio
import getpass
import logging
import signal
import sys
from pathlib import Path

from hawser.clock import Entropy
from mooring.client.aio import AsyncMooring
from mooring.model.errors import MooringError
from mooring_postgres_gateway.directory import Directory
from mooring_postgres_gateway.gateway import Gateway, GatewayLimits
from mooring_postgres_gateway.handshake import Handshake
from mooring_postgres_gateway.link import Claims
from mooring_postgres_gateway.proof import encode_public_key, load_private_key, write_private_key
from mooring_postgres_gateway.scram import make_verifier
from mooring_postgres_gateway.tls import TlsFiles


def main() -> None:
    """The commands."""
    given = _parser().parse_args()
    try:
        if given.command == "serve":
            asyncio.run(_serve(given))
        elif given.command == "key":
            print(encode_public_key(write_private_key(given.file)))
        else:
            print(make_user(given.name, _ask_password()), end="")
    except (MooringError, ValueError) as error:
        sys.exit(f"mooring-postgres-gateway: {error}")


def make_user(name: str, password: str) -> str:
    """The lines of a user for the file."""
    verifier = make_verifier(password, bytes.fromhex(Entropy().token(16)))
    return f'[users.{name}]\nverifier = "{verifier.encode()}"\n'


def _ask_password() -> str:
    return getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mooring-postgres-gateway", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve the PostgreSQL protocol")
    serve.add_argument("--directory", type=Path, required=True, help="TOML file with users and databases")
    serve.add_argument("--key", type=Path, required=True, help="private key that proves claims to workers")
    serve.add_argument("--address", default="127.0.0.1", help="address to listen on")
    serve.add_argument("--port", type=int, default=6432)
    serve.add_argument("--certificate", type=Path, help="PEM file; enables TLS")
    serve.add_argument("--certificate-key", type=Path, help="PEM file")
    serve.add_argument("--require-tls", action="store_true", help="refuse clients without TLS")
    serve.add_argument("--state", type=Path, help="state folder of `mooring up`; else MOORING_URL, MOORING_TOKEN")
    serve.add_argument("--drain-seconds", type=float, default=600.0, help="for running statements, after SIGTERM")
    serve.add_argument("--max-connections", type=int, default=GatewayLimits().connections)
    key = commands.add_parser("key", help="write a private key and print its public key")
    key.add_argument("file", type=Path)
    user = commands.add_parser("user", help="read a password and print the lines of a user")
    user.add_argument("name")
    return parser


def build_gateway(given: argparse.Namespace) -> Gateway:
    """From the options of `serve`."""
    if bool(given.certificate) != bool(given.certificate_key) or (given.require_tls and not given.certificate):
        raise ValueError("--certificate, --certificate-key: TLS needs both")
    entropy = Entropy()
    tls = TlsFiles(given.certificate, given.certificate_key) if given.certificate else None
    handshake = Handshake(Directory(given.directory), tls, entropy, require_tls=given.require_tls)
    claims = Claims(AsyncMooring(state=given.state), load_private_key(given.key))
    return Gateway(handshake, claims, entropy, GatewayLimits(connections=given.max_connections))


async def _serve(given: argparse.Namespace) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    gateway = build_gateway(given)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    port = await gateway.listen(given.address, given.port)
    print(f"listens at {given.address}:{port}", flush=True)
    await stopped.wait()
    await gateway.drain(given.drain_seconds)


if __name__ == "__main__":
    main()
