"""CoreDNS for a cluster without kubelets: Pods that answer which Corefile they have loaded."""

import re
import socket
import threading

OWN = {"dns.operator.openshift.io/daemonset-dns": "default"}
KUBE_DNS = {"k8s-app": "kube-dns"}
ID = re.compile(r"signpost-[0-9a-f]{16}")


class Pod:
    """Answers version.bind (CH TXT) with the id in the text that it was given last."""

    def __init__(self, cluster, namespace, name, address, port, labels):
        self.cluster, self.namespace, self.name = cluster, namespace, name
        self.text = None  # None: silent
        self.asked = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, port))
        threading.Thread(target=self.answer, daemon=True).start()
        cluster.api.apply_pod({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {"containers": [{"name": "dns", "image": "coredns"}],
                     "automountServiceAccountToken": False}})
        self.patch({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
                    "conditions": [{"type": "Ready", "status": "True"}]})

    def patch(self, status):
        self.cluster.api.merge("Pod", self.name, self.namespace, {"status": status}, sub="status")

    def load(self, text):
        self.text = text

    def answer(self):
        while True:
            try:
                query, client = self.socket.recvfrom(512)
            except OSError:
                return
            self.asked += 1
            if self.text is None:
                continue
            found = ID.search(self.text)
            answer = (found.group(0) if found else "CoreDNS").encode()
            self.socket.sendto(query[:2] + b"\x84\0\0\1\0\1\0\0\0\0" + query[12:] +
                               b"\xc0\x0c\0\x10\0\3\0\0\0\0\0" +
                               bytes([len(answer) + 1, len(answer)]) + answer, client)

    def end(self):
        self.socket.close()
        self.cluster.api.delete("Pod", self.name, self.namespace)
