"""A network and a /etc/resolv.conf of its own: ports that others have, too, and loopback alone, until
it is linked to another one."""

import contextlib
import ctypes
import socket
import subprocess
import threading

CLONE_NEWNET = 0x40000000
PIECE = 1 << 16
_libc = ctypes.CDLL(None, use_errno=True)


class Netns:
    """Programs within it are started with `within`; it ends with `end`. `script` is run in it first."""

    def __init__(self, folder, resolver="127.0.0.53", script="true"):
        (folder / "resolv.conf").write_text(f"nameserver {resolver}\n")
        script = (f"ip link set lo up && mount --bind {folder}/resolv.conf /etc/resolv.conf && "
                  f"{script} && echo up && exec sleep infinity")
        self.holder = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net",
                                        "--mount", "sh", "-c", script],
                                       stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "up\n"
        self.within = ["nsenter", "-t", str(self.holder.pid), "--net", "--mount", "--"]

    def run(self, *words):
        """A command to its end, which must be a good one."""
        done = subprocess.run([*self.within, *map(str, words)], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, f"{words}: {done.stderr}"

    def add_addresses(self, *addresses):
        for address in addresses:
            self.run("ip", "address", "add", f"{address}/32", "dev", "lo")

    def link(self, name, other, own_address, address):
        """A cable to `other`, which reaches this network at own_address, has the address given at
        its own end, and sends all else through here."""
        self.run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns",
                 other.holder.pid)
        self.run("ip", "address", "add", own_address, "peer", address, "dev", name)
        self.run("ip", "link", "set", name, "up")
        other.run("ip", "address", "add", address, "peer", own_address, "dev", "eth0")
        other.run("ip", "link", "set", "eth0", "up")
        other.run("ip", "route", "add", "default", "via", own_address)

    @contextlib.contextmanager
    def entered(self):
        """While this lasts, sockets that this thread makes are in this network, and stay there."""
        with open("/proc/thread-self/ns/net", encoding="ascii") as before, \
                open(f"/proc/{self.holder.pid}/ns/net", encoding="ascii") as there:
            _enter(there)
            try:
                yield self
            finally:
                _enter(before)

    def socket(self, kind=socket.SOCK_STREAM):
        with self.entered():
            return socket.socket(socket.AF_INET, kind)

    def connect(self, host, port, timeout=5):
        """A connection from within."""
        made = self.socket()
        try:
            made.settimeout(timeout)
            made.connect((host, port))
        except OSError:
            made.close()
            raise
        return made

    def dig(self, server, port, *words):
        """What `dig +short` prints; "" when nobody answers."""
        done = subprocess.run([*self.within, "dig", f"@{server}", "-p", str(port), "+short",
                               "+time=1", "+tries=2", *words], capture_output=True, text=True,
                              check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    def end(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


def _enter(namespace):
    if _libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Relay:
    """What connects to HOST:PORT in a network is connected to HOST:PORT of the network outside."""

    def __init__(self, netns, host, port):
        self.target = (host, port)
        self.ends = []
        self.listener = netns.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, port))
        self.listener.listen(64)
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target, timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            self.ends = [each for each in self.ends if each.fileno() >= 0] + [client, server]
            for one, two in ((client, server), (server, client)):
                threading.Thread(target=pump, args=(one, two), daemon=True).start()

    def close(self):
        for each in (self.listener, *self.ends):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.thread.join(5)


def pump(source, target):
    """Until one of them ends; then both have ended."""
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE):
            target.sendall(piece)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
    source.close()
