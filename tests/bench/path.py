"""A network path to an API server that can fall silent: a network namespace, a pair of interfaces,
and a relay at the near end."""

import os
import socket
import subprocess
import threading

from harness import LOOPBACK

OCTETS = 1 << 16


class Path:
    """Programs started with `before` reach the server at `url`, until freeze()."""

    def __init__(self, port):
        number = os.getpid() % 250
        self.name = f"signpost{number}"
        self.near, self.far = f"10.213.{number}.1", f"10.213.{number}.2"
        self.port = port
        self.before = ["ip", "netns", "exec", self.name]
        self.make()
        self.listener = socket.create_server((self.near, 0))
        self.url = f"https://{self.near}:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def make(self):
        ip("netns", "add", self.name)
        ip("link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("addr", "add", f"{self.near}/30", "dev", self.name)
        ip("link", "set", self.name, "up")
        inside = ["-n", self.name]
        ip(*inside, "addr", "add", f"{self.far}/30", "dev", "eth0")
        ip(*inside, "link", "set", "eth0", "up")
        ip(*inside, "link", "set", "lo", "up")

    def freeze(self):
        """What is sent to the far end goes nowhere; nobody is told."""
        ip("route", "add", "blackhole", f"{self.far}/32")

    def end(self):
        subprocess.run(["ip", "route", "del", "blackhole", f"{self.far}/32"], check=False,
                       capture_output=True)
        ip("netns", "del", self.name)
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection((LOOPBACK, self.port))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=relay, args=ends, daemon=True).start()


def relay(source, sink):
    try:
        while octets := source.recv(OCTETS):
            sink.sendall(octets)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def ip(*words):
    subprocess.run(["ip", *words], check=True)
