"""What our code and the model of an API server take for granted, as real servers of two minors
answer it: today's, and the oldest that we support, whose lists do not stream."""

import time

import pytest

import api
import build
import clusters
import harness
from clusters import rule
from harness import wait_until

MINORS = [pytest.param(build.CURRENT, id="current"), pytest.param(build.OLDER, id="older")]
STREAMING = {"watch": "1", "sendInitialEvents": "true", "allowWatchBookmarks": "true"}


@pytest.fixture(scope="module", params=MINORS)
def server(request, tmp_path_factory):
    """A cluster with CRDs and 30 records in the namespace default."""
    made = clusters.Cluster(tmp_path_factory.mktemp("c"), minor=request.param)
    try:
        made.start().install_crds()
        for number in range(30):
            made.api.create(record(f"r{number:02}"))
        yield made
    finally:
        made.end()


def record(name, namespace="default"):
    text = harness.record_text(name, "A", name, ["192.0.2.1"])
    return api.documents(text, namespace)[0]


def records(**query):
    return api.path("DNSRecord", "default", **query)


def version(server):
    return server.api.want("GET", records(limit=1))["metadata"]["resourceVersion"]


def version_of(server, name):
    return server.api.get("DNSRecord", name, "default")["metadata"]["resourceVersion"]


def page(name, text="one"):
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": {"ledger.json": text},
            "metadata": {"name": name, "namespace": "default", "labels": {"example.org/of": "a"}}}


def put_page(server, name, seen, text):
    return server.api.ask("PATCH", api.path("ConfigMap", "default", name),
                          {"metadata": {"resourceVersion": seen}, "data": {"ledger.json": text}},
                          content_type=api.PATCHES["merge"])


def drop_page(server, name, seen):
    return server.api.ask("DELETE", api.path("ConfigMap", "default", name),
                          {"apiVersion": "v1", "kind": "DeleteOptions",
                           "preconditions": {"resourceVersion": seen}})


def test_a_config_map_is_patched_and_deleted_in_the_version_that_was_seen_alone(server):
    first = server.api.create(page("guarded"))["metadata"]["resourceVersion"]
    again = server.api.ask("POST", api.path("ConfigMap", "default"), page("guarded"))
    assert (again.status, again.json["reason"]) == (409, "AlreadyExists")
    second = put_page(server, "guarded", first, "two").json["metadata"]["resourceVersion"]
    assert second != first
    stale = put_page(server, "guarded", first, "three")
    assert (stale.status, stale.json["reason"]) == (409, "Conflict")
    assert drop_page(server, "guarded", first).status == 409
    assert drop_page(server, "guarded", second).status == 200
    assert drop_page(server, "guarded", second).status == 404
    assert put_page(server, "guarded", second, "four").status == 404


def test_config_maps_of_a_label_are_listed_in_parts(server):
    for number in range(3):
        server.api.create(page(f"part-{number}"))
    query = {"limit": 2, "labelSelector": "example.org/of=a"}
    first = server.api.want("GET", api.path("ConfigMap", "default", **query))
    rest = server.api.want("GET", api.path("ConfigMap", "default", **query,
                                           **{"continue": first["metadata"]["continue"]}))
    assert [item["metadata"]["name"] for item in first["items"] + rest["items"]] == [
        "part-0", "part-1", "part-2"]
    assert not rest["metadata"].get("continue")


def test_a_watch_from_long_ago_gets_410_as_an_event(server):
    event = next(server.api.watch(records(watch="1", resourceVersion="1")))
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


def test_a_streaming_list_ends_with_a_marked_bookmark_or_is_refused(server):
    target = records(resourceVersionMatch="NotOlderThan", **STREAMING)
    if server.minor is build.OLDER:
        reply = server.api.ask("GET", target)
        assert reply.status == 422
        assert reply.json["details"]["causes"][0]["field"] == "sendInitialEvents"
        return
    names = []
    for event in server.api.watch(target):
        if event["type"] == "BOOKMARK":
            break
        assert event["type"] == "ADDED"
        names.append(event["object"]["metadata"]["name"])
    assert sorted(names) == [f"r{number:02}" for number in range(30)]
    marks = event["object"]["metadata"]["annotations"]
    assert marks == {"k8s.io/initial-events-end": "true"}


def test_a_streaming_list_needs_the_match(server):
    reply = server.api.ask("GET", records(**STREAMING))
    assert reply.status == 422


def test_pages_hang_together_by_their_token_alone(server):
    first = server.api.want("GET", records(limit=20))
    token = first["metadata"]["continue"]
    assert (len(first["items"]), first["metadata"]["remainingItemCount"]) == (20, 10)
    rest = server.api.want("GET", records(**{"limit": 20, "continue": token}))
    assert len(rest["items"]) == 10
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert not rest["metadata"]["continue"]
    both = {"limit": 20, "continue": token, "resourceVersion": version(server)}
    assert server.api.ask("GET", records(**both)).status == 400
    assert server.api.ask("GET", records(**{"continue": "nonsense"})).status == 400


def test_the_cache_ignores_limits(server):
    assert len(server.api.want("GET", records(limit=1, resourceVersion="0"))["items"]) == 30


