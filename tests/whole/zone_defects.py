"""Classes of faults that a zone can have: a small zone with each, and what Signpost says of it."""

import collections

from zone_generator import APEX_KEY, HEAD, HEX32

# `found`: reasons, a warning's behind "w "; "i": the info that a signer's records are passed over.
# `whole`: nothing of the zone is served, and `text` is all of it.
Defect = collections.namedtuple("Defect", "text found whole")

SOA = "@ IN SOA ns1 noc 7 7200 3600 1209600 300\n"
START = "$ORIGIN example.org.\n$TTL 1h\n"
HOSTS = "ns1 A 192.0.2.1\nns2 A 192.0.2.2\n"
SERVERS = "@ NS ns1\n@ NS ns2\n" + HOSTS


def _at(text, *found):
    return Defect(text, frozenset(found), False)


def _of(text, *found):
    return Defect(START + text, frozenset(found), True)


DEFECTS = {
    # ---- the file
    "no type": _at("x A\n", "InvalidRData"),
    "type that nobody knows": _at("x NONE y\n", "InvalidType"),
    "quote that is not closed": _at("x TXT \"open\ny A 192.0.2.3\n", "Syntax"),
    "parenthesis that is not closed": _at("x TXT ( a\n", "Syntax"),
    "parenthesis that is not open": _at("x TXT a )\n", "Syntax"),
    "directive that nobody knows": _at("$NONSENSE 1\n", "Syntax"),
    "file that is not there": _at("$INCLUDE none\n", "Include"),
    "line feed in an escape": _at("x TXT a\\\ny A 192.0.2.3\n", "InvalidRData"),
    "escape beyond 255": _at("x\\256 A 192.0.2.3\n", "InvalidName"),
    "escape beyond 255 in a text": _at("x TXT \"\\256\"\n", "InvalidRData"),
    "no SOA": _of(SERVERS, "NoSOA"),
    "SOA twice": _at(SOA),
    "two SOA": _at("@ SOA ns2 noc 8 7200 3600 1209600 300\n", "DuplicateSingleton"),
    "SOA below the apex": _at("x SOA ns1 noc 7 7200 3600 1209600 300\n", "ReservedType"),
    "serial beyond 32 bits": _of(SOA.replace(" 7 ", " 4294967296 ") + SERVERS, "InvalidRData",
                                 "NoSOA"),
    "SOA without numbers": _of("@ SOA ns1 noc 7\n" + SERVERS, "InvalidRData", "NoSOA"),
    # ---- names
    "label of 64 octets": _at("a" * 64 + " A 192.0.2.3\n", "InvalidName"),
    "name of 256 octets": _at(".".join(["a" * 50] * 5) + " A 192.0.2.3\n", "InvalidName"),
    "target of 256 octets": _at("x CNAME " + ".".join(["a" * 50] * 5) + "\n", "InvalidName"),
    "empty label": _at("a..b A 192.0.2.3\n", "InvalidName"),
    "empty label in a target": _at("x CNAME a..b\n", "InvalidName"),
    "name outside of the zone": _at("www.example.net. A 192.0.2.3\n", "OutOfZone"),
    "name above the zone": _at("org. A 192.0.2.3\n", "OutOfZone"),
    "asterisk in a label": _at("a*b TXT x\n", "w InteriorAsterisk", "w InvalidName"),
    "asterisk in the middle": _at("a.*.b TXT x\n", "w InteriorAsterisk"),
    "host with an underscore": _at("a_b A 192.0.2.3\n", "w NotAHostname"),
    "host with a hyphen in front": _at("-a AAAA 2001:db8::3\n", "w NotAHostname"),
    "mail for a name with an underscore": _at("_x MX 10 ns1\n", "w NotAHostname"),
    "mail server with an underscore": _at("x MX 10 a_b\na_b A 192.0.2.3\n", "w NotAHostname"),
    "name server with an underscore": _at("x NS n_s.example.net.\n", "w NotAHostname"),
    "server of SRV with an underscore": _at("_a._tcp SRV 0 0 1 a_b.example.net.\n",
                                            "w NotAHostname"),
    # ---- classes and TTLs
    "class HS": _at("x HS TXT y\n", "ClassMismatch"),
    "class CH": _at("x CH TXT y\n", "ClassMismatch"),
    "TTL beyond 31 bits": _at("x 2147483648 A 192.0.2.3\n", "InvalidTTL"),
    "TTL beyond 32 bits": _at("x 4294967296 A 192.0.2.3\n", "InvalidTTL"),
    "default TTL beyond 31 bits": _at("$TTL 2147483648\nx A 192.0.2.3\n", "InvalidTTL"),
    "TTL below zero": _at("x -1 A 192.0.2.3\n", "InvalidTTL"),
    "TTL of an unknown unit": _at("x 1y A 192.0.2.3\n", "InvalidTTL"),
    "TTLs that differ": _at("x 60 A 192.0.2.3\nx 61 A 192.0.2.4\n", "w TTLMismatch"),
    # ---- rdata
    "address of 5 numbers": _at("x A 192.0.2.3.4\n", "InvalidRData"),
    "address beyond 255": _at("x A 192.0.2.256\n", "InvalidRData"),
    "address of 3 numbers": _at("x A 192.0.2\n", "InvalidRData"),
    "IPv6 address of 9 groups": _at("x AAAA 1:2:3:4:5:6:7:8:9\n", "InvalidRData"),
    "IPv4 address in AAAA": _at("x AAAA 192.0.2.3\n", "InvalidRData"),
    "word too many": _at("x A 192.0.2.3 4\n", "InvalidRData"),
    "preference beyond 65535": _at("x MX 65536 ns1\n", "InvalidRData"),
    "preference below 0": _at("x MX -1 ns1\n", "InvalidRData"),
    "MX without target": _at("x MX 10\n", "InvalidRData"),
    "port beyond 65535": _at("_a._tcp SRV 0 0 65536 ns1\n", "InvalidRData"),
    "SRV of three words": _at("_a._tcp SRV 0 0 ns1\n", "InvalidRData"),
    "order of NAPTR beyond 65535": _at("x NAPTR 65536 1 \"\" \"\" \"\" ns1\n", "InvalidRData"),
    "number in quotes": _at("x MX \"10\" ns1\n", "InvalidRData"),
    "name in quotes": _at("x CNAME \"ns1\"\n", "InvalidRData"),
    "regexp of NAPTR without end": _at("x NAPTR 1 1 u E2U \"!a!b\" .\n", "InvalidRData"),
    "flags of NAPTR": _at("x NAPTR 1 1 \"u-\" \"\" \"\" ns1\n", "InvalidRData"),
    "CAA flags beyond 255": _at("x CAA 256 issue \"a\"\n", "InvalidRData"),
    "CAA tag with a hyphen": _at("x CAA 0 is-sue \"a\"\n", "InvalidRData"),
    "HINFO of one word": _at("x HINFO PC\n", "InvalidRData"),
    "TXT without text": _at("x TXT\n", "InvalidRData"),
    "string of 256 octets": _at("x TXT \"" + "a" * 256 + "\"\n"),
    "hex of odd length": _at("_1._tcp TLSA 3 1 1 abc\n", "InvalidRData"),
    "usage of TLSA beyond 255": _at(f"_1._tcp TLSA 256 1 1 {HEX32}\n", "InvalidRData"),
    "no hex": _at("_1._tcp TLSA 3 1 1 xyz0\n", "InvalidRData"),
    "digest of TLSA too short": _at("_1._tcp TLSA 3 1 1 abcd\n", "InvalidRData"),
    "digest of SSHFP too short": _at("x SSHFP 1 1 abcd\n", "InvalidRData"),
    "digest of DS too short": _at("x NS ns1\nx NS ns2\nx DS 1 8 2 abcd\n", "InvalidRData"),
    "key tag beyond 65535": _at(f"x NS ns1\nx NS ns2\nx DS 65536 8 2 {HEX32}\n", "InvalidRData"),
    "key of another protocol": _at("@ DNSKEY 257 4 13 AAAA\n", "InvalidRData"),
    "key that is empty": _at("x KEY 256 3 8\n", "InvalidRData"),
    "base64 that is none": _at("@ DNSKEY 257 3 13 A*A=\n", "InvalidRData"),
    "base64 without its end": _at("x OPENPGPKEY AAAAA\n", "InvalidRData"),
    "latitude beyond 90": _at("x LOC 91 0 0 N 4 0 0 E 0m\n", "InvalidRData"),
    "minutes beyond 59": _at("x LOC 9 60 0 N 4 0 0 E 0m\n", "InvalidRData"),
    "EUI48 of 5 octets": _at("x EUI48 00-00-5e-00-53\n", "InvalidRData"),
    "prefix beyond 32": _at("x APL 1:192.0.2.0/33\n", "InvalidRData"),
    "gateway of another type": _at("x IPSECKEY 10 1 2 2001:db8::1 AQID\n", "InvalidRData"),
    "URI without target": _at("x URI 10 1 \"\"\n", "InvalidRData"),
    "CERT of no type": _at("x CERT NONE 1 8 AQID\n", "InvalidRData"),
    "types that nobody knows in CSYNC": _at("x CSYNC 1 3 A NONE\n", "InvalidRData"),
    "locator too long": _at("x L64 10 1:2:3:4:5\n", "InvalidRData"),
    "key of SVCB twice": _at("x SVCB 1 ns1 port=1 port=2\n", "InvalidRData"),
    "key of SVCB that nobody knows": _at("x SVCB 1 ns1 nonsense=1\n", "InvalidRData"),
    "key 65535 of SVCB": _at("x SVCB 1 ns1 key65535=x\n", "InvalidRData"),
    "priority of SVCB beyond 65535": _at("x SVCB 65536 ns1\n", "InvalidRData"),
    "port of SVCB beyond 65535": _at("x SVCB 1 ns1 port=65536\n", "InvalidRData"),
    "mandatory key that is not there": _at("x HTTPS 1 . mandatory=port\n", "InvalidRData"),
    "mandatory names itself": _at("x HTTPS 1 . mandatory=mandatory\n", "InvalidRData"),
    "no-default-alpn alone": _at("x HTTPS 1 . no-default-alpn\n", "InvalidRData"),
    "empty alpn": _at("x HTTPS 1 . alpn=\n", "InvalidRData"),
    "hint of the other family": _at("x HTTPS 1 . ipv4hint=2001:db8::1\n", "InvalidRData"),
    "generic form of another length": _at("x TYPE65280 \\# 3 0102\n", "InvalidRData"),
    "generic form of odd length": _at("x TYPE65280 \\# 1 010\n", "InvalidRData"),
    "generic form that does not decode": _at("x A \\# 3 010203\n", "InvalidRData"),
    # ---- types that are nobody's to write
    "type beyond 65535": _at("x TYPE65536 \\# 0\n", "InvalidType"),
    "NSEC of nobody": _at("x NSEC ns1 A\n", "ReservedType"),
    "RRSIG of nobody": _at("x RRSIG A 8 2 300 20300101000000 20200101000000 1 @ AAAA\n", "ReservedType"),
    "SIG": _at("x SIG A 8 2 300 20300101000000 20200101000000 1 @ AAAA\n", "ReservedType"),
    "OPT": _at("x TYPE41 \\# 0\n", "ReservedType"),
    "ANY": _at("x TYPE255 \\# 0\n", "ReservedType"),
    "AXFR": _at("x TYPE252 \\# 0\n", "ReservedType"),
    "type 0": _at("x TYPE0 \\# 0\n", "ReservedType"),
    "TKEY": _at("x TYPE249 \\# 0\n", "ReservedType"),
    "TSIG": _at("x TYPE250 \\# 0\n", "ReservedType"),
    # ---- aliases
    "CNAME and other data": _at("x CNAME ns1\nx TXT y\n", "CNAMEConflict"),
    "two CNAMEs": _at("x CNAME ns1\nx CNAME ns2\n", "CNAMEConflict"),
    "CNAME at the apex": _at("@ CNAME www.example.net.\n", "CNAMEConflict"),
    "CNAME and DNAME": _at("x CNAME ns1\nx DNAME example.net.\n", "CNAMEConflict"),
    "CNAME and other data at a wildcard": _at("*.x CNAME ns1\n*.x TXT y\n", "CNAMEConflict"),
    "CNAME and NS": _at("x CNAME ns1\nx NS ns1\nx NS ns2\n", "CNAMEConflict"),
    "CNAME of itself": _at("x CNAME x\n", "CNAMELoop"),
    "loop of CNAMEs": _at("x CNAME y\ny CNAME z\nz CNAME x\n", "CNAMELoop"),
    "loop through a wildcard": _at("*.x CNAME a.x\n", "CNAMELoop"),
    "loop through a DNAME": _at("x CNAME y.d\nd DNAME e\ny.e CNAME x\n", "CNAMELoop"),
    "DNAME to below itself": _at("x DNAME a.x\n", "CNAMELoop"),
    "loop of DNAMEs": _at("x DNAME y\ny DNAME x\n", "CNAMELoop"),
    "loop of CNAMEs beside other data": _at("x CNAME y\ny CNAME x\nx A 192.0.2.3\n", "CNAMELoop"),
    "CNAME to nothing": _at("x CNAME none\n", "w DanglingTarget"),
    "two DNAMEs": _at("x DNAME example.net.\nx DNAME example.com.\n", "DuplicateSingleton"),
    "data below a DNAME": _at("x DNAME example.net.\na.x A 192.0.2.3\n", "OccludedByDNAME"),
    "DNAME at the apex": _of(SOA + SERVERS + "@ DNAME example.net.\n", "OccludedByDNAME"),
    "DNAME at a wildcard": _at("*.x DNAME example.net.\n", "w WildcardDNAME"),
    # ---- delegations
    "data at a cut": _at("x NS ns1\nx NS ns2\nx A 192.0.2.3\n", "OccludedByDelegation"),
    "data below a cut": _at("x NS ns1\nx NS ns2\na.x TXT y\n", "OccludedByDelegation"),
    "address below a cut that is no glue": _at("x NS ns1\nx NS ns2\na.x A 192.0.2.3\n",
                                               "OccludedByDelegation"),
    "alias below a cut": _at("x NS ns1\nx NS ns2\na.x CNAME ns1\n", "OccludedByDelegation"),
    "cut below a cut": _at("x NS ns1\nx NS ns2\na.x NS ns1\na.x NS ns2\n", "OccludedByDelegation"),
    "DS without NS": _at(f"x DS 1 8 2 {HEX32}\n", "DSWithoutNS"),
    "DS at a wildcard": _at(f"*.x DS 1 8 2 {HEX32}\n", "DSWithoutNS"),
    "DS at the apex": _at(f"@ DS 1 8 2 {HEX32}\n", "DSWithoutNS"),
    "no glue": _at("x NS ns.x\nx NS ns1\nx NS ns2\n", "MissingGlue"),
    "no sibling glue": _at("x NS ns.y\nx NS ns1\ny NS ns1\ny NS ns2\n", "w MissingSiblingGlue"),
    "name server of a cut without address": _at("x NS none\nx NS ns1\nx NS ns2\n", "MissingGlue"),
    "name server of a cut is an alias": _at("x NS a\nx NS ns1\nx NS ns2\na CNAME ns1\n",
                                            "NSTargetIsAlias"),
    "name server of a cut is below a DNAME": _at(
        "x NS a.d\nx NS ns1\nx NS ns2\nd DNAME example.net.\n", "NSTargetIsAlias"),
    "cut whose name servers are all out": _at(
        "x NS a\nx TXT t\na CNAME ns1\nb.x MX 10 c.x\nc.x CNAME ns1\n", "NSTargetIsAlias",
        "MXTargetIsAlias"),
    "cuts whose name servers lie below each other": _at(
        "x NS ns.y\ny NS ns.z\nz NS none\n", "MissingGlue"),
    "name server is an address": _at("x NS 192.0.2.3\nx NS ns1\nx NS ns2\n", "NSTargetIsAddress"),
    "name server is an address with a dot": _at("x NS 192.0.2.3.\nx NS ns1\nx NS ns2\n",
                                                "NSTargetIsAddress"),
    "NS at a wildcard": _at("*.x NS ns1\n*.x NS ns2\n", "WildcardNS"),
    # ---- the zone's own name servers
    "no name servers": _of(SOA + HOSTS, "NoNameservers"),
    "one name server": _of(SOA + "@ NS ns1\nns1 A 192.0.2.1\n", "w SingleNS"),
    "name server without address": _of(SOA + "@ NS ns1\n@ NS ns2\nns1 A 192.0.2.1\n",
                                       "MissingAddress"),
    "name server is an alias": _of(SOA + "@ NS ns1\n@ NS ns2\nns1 A 192.0.2.1\nns2 CNAME ns1\n",
                                   "NSTargetIsAlias"),
    "name server of the zone is below a cut without glue": _of(
        SOA + "@ NS ns1\n@ NS a.x\nns1 A 192.0.2.1\nx NS ns1\nx NS ns.example.net.\n",
        "MissingAddress"),
    "primary that nobody knows": _of(SOA.replace("ns1", "none.example.net.") + SERVERS,
                                     "w MNAMENotInNS"),
    "mailbox of the zone with an @": _of(SOA.replace("noc", "noc@example.org.") + SERVERS),
    "retry longer than refresh": _of(SOA.replace("7200 3600", "3600 7200") + SERVERS,
                                     "w SOATimers"),
    "expire shorter than refresh": _of(SOA.replace("1209600", "600") + SERVERS, "w SOATimers"),
    "negative answers for a month": _of(SOA.replace(" 300", " 2592000") + SERVERS, "w SOATimers"),
    # ---- targets
    "mail server without address": _at("x MX 10 none\n", "w TargetHasNoAddress"),
    "mail server with a text alone": _at("x MX 10 y\ny TXT z\n", "w TargetHasNoAddress"),
    "mail server is an alias": _at("x MX 10 y\ny CNAME ns1\n", "MXTargetIsAlias"),
    "mail server is an alias by a wildcard": _at("x MX 10 a.y\n*.y CNAME ns1\n",
                                                "MXTargetIsAlias"),
    "mail server is below a DNAME": _at("x MX 10 a.d\nd DNAME example.net.\n",
                                        "MXTargetIsAlias"),
    "server of SRV is below a DNAME": _at("_a._tcp SRV 0 0 1 a.d\nd DNAME example.net.\n",
                                          "SRVTargetIsAlias"),
    "mail server is an address": _at("x MX 10 192.0.2.3\n", "MXTargetIsAddress"),
    "mail server is an address with a dot": _at("x MX 10 192.0.2.3.\n", "MXTargetIsAddress"),
    "server of SRV without address": _at("_a._tcp SRV 0 0 1 none\n", "w TargetHasNoAddress"),
    "server of SRV is an alias": _at("_a._tcp SRV 0 0 1 y\ny CNAME ns1\n", "SRVTargetIsAlias"),
    "mail server is an alias where nothing is left": _at(
        "x MX 10 a.y\n*.y CNAME ns1\na.y MX 10 b\nb CNAME ns1\n", "MXTargetIsAlias"),
    "null MX and another": _at("x MX 0 .\nx MX 10 ns1\n", "NullMXConflict"),
    "alias of HTTPS to itself": _at("x HTTPS 0 x\n", "SVCBSelfAlias"),
    "target that looks absolute": _at("x CNAME www.example.net\n", "w DanglingTarget",
                                      "w RelativeTargetLooksAbsolute"),
    "target that ends in the zone": _at("x MX 10 ns1.example.org\n", "w TargetHasNoAddress",
                                        "w RelativeTargetLooksAbsolute"),
    # ---- the rest
    "CDS without DNSKEY": _at(f"@ CDS 1 8 2 {HEX32}\n", "CDSWithoutDNSKEY"),
    "CDNSKEY without DNSKEY": _at("@ CDNSKEY 257 3 13 " + "A" * 86 + "==\n", "CDSWithoutDNSKEY"),
    "CDS of an algorithm without DNSKEY": _at(
        APEX_KEY + f"@ CDS 1 8 2 {HEX32}\n", "CDSWithoutDNSKEY"),
    "CDS that deletes beside another": _at(
        APEX_KEY + f"@ CDS 0 0 0 00\n@ CDS 1 13 2 {HEX32}\n", "DuplicateSingleton"),
    "CDNSKEY that deletes beside another": _at(
        APEX_KEY + "@ CDNSKEY 0 3 0 AA==\n" + APEX_KEY.replace("DNSKEY", "CDNSKEY"),
        "DuplicateSingleton"),
    "the same record twice": _at("x A 192.0.2.3\nx A 192.0.2.3\n"),
    "policy of type SPF": _at("x SPF \"v=spf1 -all\"\n", "w UseTXTForSPF"),
    "two SPF policies": _at("x TXT \"v=spf1 -all\"\nx TXT \"v=spf1 mx -all\"\n", "w MultipleSPF"),
}

# What is wrong is put right without a word.
PUT_RIGHT = {
    "SOA twice": "a dump of a transfer has it first and last",
    "string of 256 octets": "becomes two strings",
    "mailbox of the zone with an @": "becomes a name",
    "the same record twice": "becomes one",
}
# Nobody else sees them.
UNSEEN = (
    "TTL beyond 31 bits", "default TTL beyond 31 bits", "URI without target", "key 65535 of SVCB",
    "CNAME of itself", "loop of CNAMEs", "loop through a wildcard", "loop through a DNAME",
    "DNAME to below itself", "loop of DNAMEs", "CNAME to nothing", "DNAME at a wildcard",
    "data at a cut", "data below a cut", "address below a cut that is no glue",
    "alias below a cut", "cut below a cut", "DS without NS", "DS at a wildcard",
    "name server of the zone is below a cut without glue", "primary that nobody knows",
    "retry longer than refresh", "expire shorter than refresh", "negative answers for a month",
    "null MX and another", "alias of HTTPS to itself", "target that looks absolute",
    "the same record twice", "two SPF policies",
)


def text_of(defect):
    return defect.text if defect.whole else HEAD + defect.text
