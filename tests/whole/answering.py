"""A name server whose answers the test chooses."""

import socket
import threading

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from harness import LOOPBACK, free_port


class Answers:
    """UDP and TCP on one port. `sets` maps (name, type) to rdata texts; () is no data, an RCODE's
    name is that code; what is not there is NXDOMAIN. Names in `large` are truncated over UDP; those in
    `referred` stand in a referral."""

    def __init__(self):
        self.port = free_port()
        self.sets = {}
        self.large = set()
        self.referred = set()
        self.seen = []
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((LOOPBACK, self.port))
        self.tcp = socket.create_server((LOOPBACK, self.port))
        for serve in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    @property
    def address(self):
        return f"{LOOPBACK}:{self.port}"

    def answer(self, octets, is_tcp):
        try:
            query = dns.message.from_wire(octets)
        except dns.exception.DNSException:  # somebody else's, who had this port before
            return None
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True)
        kind = dns.rdatatype.to_text(question.rdtype)
        self.seen.append((name, kind, "tcp" if is_tcp else "udp",
                          bool(query.flags & dns.flags.RD)))
        reply = dns.message.make_response(query)
        reply.flags |= dns.flags.AA
        for wildcard in [key for key in self.sets if key[0].startswith("*.")]:
            if name.endswith(wildcard[0][1:]) and kind == wildcard[1]:
                name = wildcard[0]
        texts = self.sets.get((name, kind), "NXDOMAIN")
        if texts is None:
            return None
        if isinstance(texts, str):
            reply.set_rcode(dns.rcode.from_text(texts))
        elif name in self.large and not is_tcp:
            reply.flags |= dns.flags.TC
        elif texts:
            section = reply.authority if name in self.referred else reply.answer
            section.append(dns.rrset.from_text(question.name, 60, "IN", kind, *texts))
        return reply.to_wire()

    def serve_udp(self):
        while True:
            try:
                octets, peer = self.udp.recvfrom(65535)
                if reply := self.answer(octets, False):
                    self.udp.sendto(reply, peer)
            except OSError:
                return

    def serve_tcp(self):
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                size = stream.read(2)
                reply = self.answer(stream.read(int.from_bytes(size, "big")), True)
                stream.write(len(reply).to_bytes(2, "big") + reply)

    def close(self):
        self.udp.close()
        self.tcp.close()
