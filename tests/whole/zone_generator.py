"""Makes zones that are valid: every type that a Record may have, in usual and in odd but legal
forms. The same seed makes the same zone."""

import base64
import random
import re

HEAD = """$ORIGIN example.org.
$TTL 1h
@ IN SOA ns1 noc 7 7200 3600 1209600 300
@ NS ns1
@ NS ns2
ns1 A 192.0.2.1
ns1 AAAA 2001:db8::1
ns2 A 192.0.2.2
"""
APEX_KEY = "@ DNSKEY 257 3 13 " + "A" * 86 + "==\n"
HEX32 = "ab" * 32
TWO_NS = "{l} NS ns1.example.net.\n{l} NS ns2.example.net.\n"
LONG = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 44])  # with .{l}.example.org. 255 octets

# {l} is a label of 4 octets that nobody else has; for the others see FILLERS.
FEATURES = {
    # names
    "host": "{l} A {ip4}\n{l} AAAA {ip6}\n",
    "ttl per record": "{l} {ttl} A {ip4}\n",
    "several addresses": "{l} 60 A 192.0.2.11\n{l} 60 A 192.0.2.12\n{l} 60 A 192.0.2.13\n",
    "upper case": "{L} A {ip4}\nWWW.{L}.Example.ORG. A {ip4}\n",
    "digits only": "{n32}.{l} A {ip4}\n",
    "empty non-terminal": "a.b.c.d.{l} A {ip4}\n",
    "underscores": "_{l} TXT x\n_a._b.{l} CNAME ns1\n",
    "hyphens": "a--b.{l} A {ip4}\n-.{l} TXT x\n-a-.{l} TXT x\n",
    "slashes": "0/25.{l} TXT x\n",
    "longest label": "a" * 63 + ".{l} A {ip4}\n",
    "longest name": LONG + ".{l} TXT x\n",
    "many labels": "1." * 100 + "{l} A {ip4}\n",
    "escaped dot": "a\\.b.{l} TXT x\n",
    "escaped letter": "\\a\\066.{l} TXT x\n",
    "escaped blank": "a\\032b.{l} TXT x\n",
    "escaped octets": "\\000\\001\\127\\200\\255.{l} TXT x\n",
    "escaped marks": "\\;\\(\\)\\\"\\@\\$\\\\.{l} TXT x\n",
    "escaped others": "\\<\\>\\+\\=\\!\\[\\]\\~.{l} TXT x\n",
    "bare others": "a+b.{l} TXT x\na<b.{l} TXT y\n[.{l} TXT z\n",
    "asterisk within": "\\052.{l} TXT x\n",
    "IDN": "xn--mnchen-3ya.{l} A {ip4}\nxn--fiqs8s.{l} A {ip4}\n",
    "emoji": "xn--ls8h.{l} A {ip4}\n",
    "wildcard": "*.{l} A {ip4}\n",
    "wildcard MX": "*.{l} MX 10 ns1\n",
    "wildcard CNAME": "*.{l} CNAME ns1\n",
    "wildcard TXT": "*.{l} TXT x\n",
    "wildcard beside a host": "*.{l} A {ip4}\na.{l} A {ip4}\n",
    # the form of the file
    "comments": "{l} A {ip4} ; a comment (of ) \"more\n; another\n",
    "parentheses": "{l} TXT ( a ; one\n b\n ) ; two\n",
    "owner of the line before": "{l} A {ip4}\n  AAAA {ip6}\n\tTXT x\n",
    "class behind TTL": "{l} 60 IN A {ip4}\n",
    "class before TTL": "{l} IN 60 A {ip4}\n",
    "class alone": "{l} IN A {ip4}\n",
    "units": "{l} 1h30m A {ip4}\n",
    "units in upper case": "{l} 1W2D A {ip4}\n",
    "TTL 0": "{l} 0 A {ip4}\n",
    "longest TTL": "{l} 2147483647 A {ip4}\n",
    "types in lower case": "{l} in a {ip4}\n",
    "relative origin": "$ORIGIN sub.{l}\na A {ip4}\n@ AAAA {ip6}\n$ORIGIN example.org.\n",
    "another default TTL": "$TTL 60\n{l} A {ip4}\n$TTL 3600\n",
    "tabs and blanks": "{l} \t  60\t\tIN \t A\t{ip4}  \t\n",
    "carriage returns": "{l} A {ip4}\r\n",
    "generic A": "{l} TYPE1 \\# 4 c000{n16hex}\n",
    "generic known type": "{l} A \\# 4 c0000203\n",
    "generic class": "{l} 60 CLASS1 A {ip4}\n",
    # delegations and aliases
    "delegation with glue": "{l} NS ns.{l}\n{l} NS ns.sub.{l}\nns.{l} A {ip4}\nns.sub.{l} AAAA "
                            "{ip6}\n",
    "delegation to others": "{l} NS ns1.example.net.\n{l} NS ns2.example.com.\n",
    "delegation to hosts here": "{l} NS ns1\n{l} NS ns2\n",
    "sibling glue": "a.{l} NS ns.b.{l}\na.{l} NS ns1\nb.{l} NS ns.b.{l}\nb.{l} NS ns2\n"
                    "ns.b.{l} A {ip4}\n",
    "signed delegation": TWO_NS + "{l} DS {n16} 8 2 {hex32}\n"
                         "{l} DS {n16} 13 4 {hex48}\n",
    "delegation of RFC 2317": "0/25.{l} NS ns1\n0/25.{l} NS ns2\n1.{l} CNAME 1.0/25.{l}\n",
    "delegation and wildcard": "*.{l} A {ip4}\na.{l} NS ns1\na.{l} NS ns2\n",
    "reverse alias": "1.{l} CNAME 1.0-127.{l}\n1.0-127.{l} PTR host.example.net.\n",
    "chain of aliases": "a.{l} CNAME b.{l}\nb.{l} CNAME c.{l}\nc.{l} CNAME ns1\n",
    "alias to others": "{l} CNAME www.example.net.\n",
    "alias of TXT": "_dmarc.{l} CNAME _dmarc.example.net.\n",
    "alias to a wildcard": "*.w.{l} A {ip4}\n{l} CNAME x.w.{l}\n",
    "alias below a DNAME": "d.{l} DNAME example.net.\n{l} CNAME www.d.{l}\n",
    "alias below a cut": "c.{l} NS ns1\nc.{l} NS ns2\n{l} CNAME www.c.{l}\n",
    "DNAME": "{l} DNAME example.net.\n",
    "DNAME with others": "{l} DNAME ns1\n{l} TXT x\n{l} MX 10 ns1\n{l} A {ip4}\n",
    # types
    "A": "{l} A 0.0.0.0\na.{l} A 255.255.255.255\n",
    "AAAA": "{l} AAAA 2001:DB8:0:0:0:0:0:{n16hex}\n{l} AAAA ::\n{l} AAAA ::ffff:192.0.2.1\n"
            "{l} AAAA 1:0:0:2:0:0:0:3\n",
    "AFSDB": "{l} AFSDB 1 ns1\n{l} AFSDB 2 ns2\n",
    "APL": "{l} APL 1:192.0.2.0/24 !1:192.0.2.64/28 2:2001:db8::/32\n{l} APL 1:0.0.0.0/0\n",
    "empty APL": "{l} APL\n",
    "CAA": "{l} CAA 0 issue \"ca.example.net; policy=ev\"\n{l} CAA 128 issuewild \";\"\n"
           "{l} CAA 0 iodef \"mailto:noc@example.org\"\n",
    "CAA at the apex": "@ CAA 0 issue \"{l}.example.net\"\n",
    "unquoted CAA": "{l} CAA 0 issue ca.example.net\n",
    "CDS": APEX_KEY + "@ CDS 0 0 0 00\n",
    "CDNSKEY": APEX_KEY + "@ CDNSKEY 0 3 0 AA==\n",
    "CERT": "{l} CERT PKIX {n16} 8 {b64}\n{l} CERT 65534 {n16} RSASHA256 {b64}\n",
    "CNAME": "{l} CNAME ns1\n",
    "CSYNC": "@ CSYNC {n32} 3 A NS AAAA\n",
    "CSYNC of rare types": "{l} CSYNC 0 0 TYPE55 TYPE65280 TYPE32769 CAA TYPE24\n",
    "DHCID": "{l} DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=\n",
    "DLV": "{l} DLV {n16} 8 2 {hex32}\n",
    "DNSKEY": APEX_KEY,
    "DNSKEY of a new algorithm": "@ DNSKEY 257 3 15 {b64x32}\n",
    "EUI48": "{l} EUI48 00-00-5e-00-53-2a\n",
    "EUI64": "{l} EUI64 00-00-5E-EF-10-00-00-2A\n",
    "HINFO": "{l} HINFO \"PC {n8}\" Linux\na.{l} HINFO \"\" \"\"\n",
    "HIP": "{l} HIP 2 {hex16} {b64} ns1.example.net. ns2.example.net.\n"
           "a.{l} HIP 2 {hex16} {b64}\n",
    "HTTPS": "{l} HTTPS 1 . alpn=h2,h3 ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1\n"
             "{l} HTTPS 2 ns1 alpn=\"h2\" port={n16} no-default-alpn\n"
             "a.{l} HTTPS 1 . ech={b64}\nb.{l} HTTPS 0 {l}\n",
    "HTTPS alias with parameters": "{l} HTTPS 0 ns1 alpn=h2\n",
    "SVCB that is not offered": "{l} SVCB 0 .\n",
    "HTTPS at the apex": "@ HTTPS 1 . alpn=h2\n",
    "SVCB": "_dns.{l} SVCB 1 ns1 alpn=dot port=853 mandatory=alpn,port\n"
            "{l} SVCB 0 ns1.example.net.\na.{l} SVCB 1 . key65280=abc key65281\n",
    "IPSECKEY": "{l} IPSECKEY 10 1 2 192.0.2.38 {b64}\n{l} IPSECKEY 10 0 2 . {b64}\n"
                "{l} IPSECKEY 10 2 2 2001:db8::1 {b64}\n"
                "{l} IPSECKEY 10 3 2 gw.example.net. {b64}\n",
    "relative gateway": "{l} IPSECKEY 10 3 2 ns1 {b64}\n",
    "KEY": "{l} KEY 256 3 8 {b64}\n",
    "KX": "{l} KX {n16} ns1\n",
    "L32": "{l} L32 {n16} 10.1.2.0\n",
    "L64": "{l} L64 {n16} 2001:0db8:1140:1000\n",
    "LP": "{l} LP {n16} l64.example.net.\n",
    "NID": "{l} NID {n16} 0014:4fff:ff20:ee64\n",
    "LOC": "{l} LOC 52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m\n"
           "a.{l} LOC 42 21 54 N 71 06 18 W -24m 30m\nb.{l} LOC 0 S 0 E 0\n"
           "c.{l} LOC 90 0 0 N 180 0 0 W 42849672.95m 90000000m 90000000m 90000000m\n",
    "MX": "{l} MX {n16} ns1\n{l} MX 0 mail.example.net.\n",
    "null MX": "{l} MX 0 .\n",
    "NAPTR": "{l} NAPTR {n16} 50 s SIP+D2U \"\" _sip._udp.example.net.\n"
             "{l} NAPTR 100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:info@example.org!\" .\n"
             "a.{l} NAPTR 1 1 \"\" \"\" \"/urn:cid:.+@([^\\\\.]+\\\\.)(.*)$/\\\\2/i\" .\n",
    "OPENPGPKEY": "{hex28}._openpgpkey.{l} OPENPGPKEY {b64}\n",
    "PTR": "{n8}.{l} PTR host.example.net.\n{n8}.{l} PTR \\*.example.net.\n",
    "RP": "{l} RP admin.example.net. .\na.{l} RP . .\n",
    "RP with text": "{l} RP admin text.{l}\ntext.{l} TXT \"call us\"\n",
    "SMIMEA": "{hex28}._smimecert.{l} SMIMEA 3 1 1 {hex32}\n",
    "SRV": "_sip._udp.{l} SRV {n16} {n16} {n16} ns1\n_a._tcp.{l} SRV 0 0 0 .\n",
    "SRV at a wildcard": "*._tcp.{l} SRV 0 0 443 ns1\n",
    "SSHFP": "{l} SSHFP 1 1 {hex20}\n{l} SSHFP 3 2 {hex32}\n",
    "SSHFP of a new algorithm": "{l} SSHFP 4 2 {hex32}\n{l} SSHFP 6 2 {hex32}\n",
    "TA": "{l} TYPE32768 \\# 36 {n16hex}0802{hex32}\n",
    "TLSA": "_443._tcp.{l} TLSA 3 1 1 {hex32}\n_25._tcp.{l} TLSA 2 0 2 {hex64}\n"
            "_26._tcp.{l} TLSA 3 1 0 {hex20}\n",
    "split TLSA": "_443._tcp.{l} TLSA 3 1 1 ( {hex16}\n {hex16} )\n",
    "TXT": "{l} TXT bare \"two words\" \"\"\n{l} TXT \"a;b(c)\"\n{l} TXT \"\\\"q\\\\000\\255\"\n",
    "long TXT": "{l} TXT \"" + "x" * 255 + "\" \"" + "y" * 255 + "\" \"" + "z" * 100 + "\"\n",
    "TXT of many strings": "{l} TXT" + " s" * 200 + "\n",
    "SPF policy": "{l} TXT \"v=spf1 mx -all\"\n{l} TXT \"v=spf10 is no policy\"\n",
    "URI": "_http._tcp.{l} URI {n16} 1 \"https://example.org/a?b=\\\"c\\\"\"\n",
    "unknown type": "{l} TYPE65280 \\# 3 010203\n{l} TYPE65281 \\# 0\n"
                    "{l} TYPE65534 \\# 4 ( 0102\n 0304 )\n",
    "DS of several digests": TWO_NS + "{l} DS {n16} 8 1 {hex20}\n{l} DS {n16} 8 2 {hex32}\n"
                             "{l} DS {n16} 13 4 {hex48}\n",
    "DS of a new algorithm": TWO_NS + "{l} DS {n16} 15 2 {hex32}\n",
    "delegation with one server": "{l} NS ns1.example.net.\n",
    # what a tool of somebody else takes amiss
    "quoted owner": "\"{l}\" A {ip4}\n",
    "$GENERATE": "$GENERATE 1-20/2 a$.{l} A 192.0.2.$\n",
    "DS of an unknown digest": TWO_NS + "{l} DS {n16} 8 9 abcd\n",
    "DNSKEY of an unknown algorithm": "@ DNSKEY 257 3 99 {b64}\n",
    "DNSKEY of unknown flags": "@ DNSKEY 258 3 13 " + "A" * 86 + "==\n",
    "CDS of another key": APEX_KEY + f"@ CDS 1 13 2 {HEX32}\n",
    "CDS that deletes": "@ CDS 0 0 0 00\n@ CDNSKEY 0 3 0 AA==\n",
    "TLSA of unknown numbers": f"_443._tcp.{{l}} TLSA 4 2 9 {HEX32}\n",
    "TLSA without a port": f"{{l}} TLSA 3 1 1 {HEX32}\n",
    "CERT of an unknown type": "{l} CERT 99 {n16} 8 {b64}\n",
    "AFSDB of another subtype": "{l} AFSDB 3 ns1\n",
    "AFSDB of no host": "{l} AFSDB 1 a_b.example.net.\n",
    "HTTPS of no host": "{l} HTTPS 1 a_b.example.net.\na.{l} SVCB 1 *.example.net.\n",
    "RP without text": "{l} RP admin none.{l}\n",
    "short DHCID": "{l} DHCID AQID\n",
}

