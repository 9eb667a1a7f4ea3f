"""Waits for one job of the fake GitHub, runs it and exits, as GitHub's runner does with a JIT configuration."""

import base64
import json
import sys
import time
import urllib.error
import urllib.request
from typing import Any

assert sys.argv[1] == "--jitconfig"
CONFIG = json.loads(base64.b64decode(sys.argv[2]))


def call(action: str) -> dict[str, Any]:
    """One request to GitHub's runner service."""
    request = urllib.request.Request(f"{CONFIG['url']}/_runner/{CONFIG['runner']}/{action}", method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def main() -> int:
    """0 after a job; 1 if the runner was removed before it got one."""
    print("Listening for Jobs", flush=True)
    try:
        while not (job := call("take")):
            pass
    except urllib.error.HTTPError as error:
        print(f"the runner was removed: {error}")
        return 1
    print(f"Running job: {job['job']}", flush=True)
    time.sleep(job["seconds"])
    while call("finish").get("wait"):
        time.sleep(0.1)
    print("Job completed with result: Succeeded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
