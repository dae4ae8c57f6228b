"""A CA in a folder, by the openssl command: servers, clients, and keys that sign tokens."""

import itertools
import pathlib
import subprocess

CONFIGURATION = """
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1, IP:::1, DNS:localhost, DNS:{name}
[client]
extendedKeyUsage = clientAuth
"""
P256_OCTETS = 32


class Authority:
    serials = itertools.count(1)

    def __init__(self, folder, name="signpost-test-ca"):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.folder.mkdir(mode=0o700)
        self.write_configuration("none")
        self.renew()

    def renew(self):
        """Another key and certificate in the same files: what was issued before counts no more."""
        self.key("ca")
        self.openssl("req", "-x509", "-new", "-key", self.path("ca.key"), "-subj",
                     f"/CN={self.name}", "-days", "30", "-extensions", "ca", "-out",
                     self.path("ca.crt"))

    def path(self, name):
        return self.folder / name

    def write_configuration(self, name):
        self.path("openssl.cnf").write_text(CONFIGURATION.format(name=name))

    def openssl(self, command, *words, stdin=None):
        more = ("-config", self.path("openssl.cnf")) if command == "req" else ()
        return subprocess.run(["openssl", command, *more, *map(str, words)], input=stdin,
                              capture_output=True, check=True).stdout

    def key(self, name):
        """NAME.key and NAME.pub, on the curve P-256."""
        self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                     self.path(f"{name}.key"))
        self.openssl("pkey", "-in", self.path(f"{name}.key"), "-pubout", "-out",
                     self.path(f"{name}.pub"))
        return self.path(f"{name}.key")

    def issue(self, name, subject, section, days=30):
        """(certificate, key): NAME.crt and NAME.key. Days may be negative: it has ended."""
        self.key(name)
        request = self.openssl("req", "-new", "-key", self.path(f"{name}.key"), "-subj", subject)
        self.openssl("x509", "-req", "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"),
                     "-days", days, "-set_serial", f"{next(self.serials)}", "-extfile",
                     self.path("openssl.cnf"), "-extensions", section, "-out",
                     self.path(f"{name}.crt"), stdin=request)
        return self.path(f"{name}.crt"), self.path(f"{name}.key")

    def server(self, name, host, days=30):
        """For loopback addresses, localhost and this host."""
        self.write_configuration(host)
        return self.issue(name, f"/CN={host}", "server", days)

    def client(self, name, *groups, days=30):
        """For the user NAME; the same files when it was asked before."""
        if not self.path(f"{name}.crt").exists():
            subject = "".join(f"/O={group}" for group in groups) + f"/CN={name}"
            self.issue(name, subject, "client", days)
        return self.path(f"{name}.crt"), self.path(f"{name}.key")

    def sign(self, name, text):
        """ES256 as a JWT has it: both numbers of the signature, one after the other."""
        der = self.openssl("dgst", "-sha256", "-sign", self.path(f"{name}.key"), stdin=text)
        numbers, at = [], 2  # a sequence of two integers, each with a length of one octet
        for _ in range(2):
            length = der[at + 1]
            numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big"))
            at += 2 + length
        return b"".join(number.to_bytes(P256_OCTETS, "big") for number in numbers)
