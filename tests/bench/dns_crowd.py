#!/usr/bin/python3
"""Name servers at so many addresses of loopback, in one process, and what asks a CoreDNS for them.

    dns_crowd.py PORT COUNT

The servers are 127.1.0.1, 127.1.0.2 and so on. Commands are lines, each answered with one:

    answer TEXT      from now on they answer all questions, version.bind (CH TXT) with this text
    silence          from now on they answer nothing
    counts           since the last time: how many were asked, the most questions to one, and all of
                     them; seconds from the first question until each was asked once, and to the last
    query PORT N     asks 127.0.0.1 for the names www.zone-0.example to www.zone-(N-1).example
    until PORT TEXT  waits until version.bind at 127.0.0.1 is this text, and prints the seconds
"""

import resource
import select
import socket
import struct
import sys
import threading
import time

FIRST = (127 << 24) + (1 << 16) + 1
FILES = 100  # besides the sockets
PACE = 50  # queries between two breaths
WAIT_S = 120
CHAOS = 3
TXT = 16


def address(number):
    return socket.inet_ntoa(struct.pack(">I", FIRST + number))


def question(name, kind, group):
    """A query whose id is 1."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", kind, group)


class Crowd:
    def __init__(self, port, count):
        self.text = None  # None: they are silent
        self.asked = [[] for _ in range(count)]  # when each was asked
        self.sockets = {}
        self.poll = select.epoll()
        for number in range(count):
            server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            server.bind((address(number), port))
            server.setblocking(False)
            self.sockets[server.fileno()] = (server, number)
            self.poll.register(server.fileno(), select.EPOLLIN)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            for descriptor, _ in self.poll.poll():
                server, number = self.sockets[descriptor]
                query, client = server.recvfrom(4096)
                self.asked[number].append(time.monotonic())
                if self.text is not None:
                    server.sendto(self.reply(query), client)

    def reply(self, query):
        """The text, to version.bind; to others that there is nothing."""
        end = query.index(b"\0", 12) + 5
        kind, group = struct.unpack(">2H", query[end - 4:end])
        head, asked = query[:2] + b"\x84\0\0\1", query[12:end]
        if (kind, group) != (TXT, CHAOS):
            return head + bytes(6) + asked
        text = self.text.encode()
        return (head + b"\0\1\0\0\0\0" + asked + b"\xc0\x0c\0\x10\0\3\0\0\0\0" +
                struct.pack(">HB", len(text) + 1, len(text)) + text)

    # ---- commands

    def answer(self, text):
        self.text = text
        return "done"

    def silence(self):
        self.text = None
        return "done"

    def counts(self):
        asked, self.asked = self.asked, [[] for _ in self.asked]
        times = [each for each in asked if each]
        begin = min((each[0] for each in times), default=0)
        once = max((each[0] for each in times), default=0) - begin
        last = max((each[-1] for each in times), default=0) - begin
        return (f"servers={len(times)} most={max(map(len, asked))} all={sum(map(len, asked))} "
                f"once_s={once:.3f} last_s={last:.3f}")

    def query(self, port, count):
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for number in range(int(count)):
            client.sendto(question(f"www.zone-{number}.example", 1, 1), ("127.0.0.1", int(port)))
            if number % PACE == 0:
                time.sleep(0.01)
        return "done"

    def until(self, port, text):
        begin = time.monotonic()
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.connect(("127.0.0.1", int(port)))
        client.settimeout(0.05)
        while time.monotonic() - begin < WAIT_S:
            try:
                client.send(question("version.bind", TXT, CHAOS))
                if text.encode() in client.recv(4096):
                    return f"seconds={time.monotonic() - begin:.3f}"
                time.sleep(0.005)
            except OSError:
                time.sleep(0.005)
        return f"error: version.bind is not {text}"


def main():
    port, count = int(sys.argv[1]), int(sys.argv[2])
    files = count + FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, max(files, hard)))
    crowd = Crowd(port, count)
    print("ready", flush=True)
    for line in sys.stdin:
        name, *words = line.split()
        print(getattr(crowd, name)(*words), flush=True)


if __name__ == "__main__":
    main()