def test_a_version_from_the_future_is_told_after_a_while(server):
    future = str(int(version(server)) + 1_000_000)
    started = time.monotonic()
    reply = server.api.ask("GET", records(resourceVersion=future))
    assert time.monotonic() - started > 2
    assert (reply.status, reply.json["reason"]) == (504, "Timeout")
    assert reply.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_a_write_against_an_old_version_is_a_conflict(server):
    old = server.api.get("DNSRecord", "r00", "default")
    server.api.merge("DNSRecord", "r00", "default", {"metadata": {"labels": {"a": "b"}}})
    reply = server.api.ask("PUT", api.path("DNSRecord", "default", "r00"), old)
    assert (reply.status, reply.json["reason"]) == (409, "Conflict")


def test_a_patch_that_changes_nothing_leaves_the_version(server):
    patch = {"metadata": {"labels": {"c": "d"}}}
    one = server.api.merge("DNSRecord", "r01", "default", patch)
    two = server.api.merge("DNSRecord", "r01", "default", patch)
    assert one["metadata"]["resourceVersion"] == two["metadata"]["resourceVersion"]


OTHER_UID = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize("name,method,content_type,status,text", [
    ("absent", "PATCH", api.PATCHES["apply"], 409, "uid mismatch"),
    ("r02", "PATCH", api.PATCHES["apply"], 422, "metadata.uid: Invalid value"),
    ("r02", "PATCH", api.PATCHES["merge"], 422, "metadata.uid: Invalid value"),
    ("r02", "PUT", "application/json", 409, "Precondition failed: UID")])
def test_a_write_with_another_uid_is_refused(server, name, method, content_type, status, text):
    document = record(name)
    document["metadata"]["uid"] = OTHER_UID
    more = {"fieldManager": "x", "force": "true"} if content_type == api.PATCHES["apply"] else {}
    if method == "PUT":
        document["metadata"]["resourceVersion"] = version_of(server, name)
    reply = server.api.ask(method, api.path("DNSRecord", "default", name, **more), document,
                           content_type=content_type)
    assert reply.status == status, reply
    assert text in reply.json["message"]


def test_a_deletion_with_another_uid_is_a_conflict(server):
    reply = server.api.ask("DELETE", api.path("DNSRecord", "default", "r02"),
                           {"preconditions": {"uid": OTHER_UID}})
    assert (reply.status, reply.json["reason"]) == (409, "Conflict")


def test_a_field_that_the_schema_has_not_is_dropped_by_a_merge(server):
    target = api.path("DNSRecord", "default", "r03", "status")
    reply = server.api.ask("PATCH", target, {"status": {"unheardOf": 1}},
                           content_type=api.PATCHES["merge"])
    assert reply.status == 200
    assert "unheardOf" not in reply.json.get("status", {})
    assert reply.headers["Warning"] == r'299 - "unknown field \"status.unheardOf\""'


def test_a_field_that_the_schema_has_not_ends_an_apply(server):
    document = {**record("r03"), "status": {"unheardOf": 1}}
    target = api.path("DNSRecord", "default", "r03", "status", fieldManager="x", force="true")
    reply = server.api.ask("PATCH", target, document, content_type=api.PATCHES["apply"])
    assert reply.status == 500
    assert "field not declared in schema" in reply.json["message"]


def test_a_token_lives_for_ten_minutes_at_least(server):
    account = server.account("default", "short")
    target = api.path("ServiceAccount", "default", "short", "token")
    reply = server.api.ask("POST", target, {"spec": {"expirationSeconds": 599}})
    assert reply.status == 422
    assert account.new_token(600)


def test_owned_children_come_as_metadata_alone(server):
    accept = ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
              "application/json")
    found = server.api.want("GET", records(limit=1), accept=accept)
    assert found["kind"] == "PartialObjectMetadataList"
    assert "spec" not in found["items"][0]
    assert found["items"][0]["metadata"]["uid"]


def test_a_watch_by_name_needs_the_field_selector(server):
    account = server.account("default", "by-name")
    account.set_rules([rule("dnsrecords", "list", "watch", names=["r04"])], namespace="default")
    assert account.api.ask("GET", records()).status == 403
    selected = records(fieldSelector="metadata.name=r04")
    names = [item["metadata"]["name"] for item in account.api.want("GET", selected)["items"]]
    assert names == ["r04"]


def test_a_restart_expires_all_versions(own_cluster):
    cluster = own_cluster().start().install_crds()
    cluster.api.create(record("one"))
    before = version(cluster)
    cluster.api.create(record("two"))
    cluster.kill().start()
    event = next(cluster.api.watch(records(watch="1", resourceVersion=before)))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_compaction_ends_a_list_of_pages(own_cluster):
    cluster = own_cluster(flags=["--etcd-compaction-interval=1s"]).start().install_crds()
    for number in range(3):
        cluster.api.create(record(f"r{number}"))
    token = cluster.api.want("GET", records(limit=1))["metadata"]["continue"]

    def has_expired():
        cluster.api.merge("DNSRecord", "r0", "default", {"metadata": {"labels": {
            "at": str(time.time_ns())}}})
        reply = cluster.api.ask("GET", records(**{"limit": 1, "continue": token}))
        return reply.status == 410 and reply.json
    told = wait_until(has_expired, "the token has expired", 60)
    assert told["reason"] == "Expired"
    assert told["metadata"]["continue"] != token
