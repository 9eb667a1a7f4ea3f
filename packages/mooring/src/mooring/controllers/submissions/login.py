"""The program that rides out a slow login inside the container, and then becomes the step's own program.

It is handed to Python as it is; every argument of the user's stays an argument, and no shell sees any of them.
"""

from collections.abc import Sequence

from mooring.model.submission import Login

PROGRAM = """\
import os, subprocess, sys, time
attempts, delay, count = (int(text) for text in sys.argv[1:4])
login, work = sys.argv[4 : 4 + count], sys.argv[4 + count :]
for attempt in range(1, attempts + 1):
    try:
        code = subprocess.run(login).returncode
    except OSError as error:
        code = error
    if code == 0:
        os.execvp(work[0], work)
    print(f"login attempt {attempt} of {attempts} failed: {code}", file=sys.stderr, flush=True)
    if attempt < attempts:
        time.sleep(delay)
print(f"no login succeeded in {attempts} attempts: the program was not started", file=sys.stderr, flush=True)
sys.exit(2)
"""


def with_login(login: Login, command: Sequence[str]) -> list[str]:
    """The command line that logs in first: the image needs python3."""
    counts = (login.attempts, login.delay_seconds, len(login.command))
    return ["python3", "-I", "-c", PROGRAM, *map(str, counts), *login.command, *command]