# Lines at the apex that exclude each other, or that only one zone in some shall have.
ALONE = ("CDS", "CDNSKEY", "DNSKEY", "DNSKEY of a new algorithm",
         "DNSKEY of an unknown algorithm", "DNSKEY of unknown flags", "CDS of another key",
         "CDS that deletes")

# Which tools do not take a feature, legal as it is, and why.
_NEW = "validns does not know it"
LIMITS = {
    "hyphens": ("validns", "takes only letters, digits and _ at the front of a name"),
    "escaped dot": ("validns", "cannot read a dot within a label"),
    "escaped octets": ("validns", "reads \\000 as the end of the name"),
    "bare others": ("validns knot", "read letters, digits, -, _, * and / alone without escape"),
    "class before TTL": ("ldns", "reads the TTL before the class alone"),
    "relative origin": ("knot nsd", "read $ORIGIN with absolute names alone"),
    "carriage returns": ("knot", "ends lines with line feeds alone"),
    "generic known type": ("validns", "reads the generic form of unknown types alone"),
    "generic class": ("knot validns", "know classes by name alone"),
    "unquoted CAA": ("ldns validns", "ldns wants the quotes; " + _NEW),
    "HIP": ("knot nsd validns", "do not know its mnemonic"),
    "DLV": ("knot nsd validns", "knot does not know its mnemonic; nsd warns of an experiment; "
            "validns takes it for a sign of a signed zone"),
    "DNSKEY of a new algorithm": ("validns", "does not know algorithm 15"),
    "DS of a new algorithm": ("validns", "does not know algorithm 15"),
    "SSHFP of a new algorithm": ("validns", "does not know algorithms 4 and 6"),
    "DS of several digests": ("named", "warns of SHA-1 digests"),
    "quoted owner": ("knot validns", "read no quotes there"),
    "$GENERATE": ("knot nsd validns ldns", "leave it to BIND"),
    "DS of an unknown digest": ("knot validns", "want one that they know; the registry grows"),
    "DNSKEY of an unknown algorithm": ("validns", "wants one that it knows; the registry grows"),
    "DNSKEY of unknown flags": ("validns", "RFC 4034 2.1.1: a reader ignores them"),
    "TLSA of unknown numbers": ("validns", "wants those that it knows; the registry grows"),
    "TLSA without a port": ("validns", "RFC 6698 3 says where to look, not where it may stand"),
    "CERT of an unknown type": ("validns", "wants one that it knows; the registry grows"),
    "AFSDB of another subtype": ("validns", "wants one that it knows"),
    "AFSDB of no host": ("named", "host names are asked for of addresses, NS, MX and SRV alone"),
    "HTTPS of no host": ("named validns", "as above; " + _NEW),
    "RP without text": ("validns", "RFC 1183 2.2 does not ask that it exists"),
    "short DHCID": ("validns", "RFC 4701 leaves it opaque"),
    "delegation with one server": ("validns", "wants two at each delegation; that is its child's"),
    **{name: ("validns", _NEW) for name in (
        "APL", "empty APL", "CAA", "CAA at the apex", "CDS", "CDS of another key", "CDS that deletes",
        "CDNSKEY", "CSYNC",
        "CSYNC of rare types", "EUI48", "EUI64", "HTTPS", "HTTPS at the apex",
        "HTTPS alias with parameters", "SVCB", "SVCB that is not offered", "KEY", "OPENPGPKEY",
        "SMIMEA", "URI")},
}
# Of these what Signpost prints is taken although the file was not.
MENDED = {
    "bare others": "knot validns",
    "class before TTL": "ldns",
    "relative origin": "knot nsd",
    "carriage returns": "knot",
    "generic known type": "validns",
    "generic class": "knot validns",
    "unquoted CAA": "ldns",
    "HIP": "knot nsd validns",
    "quoted owner": "knot validns",
    "$GENERATE": "knot nsd validns ldns",
    "DLV": "knot validns",
}

