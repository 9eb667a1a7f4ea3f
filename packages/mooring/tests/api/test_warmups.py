"""Warmups over HTTP, on the cluster of `mooring up`."""

import httpx

from packages.mooring.tests.acceptance.world import Up, until

SPEC = {
    "apiVersion": "mooring.dev/v1alpha1",
    "kind": "Warmup",
    "metadata": {"name": "api-words", "namespace": "default"},
    "spec": {
        "dataset": "api_words",
        "shards": 2,
        "image": "busybox",
        "command": ["/bin/sh", "-c", 'echo "shard $MOORING_SHARD 100%" | tee "$MOORING_SHARD_PATH/words"'],
        "verify": ["/bin/sh", "-c", 'grep -q "shard $MOORING_SHARD" "$MOORING_SHARD_PATH/words"'],
        "localPath": "/cache/api-words",
        "propagationSeconds": 0,
        "placement": {"nodePool": "blast"},
    },
}


def test_a_dataset_is_really_warmed_read_and_warmed_again(up: Up, api: httpx.Client):
    up.kubectl("apply", "-f", "-", body=SPEC)

    def ready() -> bool:
        found = api.get("/v1/warmups/default/api-words")
        return found.status_code == 200 and found.json()["status"]["phase"] == "Ready"

    try:
        until(ready, 60, "the dataset is warm")
        reading = api.get("/v1/warmups/default/api-words").json()
        assert [shard["state"] for shard in reading["status"]["shards"]] == ["done", "done"]
        assert len(reading["warmNodes"]) == 2 and reading["rewarmPending"] is False
        listed = api.get("/v1/warmups").json()
        assert "api-words" in [one["name"] for one in listed["items"]] and listed["total"] == len(listed["items"])
        asked = api.post("/v1/warmups/default/api-words/rewarm", json={"reason": "doubt"})
        assert asked.status_code == 202 and asked.json()["state"] == "pending"

        def warm_again() -> bool:
            status = api.get("/v1/warmups/default/api-words").json()["status"]
            return (status["rewarm"] or {}).get("id") == asked.json()["id"] and status["phase"] == "Ready"

        until(warm_again, 60, "the dataset is warm again")
        closed = api.post("/v1/warmups/default/api-words/close-circuit")
        assert closed.status_code == 202
        rows = api.get("/v1/audit", params={"actor": "operator", "action": "rewarm", "name": "api-words"}).json()[
            "items"
        ]
        assert rows[0]["name"] == "api-words" and rows[0]["reason"] == "doubt"
    finally:
        up.kubectl("delete", "warmup", "api-words", "-n", "default")


def test_a_dataset_that_is_not_there_is_a_404_that_names_those_that_are(api: httpx.Client):
    for answer in (api.get("/v1/warmups/default/nothing"), api.post("/v1/warmups/default/nothing/rewarm")):
        assert answer.status_code == 404
        assert "there is no warmup default/nothing" in answer.json()["message"]
