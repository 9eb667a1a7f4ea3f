"""A settled fleet leaves its cluster alone. On the sandbox the same is counted at the door (test_existing_cluster)."""

import re
import time

import pytest

from packages.mooring.tests.acceptance.world import Up, shared_up, until

pytestmark = [pytest.mark.slow, pytest.mark.kubernetes]

QUIET_SECONDS = 20
KINDS = ("pods", "workerpools", "serviceaccounts")
WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")
_REQUESTS = re.compile(r"^apiserver_request_total\{(?P<labels>[^}]*)\} (?P<count>\d+)", re.MULTILINE)


def versions(up: Up) -> dict[str, str]:
    """Every object of the fleet and its last write."""
    found = [(item["kind"], item["metadata"]) for item in up.objects(",".join(KINDS), "-A")]
    return {f"{kind} {meta['name']} {meta['uid']}": meta["resourceVersion"] for kind, meta in found}


def writes(up: Up) -> dict[str, int]:
    """Every request for a change that the API server counted, those without effect included."""
    counted: dict[str, int] = {}
    for found in _REQUESTS.finditer(up.kubectl("get", "--raw", "/metrics").out):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', found["labels"]))
        if labels["resource"] in KINDS and labels["verb"] in WRITES:
            counted[found["labels"]] = int(found["count"])
    return counted


def test_a_real_api_server_counts_no_write_of_a_settled_fleet(request: pytest.FixtureRequest):
    up = shared_up(request.config, "kubernetes")
    up.until_settled("runners/linux", 8)
    up.until_settled("queries/duck", 4)
    until(
        lambda: all(one["status"]["phase"] == "Succeeded" for one in up.get("/v1/submissions")["items"]),
        90,
        "the search is over",
    )
    changes = changes_while_watching(up)
    if changes:  # what earlier tests set in motion may have been coming to rest
        changes = changes_while_watching(up)
    assert changes == set()


def changes_while_watching(up: Up) -> set[tuple[str, str | int]]:
    """Objects whose version and requests whose count were not the same before and after."""
    objects, counts = versions(up), writes(up)
    assert len(objects) > 14 and counts, "the fleet and its creates were seen"
    time.sleep(QUIET_SECONDS)
    return (versions(up).items() ^ objects.items()) | (writes(up).items() ^ counts.items())
