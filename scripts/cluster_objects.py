#!/usr/bin/python3
"""scripts/cluster_objects.py KUBECONFIG ready: exit 0 when the API server is ready.
scripts/cluster_objects.py KUBECONFIG apply FILE...: applies the objects of YAML files as `kubectl apply
--server-side` does, also those whose definition was applied a moment ago; objects without a namespace
go into the one that the kubeconfig names. The first that is refused ends it: exit 1 and the reason.

Debian has no kubectl that fits a present API server, and scripts/run-cluster needs no more than this."""

import http.client
import json
import pathlib
import ssl
import sys
import time
import urllib.parse

import yaml

SERVED_S = 30  # how long a kind may take to be served after its definition was applied
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Refused(Exception):
    pass


class Cluster:
    """Where a kubeconfig leads that has a CA file and a token."""

    def __init__(self, path):
        config = yaml.load(pathlib.Path(path).read_text(), LOADER)
        context = config["contexts"][0]["context"]
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.namespace = context.get("namespace", "default")
        self.url = urllib.parse.urlsplit(cluster["server"])
        self.ca = cluster["certificate-authority"]
        self.headers = {"Authorization": f"Bearer {user['token']}"}
        self.resources = {}

    def ask(self, method, path, body=None, content_type="application/json"):
        """(status, text)."""
        connection = http.client.HTTPSConnection(
            self.url.hostname, self.url.port, timeout=30,
            context=ssl.create_default_context(cafile=self.ca))
        try:
            connection.request(method, path, body, {**self.headers, "Content-Type": content_type})
            reply = connection.getresponse()
            return reply.status, reply.read().decode(errors="replace")
        finally:
            connection.close()

    def find(self, version, kind):
        """(path, is it namespaced) of a kind; None: it is not served."""
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if (version, kind) not in self.resources:
            status, text = self.ask("GET", base)
            for row in json.loads(text)["resources"] if status == 200 else ():
                if "/" not in row["name"]:
                    self.resources[version, row["kind"]] = (f"{base}%s/{row['name']}",
                                                            row["namespaced"])
        return self.resources.get((version, kind))

    def apply(self, document):
        """Returns what kubectl would call it."""
        meta = document["metadata"]
        end = time.monotonic() + SERVED_S
        while True:
            found = self.find(document["apiVersion"], document["kind"])
            status, text = self.patch(document, *found) if found else (404, "")
            if status != 404 or time.monotonic() > end:
                break
            time.sleep(0.1)
        if not 200 <= status < 300:
            raise Refused(f"{document['kind']} {meta['name']}: " +
                          (json.loads(text)["message"] if text else "no such kind"))
        return f"{document['kind'].lower()}/{meta['name']}"

    def patch(self, document, path, is_namespaced):
        meta = document["metadata"]
        place = f"/namespaces/{meta.get('namespace', self.namespace)}" if is_namespaced else ""
        return self.ask("PATCH", f"{path % place}/{meta['name']}?fieldManager=quickstart&force=true",
                        json.dumps(document), "application/apply-patch+yaml")


def is_ready(cluster):
    try:
        return cluster.ask("GET", "/readyz") == (200, "ok")
    except OSError:
        return False


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("ready", "apply"):
        sys.exit(__doc__)
    cluster = Cluster(sys.argv[1])
    if sys.argv[2] == "ready":
        sys.exit(0 if is_ready(cluster) else 1)
    for path in sys.argv[3:]:
        for document in filter(None, yaml.load_all(pathlib.Path(path).read_text(), LOADER)):
            try:
                print(f"{cluster.apply(document)} serverside-applied", flush=True)
            except Refused as error:
                sys.exit(f"{path}: {error}")


if __name__ == "__main__":
    main()