# And these ldns takes for something else: for names below the root, for quotes in the name.
MISREAD = ("relative origin", "relative gateway", "quoted owner")

# Which servers refuse a zone as a whole where Signpost does not.
STRICTER = {"named": ("AFSDB of no host", "HTTPS of no host"),
            "knot": ("DS of an unknown digest",)}


def limited(name):
    """The tools that do not take a feature as it is written, and as Signpost prints it."""
    before = set(LIMITS.get(name, ("",))[0].split())
    return before, before - set(MENDED.get(name, "").split())


FILLERS = {
    "ip4": lambda r: f"198.51.100.{r.randrange(256)}",
    "ip6": lambda r: f"2001:db8::{r.randrange(1, 65536):x}:{r.randrange(1, 65536):x}",
    "ttl": lambda r: str(r.choice((0, 1, 60, 300, 3600, 86400, 604800, r.randrange(1 << 31)))),
    "n8": lambda r: str(r.randrange(256)),
    "n16": lambda r: str(r.choice((0, 1, 10, 65535, r.randrange(65536)))),
    "n32": lambda r: str(r.randrange(1 << 32)),
    "n16hex": lambda r: f"{r.randrange(1, 65536):04x}",
    "b64": lambda r: base64.b64encode(r.randbytes(r.randrange(1, 200))).decode(),
    "b64x32": lambda r: base64.b64encode(r.randbytes(32)).decode(),
}


