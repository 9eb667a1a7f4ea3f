"""A login with a token that the cluster makes for a ServiceAccount."""

import json

from packages.mooring.tests.acceptance.world import Up


def test_an_account_of_the_cluster_logs_in_and_is_judged_by_its_roles(up: Up, tmp_path):
    up.kubectl("create", "serviceaccount", "caller")
    own = {"KUBECONFIG": str(up.kubeconfig), "XDG_CONFIG_HOME": str(tmp_path)}
    done = up.command("login", "--service-account", "default/caller", "--url", up.url, **own)
    assert (done.code, "system:serviceaccount:default:caller" in done.out) == (0, True), done.err
    token = json.loads((tmp_path / "mooring" / "login.json").read_text())["token"]
    who = json.loads(up.command("whoami", "-o", "json", "--token", token).out)
    assert (who["via"], who["owner"], who["namespaces"]) == ("kubernetes", "default.caller", [])
    assert json.loads(up.command("pools", "-o", "json", "--token", token).out)["items"] == []
    refused = up.command("pause", "adopted", "--yes", "--token", token)
    assert refused.code == 4 and "may not list invariants.mooring.dev" in refused.err
