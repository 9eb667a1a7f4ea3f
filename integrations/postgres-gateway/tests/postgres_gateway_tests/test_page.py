"""The commands and the file of docs/how-to/postgres.md, in a folder of one's own."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from packages.mooring.tests.acceptance.world import clean_environment
from packages.mooring.tests.certificates import TestAuthority

pytestmark = [pytest.mark.slow, pytest.mark.realtime]

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "postgres.md"


def block(language: str, begin: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    [text] = (text for text in found if text.startswith(begin))
    return text


def test_a_gateway_starts_as_the_page_says_and_refuses_what_its_file_does_not_know(tmp_path):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**clean_environment(), "PATH": path, "MOORING_URL": "http://127.0.0.1:1", "MOORING_TOKEN": "x"}

    def shell(line: str, given: str = "") -> str:
        done = subprocess.run(
            ["bash", "-euc", line], cwd=tmp_path, env=environment, input=given, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert shell(block("sh", "mooring-postgres-gateway key")).strip()
    toml = block("toml", "[users.ada]")
    [user] = re.findall(r"printed by: (mooring-postgres-gateway user \S+)", toml)
    _, databases = toml.split("\n\n")
    (tmp_path / "directory.toml").write_text(shell(user, "secret\n") + databases)
    authority = TestAuthority()
    authority.issue().write(tmp_path)
    serve = block("sh", "mooring-postgres-gateway serve").replace("0.0.0.0", "127.0.0.1").strip()
    command = ["bash", "-euc", f"exec {serve} --port 0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as gateway:
        try:
            found = re.match(r"listens at 127.0.0.1:(\d+)", gateway.stdout.readline())
            asyncio.run(refused(int(found[1])))
        finally:
            gateway.send_signal(signal.SIGTERM)
            gateway.communicate(timeout=30)
    assert gateway.returncode == 0


async def refused(port: int) -> None:
    for ssl, password in (("require", "wrong"), ("disable", "secret")):
        with pytest.raises(asyncpg.PostgresError):
            await asyncpg.connect(
                host="127.0.0.1", port=port, user="ada", database="sales", password=password, ssl=ssl, timeout=10
            )
    right = await asyncpg.connect(
        host="127.0.0.1", port=port, user="ada", database="sales", password="secret", ssl="require", timeout=10
    )
    await right.close()