def _fill(what, r):
    if what in FILLERS:
        return FILLERS[what](r)
    digits = r.randbytes(int(what[len("hex"):])).hex()
    return r.choice((digits, digits.upper()))


def feature(name, label, r):
    """The lines of one, under a label of its own."""
    mixed = "".join(r.choice((c.upper(), c)) for c in label)
    return re.sub(r"\{(\w+)\}", lambda found: {"l": label, "L": mixed}.get(found[1])
                  or _fill(found[1], r), FEATURES[name])


def zone(seed, without=(), count=40):
    """(text, names of its features) of a zone; without some of these."""
    r = random.Random(seed)
    names = r.sample(sorted(FEATURES), count)
    alone = [name for name in names if name in ALONE]
    names = [name for name in names if name not in alone[1:] and name not in without]
    lines = [feature(name, f"{r.choice('hxn')}{i:03}", r) for i, name in enumerate(names)]
    return HEAD + "".join(lines), names


NAMES = ("@", "a", "b", "c", "*", "a.b", "b.a", "*.a", "c.b.a", "d", "a.d", "ns1",
         "x.example.net.")
DATA = {
    "A": "192.0.2.9", "AAAA": "2001:db8::9", "TXT": "t", "NS": "{}", "CNAME": "{}", "DNAME": "{}",
    "MX": "10 {}", "SRV": "0 0 1 {}", "PTR": "{}", "HTTPS": "0 {}", "SVCB": "1 {}",
    "DS": f"1 8 2 {HEX32}", "CDS": "0 0 0 00", "RP": "a {}",
}


def tangle(seed, count=8):
    """Records of few names that point at each other: no zone, but by chance."""
    r = random.Random(seed)
    lines = []
    for _ in range(count):
        owner, type_, target = r.choice(NAMES[:-1]), r.choice(sorted(DATA)), r.choice(NAMES)
        if type_ in ("HTTPS", "SVCB") and target.startswith("*"):
            target = "a"  # named takes none that is no host: "HTTPS of no host"
        lines.append(f"{owner} {type_} {DATA[type_].format(target)}\n")
    return HEAD + "".join(lines)
