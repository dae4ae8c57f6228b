"""A project's Namespace is deleted while its names are published: it goes all the same, and so do the
names, or an Event says which of them stay."""

import pytest

from harness import wait_until
from intent_site import SLOW_S, Site, answers, install_kinds
from operators import Operator


@pytest.fixture(scope="module", name="intent_kinds")
def with_kinds(cluster):
    return install_kinds(cluster)


@pytest.fixture
def site(intent_kinds, namespace, programs, name_servers, tmp_path):
    """The operator's own namespace is another one."""
    project = intent_kinds.new_namespace()
    made = Site(programs, intent_kinds, project, name_servers("knot"), tmp_path)
    made.operator = Operator(programs, intent_kinds, namespace, watched=[project],
                             account=intent_kinds.operator(namespace, "--controllers", "intent"))
    yield made
    for replica in made.operator.replicas:
        replica.program.kill()
    made.kubelet.end()
    for kind in ("DNSPublication", "DNSUpdateRecord"):
        for found in made.api.list(kind, project):
            made.api.merge(kind, found["metadata"]["name"], project,
                           {"metadata": {"finalizers": None}})
    if made.api.get("Namespace", project):
        intent_kinds.remove_namespace(project)


def notes(site):
    """What Events of the Namespace say of the publication."""
    return [found["note"] for found in site.api.list("Event", "default")
            if found.get("regarding", {}).get("kind") == "Namespace"
            and found["regarding"]["name"] == site.namespace
            and found.get("related", {}).get("kind") == "DNSPublication"]


@pytest.mark.parametrize("engine", ["native", "external-dns"])
@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
def test_a_namespace_goes_with_its_names_or_says_which_stay(site, engine, restarted):
    site.start(engine=engine)
    name = site.namespace
    site.publish("shop", name)
    site.wait_publication("shop", lambda status: status["state"] == "Instantiated", "it is out")
    site.wait_name(name, ["198.51.100.7"])
    if restarted:
        for replica in site.operator.replicas:
            replica.program.kill()
    site.api.ask("DELETE", f"/api/v1/namespaces/{name}")
    if restarted:
        wait_until(lambda: not site.api.list("Secret", name), "the key is gone", SLOW_S)
        site.operator.start(*site.words)
    wait_until(lambda: not site.api.get("Namespace", name),
               lambda: f"the namespace is gone, not {site.api.get('Namespace', name)['status']}",
               2 * SLOW_S, site.programs())
    wait_until(lambda: not answers(site.server, name, "A") or
               any(f"{name}.{site.server.zone}" in note for note in notes(site)),
               lambda: f"the name is gone, or told: {notes(site)}", SLOW_S, site.programs())
    assert engine == "external-dns" or restarted or not answers(site.server, name, "A")
