#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/memory.h"
#include "dns/rdata.h"
#include "dns/rr_type.h"

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};
static const struct rdata_rules rules = {.origin = &shop, .names = DNAME_OF_OBJECT};

static uint16_t type_of(const char *name)
{
    uint16_t type = 0;
    assert_true(rr_type_read(text_of(name), &type));
    return type;
}

static unsigned read_as(const char *type, struct text text, struct buffer *out)
{
    unsigned marks = 0;
    struct error err = {0};
    if (!rdata_read(type_of(type), text, &rules, out, &marks, &err))
        fail_msg("%s '%.*s' was refused: %s", type, TEXT_ARGS(text), err.text);
    return marks;
}

static void expect_hex(struct text rdata, const char *hex)
{
    AUTO_BUFFER out = {0};
    char pair[3];
    for (size_t i = 0; i < rdata.len; i++) {
        hex_encode(rdata.at + i, 1, pair);
        buffer_add_text(&out, pair);
    }
    assert_string_equal(out.at ? out.at : "", hex);
}

// As the examples of the RFCs have it, and other encoders.
static const struct {
    const char *type;
    const char *text;
    const char *hex;
    const char *canonical; // NULL: as the text
} vectors[] = {
    {"A", "192.0.2.1", "c0000201", NULL},
    {"AAAA", "::1", "00000000000000000000000000000001", NULL},
    {"AAAA", "2001:DB8::", "20010db8000000000000000000000000", "2001:db8::"},
    {"AAAA", "::ffff:192.0.2.1", "00000000000000000000ffffc0000201", NULL},
    {"AAAA", "1:2:3:4:5:6:7:8", "00010002000300040005000600070008", NULL},
    {"AAAA", "1:2:3:4:5:6:7::", "00010002000300040005000600070000", "1:2:3:4:5:6:7:0"},
    {"MX", "10 mail.shop.example",
     "000a046d61696c0473686f70076578616d706c650473686f70076578616d706c6500",
     "10 mail.shop.example.shop.example."},
    {"NS", "ns1.example.org", "036e7331076578616d706c65036f72670473686f70076578616d706c6500",
     "ns1.example.org.shop.example."},
    {"TXT", "v=spf1 include:x (a; b) ~all",
     "1c763d7370663120696e636c7564653a782028613b206229207e616c6c",
     "\"v=spf1 include:x (a; b) ~all\""},
    {"TXT", "\"a\"\"b\"", "01610162", "\"a\" \"b\""},
    {"TXT", "\"a\" \"b c\" \"\\\"q\\\\ \\065\"", "0161036220630522715c2041",
     "\"a\" \"b c\" \"\\\"q\\\\ A\""},
    {"TXT", "  abc  ", "03616263", "\"abc\""},
    {"CAA", "0 issue \"ca.example.net; x=y\"",
     "0005697373756563612e6578616d706c652e6e65743b20783d79", NULL},
    {"CAA", "128 iodef mailto:a@b", "8005696f6465666d61696c746f3a614062",
     "128 iodef \"mailto:a@b\""},
    {"LOC", "42 21 54 N 71 06 18 W -24m 30m", "0033161389172dd070be15f000988d20",
     "42 21 54.000 N 71 6 18.000 W -24.00m 30.00m 10000.00m 10.00m"},
    {"LOC", "52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m",
     "000016138b3cf018810cbce0009895b8",
     "52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000.00m 10.00m"},
    {"APL", "1:192.168.32.0/21 !1:192.168.38.0/28", "00011503c0a82000011c83c0a826", NULL},
    {"APL", "2:FF00:0:0:0:0:0:0:0/8", "00020801ff", "2:ff00::/8"},
    {"IPSECKEY", "10 1 2 192.0.2.38 AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==",
     "0a0102c0000226010351537986ed35533b6064478eeeb27b5bd74dae149b6e81ba3a0521af82ab7801", NULL},
    {"IPSECKEY", "10 0 2 . AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==",
     "0a0002010351537986ed35533b6064478eeeb27b5bd74dae149b6e81ba3a0521af82ab7801", NULL},
    {"IPSECKEY", "10 3 2 mygateway.example.com. AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==",
     "0a0302096d7967617465776179076578616d706c6503636f6d00010351537986ed35533b6064478eeeb27b5bd74da"
     "e149b6e81ba3a0521af82ab7801",
     NULL},
    {"IPSECKEY", "10 2 2 2001:0DB8:0:8002::2000:1 AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==",
     "0a020220010db8000080020000000020000001010351537986ed35533b6064478eeeb27b5bd74dae149b6e81ba3a0"
     "521af82ab7801",
     "10 2 2 2001:db8:0:8002::2000:1 AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ=="},
    {"HIP",
     "2 200100107B1A74DF365639CC39F1D578 "
     "AwEAAbdxyhNuSutc5EMzxTs9LBPCIkOFH8cIvM4p9+LrV4e19WzK00+CI6zBCQTdtWsuxKbWIy87UOoJTwkUs7lBu+"
     "Upr1gsNrut79ryra+bSRGQb1slImA8YVJyuIDsj7kwzG7jnERNqnWxZ48AWkskmdHaVDP4BcelrTI3rMXdXF5D "
     "rvs1.example.com. rvs2.example.com.",
     "10020084200100107b1a74df365639cc39f1d57803010001b771ca136e4aeb5ce44333c53b3d2c13c22243851fc70"
     "8bcce29f7e2eb5787b5f56ccad34f8223acc10904ddb56b2ec4a6d6232f3b50ea094f0914b3b941bbe529af582c36"
     "bbadefdaf2adaf9b4911906f5b2522603c615272b880ec8fb930cc6ee39c444daa75b1678f005a4b2499d1da5433f"
     "805c7a5ad3237acc5dd5c5e430472767331076578616d706c6503636f6d000472767332076578616d706c6503636f"
     "6d00",
     NULL},
    {"SVCB", "0 foo.example.com.", "000003666f6f076578616d706c6503636f6d00", NULL},
    {"SVCB", "0 . port=53", "000000000300020035", NULL}, // ignored, but legal
    {"SVCB", "1 .", "000100", NULL},
    {"SVCB", "16 foo.example.com. port=53", "001003666f6f076578616d706c6503636f6d00000300020035",
     NULL},
    {"SVCB", "1 foo.example.com. key667=hello",
     "000103666f6f076578616d706c6503636f6d00029b000568656c6c6f",
     "1 foo.example.com. key667=\"hello\""},
    {"SVCB", "1 foo.example.com. key667=\"hello\\210qoo\"",
     "000103666f6f076578616d706c6503636f6d00029b000968656c6c6fd2716f6f", NULL},
    {"SVCB", "1 foo.example.com. ipv6hint=\"2001:db8::1,2001:db8::53:1\"",
     "000103666f6f076578616d706c6503636f6d000006002020010db800000000000000000000000120010db80000000"
     "00000000000530001",
     "1 foo.example.com. ipv6hint=2001:db8::1,2001:db8::53:1"},
    {"SVCB", "1 example.com. ipv6hint=\"2001:db8:122:344::192.0.2.33\"",
     "0001076578616d706c6503636f6d000006001020010db80122034400000000c0000221",
     "1 example.com. ipv6hint=2001:db8:122:344::c000:221"},
    {"SVCB", "16 foo.example.org. alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1",
     "001003666f6f076578616d706c65036f7267000000000400010004000100090268320568332d313900040004c0000"
     "201",
     "16 foo.example.org. mandatory=alpn,ipv4hint alpn=\"h2,h3-19\" ipv4hint=192.0.2.1"},
    {"SVCB", "16 foo.example.org. alpn=\"f\\\\\\\\oo\\\\,bar,h2\"",
     "001003666f6f076578616d706c65036f7267000001000c08665c6f6f2c626172026832", NULL},
    {"SVCB", "16 foo.example.org. alpn=f\\\\\\092oo\\092,bar,h2",
     "001003666f6f076578616d706c65036f7267000001000c08665c6f6f2c626172026832",
     "16 foo.example.org. alpn=\"f\\\\\\\\oo\\\\,bar,h2\""},
    {"SVCB", "1 . dohpath=/dns-query{?dns} alpn=h2",
     "00010000010003026832000700102f646e732d71756572797b3f646e737d",
     "1 . alpn=\"h2\" key7=\"/dns-query{?dns}\""},
    {"SVCB", "1 . ech=AEP+DQA/AAAgACBz", "0001000005000c0043fe0d003f000020002073", NULL},
    {"CDS", "0 0 0 00", "0000000000", NULL},
    {"CDNSKEY", "0 3 0 AA==", "0000030000", NULL},
    {"DS", "60485 RSASHA1 SHA-1 2BB183AF5F22588179A53B0A 98631FAD1A292118",
     "ec4505012bb183af5f22588179a53b0a98631fad1a292118",
     "60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118"},
    {"SSHFP", "2 1 123456789abcdef67890123456789abcdef67890",
     "0201123456789abcdef67890123456789abcdef67890",
     "2 1 123456789ABCDEF67890123456789ABCDEF67890"},
    {"TLSA", "0 0 1 d2abde240d7cd3ee6b4b28c54df034b97983a1d16e8a410e4561cb106618e971",
     "000001d2abde240d7cd3ee6b4b28c54df034b97983a1d16e8a410e4561cb106618e971",
     "0 0 1 D2ABDE240D7CD3EE6B4B28C54DF034B97983A1D16E8A410E4561CB106618E971"},
    {"NAPTR", "100 50 \"s\" \"z3950+I2L+I2C\" \"\" _z3950._tcp.gatech.edu.",
     "0064003201730d7a333935302b49324c2b49324300065f7a33393530045f746370066761746563680365647500",
     NULL},
    {"NAPTR", "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:info@example.com!\" .",
     "0064000a0175074532552b7369701b215e2e2a24217369703a696e666f406578616d706c652e636f6d2100",
     NULL},
    {"NAPTR", "100 10 \"u\" \"E2U+sip\" \"!^(\\\\d+)$!sip:\\\\1@example.com!i\" .",
     "0064000a0175074532552b7369701d215e285c642b2924217369703a5c31406578616d706c652e636f6d216900",
     NULL},
    {"RRSIG",
     "A 5 3 86400 20030322173103 20030220173103 2642 example.com. "
     "oJB1W6WNGv+ldvQ3WDG0MQkg5IEhjRip8WTrPYGv07h108dUKGMeDPKijVCHX3DDKdfb+v6oB9wfuh3DTJXUAfI/"
     "M0zmO/zz8bW0Rznl8O3tGNazPwQKkRN20XPXV6nwwfoXmJQbsLNrLfkGJ5D6fwFm8nN+6pBzeDQfsS3Ap3o=",
     "00010503000151803e7c9dd73e5510d70a52076578616d706c6503636f6d00a090755ba58d1affa576f4375831b43"
     "10920e481218d18a9f164eb3d81afd3b875d3c75428631e0cf2a28d50875f70c329d7dbfafea807dc1fba1dc34c95"
     "d401f23f334ce63bfcf3f1b5b44739e5f0eded18d6b33f040a911376d173d757a9f0c1fa1798941bb0b36b2df9062"
     "790fa7f0166f2737eea907378341fb12dc0a77a",
     NULL},
    {"NSEC", "host.example.com. A MX RRSIG NSEC TYPE1234",
     "04686f7374076578616d706c6503636f6d000006400100000003041b0000000000000000000000000000000000000"
     "00000000000000020",
     NULL},
    {"NSEC3", "1 1 12 aabbccdd 2t7b4g4vsa5smi47k61mv5bv1a22bojr MX DNSKEY NS SOA NSEC3PARAM RRSIG",
     "0101000c04aabbccdd14174eb2409fe28bcb4887a1836f957f0a8425e27b000722010000000290",
     "1 1 12 AABBCCDD 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR NS SOA MX RRSIG DNSKEY NSEC3PARAM"},
    {"NSEC3", "1 1 12 - 2t7b4g4vsa5smi47k61mv5bv1a22bojr",
     "0101000c0014174eb2409fe28bcb4887a1836f957f0a8425e27b",
     "1 1 12 - 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR"},
    {"NSEC3PARAM", "1 0 12 aabbccdd", "0100000c04aabbccdd", "1 0 12 AABBCCDD"},
    {"CSYNC", "66 3 A NS AAAA", "000000420003000460000008", NULL},
    {"CERT", "PGP 0 0 AQNRU3mG", "0003000000010351537986", "3 0 0 AQNRU3mG"},
    {"URI", "10 1 \"ftp://ftp1.example.com/public\"",
     "000a00016674703a2f2f667470312e6578616d706c652e636f6d2f7075626c6963", NULL},
    {"NID", "10 0014:4fff:ff20:ee64", "000a00144fffff20ee64", NULL},
    {"NID", "10 14:4fff:ff20:ee64", "000a00144fffff20ee64", "10 0014:4fff:ff20:ee64"},
    {"L32", "10 10.1.2.0", "000a0a010200", NULL},
    {"L64", "10 2001:0DB8:1140:1000", "000a20010db811401000", "10 2001:0db8:1140:1000"},
    {"LP", "10 l64-subnet1.example.com.", "000a0b6c36342d7375626e657431076578616d706c6503636f6d00",
     NULL},
    {"EUI48", "00-00-5e-00-53-2a", "00005e00532a", NULL},
    {"EUI64", "00-00-5e-ef-10-00-00-2a", "00005eef1000002a", NULL},
    {"ZONEMD",
     "2018031500 1 1 "
     "FEBE3D4CE2EC2FFA4BA99D46CD69D6D29711E55217057BEE7EB1A7B641A47BA7FED2DD5B97AE499FAFA4F22C6BD64"
     "7DE",
     "7848b78c0101febe3d4ce2ec2ffa4ba99d46cd69d6d29711e55217057bee7eb1a7b641a47ba7fed2dd5b97ae499fa"
     "fa4f22c6bd647de",
     NULL},
    {"SOA", "ns1 hostmaster 2026112100 1d 2h 1000h 360",
     "036e73310473686f70076578616d706c65000a686f73746d61737465720473686f70076578616d706c650078c4046"
     "40001518000001c200036ee8000000168",
     "ns1.shop.example. hostmaster.shop.example. 2026112100 86400 7200 3600000 360"},
    {"TYPE65280", "\\# 4 DEADBEEF", "deadbeef", NULL},
    {"A", "\\# 4 C0000201", "c0000201", "192.0.2.1"},
    {"MX", "\\# 5 000A01610 0", "000a016100", "10 a."},
    {"TA", "60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118",
     "ec4505012bb183af5f22588179a53b0a98631fad1a292118", NULL},
    {"DHCID", "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=",
     "000201636fc0b8271c82825bb1ac5c41cf5351aa69b4febd94e8f17cdb95000da48c40", NULL},
    {"OPENPGPKEY", "AQNRU3mG", "010351537986", NULL},
    {"HINFO", "\"PC-Intel-700mhz\" Linux", "0f50432d496e74656c2d3730306d687a054c696e7578",
     "\"PC-Intel-700mhz\" \"Linux\""},
    {"KX", "10 kx", "000a026b780473686f70076578616d706c6500", "10 kx.shop.example."},
    {"DNAME", "x.y", "017801790473686f70076578616d706c6500", "x.y.shop.example."},
    {"KEY", "49152 3 1", "c0000301", NULL},
    {"KEY",
     "256 3 5 "
     "AQPSKmynfzW4kyBv015MUG2DeIQ3Cbl+BBZH4b/"
     "0PY1kxkmvHjcZc8nokfzj31GajIQKY+"
     "5CptLr3buXA10hWqTkF7H6RfoRqXQeogmMHfpftf6zMv1LyBUgia7za6ZEzOJBOztyvhjL742iU/"
     "TpPSEDhm2SNKLijfUppn1UaNvv4w==",
     "010003050103d22a6ca77f35b893206fd35e4c506d8378843709b97e041647e1bff43d8d64c649af1e371973c9e89"
     "1fce3df519a8c840a63ee42a6d2ebddbb97035d215aa4e417b1fa45fa11a9741ea2098c1dfa5fb5feb332fd4bc815"
     "2089aef36ba644cce2413b3b72be18cbef8da253f4e93d2103866d9234a2e28df529a67d5468dbefe3",
     NULL},
    {"TYPE27", "-32.6882 116.8652 10.0", "082d33322e36383832083131362e383635320431302e30",
     "\\# 23 082D33322E36383832083131362E383635320431302E30"},
    {"MX", "0 .", "000000", NULL},
    {"PTR", "host.shop.example.", "04686f73740473686f70076578616d706c6500", NULL},
    {"CNAME", "@", "0473686f70076578616d706c6500", "shop.example."},
    {"CNAME", "WWW.Example.ORG.", "03777777076578616d706c65036f726700", "www.example.org."},
    {"SRV", "0 5 5060 sip", "0000000513c4037369700473686f70076578616d706c6500",
     "0 5 5060 sip.shop.example."},
    {"RP", "admin.example. txt.example.",
     "0561646d696e076578616d706c650003747874076578616d706c6500", NULL},
    {"AFSDB", "1 afs.example.", "000103616673076578616d706c6500", NULL},
    {"HINFO", "\"\" \"a\\\"b\\\\c\\007\"", "00066122625c6307", NULL},
    {"SPF", "v=spf1 -all", "0b763d73706631202d616c6c", "\"v=spf1 -all\""},
    {"DNSKEY",
     "256 3 RSASHA1 "
     "AQPSKmynfzW4kyBv015MUG2DeIQ3Cbl+BBZH4b/"
     "0PY1kxkmvHjcZc8nokfzj31GajIQKY+"
     "5CptLr3buXA10hWqTkF7H6RfoRqXQeogmMHfpftf6zMv1LyBUgia7za6ZEzOJBOztyvhjL742iU/"
     "TpPSEDhm2SNKLijfUppn1UaNvv4w==",
     "010003050103d22a6ca77f35b893206fd35e4c506d8378843709b97e041647e1bff43d8d64c649af1e371973c9e89"
     "1fce3df519a8c840a63ee42a6d2ebddbb97035d215aa4e417b1fa45fa11a9741ea2098c1dfa5fb5feb332fd4bc815"
     "2089aef36ba644cce2413b3b72be18cbef8da253f4e93d2103866d9234a2e28df529a67d5468dbefe3",
     "256 3 5 "
     "AQPSKmynfzW4kyBv015MUG2DeIQ3Cbl+BBZH4b/"
     "0PY1kxkmvHjcZc8nokfzj31GajIQKY+"
     "5CptLr3buXA10hWqTkF7H6RfoRqXQeogmMHfpftf6zMv1LyBUgia7za6ZEzOJBOztyvhjL742iU/"
     "TpPSEDhm2SNKLijfUppn1UaNvv4w=="},
    {"SMIMEA", "3 0 0 d2abde24 0d7cd3ee", "030000d2abde240d7cd3ee", "3 0 0 D2ABDE240D7CD3EE"},
    {"DLV", "1 8 SHA-256 D2ABDE240D7CD3EE6B4B28C54DF034B97983A1D16E8A410E4561CB106618E971",
     "00010802d2abde240d7cd3ee6b4b28c54df034b97983a1d16e8a410e4561cb106618e971",
     "1 8 2 D2ABDE240D7CD3EE6B4B28C54DF034B97983A1D16E8A410E4561CB106618E971"},
    {"HTTPS", "0 www", "0000037777770473686f70076578616d706c6500", "0 www.shop.example."},
    {"HTTPS", "1 . no-default-alpn alpn=h2 ohttp", "000100000100030268320002000000080000",
     "1 . alpn=\"h2\" no-default-alpn key8"},
    {"HTTPS", "1 . key1=\"\\002h2\" key65000", "00010000010003026832fde80000",
     "1 . alpn=\"h2\" key65000"},
    {"APL", "", "", NULL},
    {"CSYNC", "66 3", "000000420003", NULL},
    {"SIG", "A 5 3 3600 20380119031407 0 2642 example.com. oJB1W6WNGv8=",
     "0001050300000e107fffffff000000000a52076578616d706c6503636f6d00a090755ba58d1aff",
     "A 5 3 3600 20380119031407 19700101000000 2642 example.com. oJB1W6WNGv8="},
    {"RRSIG", "A 5 3 0 21060207062815 20040229235959 1 . AAAA",
     "0001050300000000ffffffff40427cff000100000000",
     "A 5 3 0 21060207062815 20040229235959 1 . AAAA"},
    {"CAA", "0 ISSUE \";\"", "000569737375653b", "0 issue \";\""},
    {"WKS", "192.0.2.1 TCP smtp ftp 0",
     "c000020106"
     "80000440",
     "\\# 9 C00002010680000440"},
    {"WKS", "192.0.2.1 17", "c000020111", "\\# 5 C000020111"},
    {"EID", "00 11 aa", "0011aa", "\\# 3 0011AA"},
    {"NIMLOC", "32251a", "32251a", "\\# 3 32251A"},
    {"ATMA", "+358400", "01333538343030", "\\# 7 01333538343030"},
    {"ATMA", "3900", "003900", "\\# 3 003900"},
    {"A6", "64 ::1:2:3:4 net.example.",
     "400001000200030004"
     "036e6574076578616d706c6500",
     "\\# 22 400001000200030004036E6574076578616D706C6500"},
    {"A6", "0 2001:db8::1", "0020010db8000000000000000000000001",
     "\\# 17 0020010DB8000000000000000000000001"},
    {"SINK", "1 2 3 AAAA", "010203000000", "\\# 6 010203000000"},
    {"SINK", "1 2 3", "010203", "\\# 3 010203"},
    {"RKEY", "0 3 8 AAAA", "00000308000000", "\\# 7 00000308000000"},
    {"DSYNC", "CDS NOTIFY 5359 s.example.", "003b0114ef0173076578616d706c6500",
     "\\# 16 003B0114EF0173076578616D706C6500"},
    {"DOA", "1 2 3 \"text/plain\" AAAA", "0000000100000002030a746578742f706c61696e000000",
     "\\# 23 0000000100000002030A746578742F706C61696E000000"},
    {"DOA", "0 1 2 \"\" -", "00000000000000010200", "\\# 10 00000000000000010200"},
    {"AMTRELAY", "10 0 1 192.0.2.1", "0a01c0000201", "\\# 6 0A01C0000201"},
    {"AMTRELAY", "10 1 3 a.example.", "0a830161076578616d706c6500",
     "\\# 13 0A830161076578616D706C6500"},
    {"AMTRELAY", "10 0 0 .", "0a00", "\\# 2 0A00"},
    {"RESINFO", "qnamemin", "08716e616d656d696e", "\\# 9 08716E616D656D696E"},
    {"WALLET", "ETH 0xab",
     "0345544804"
     "30786162",
     "\\# 9 034554480430786162"},
    {"X25", "311061700956", "0c333131303631373030393536", "\\# 13 0C333131303631373030393536"},
    {"TYPE14", "a.example. b.example.", "0161076578616d706c65000162076578616d706c6500",
     "\\# 22 0161076578616D706C65000162076578616D706C6500"},
    {"TYPE19", "\"311061700956\"", "0c333131303631373030393536",
     "\\# 13 0C333131303631373030393536"},
    {"TYPE20", "\"150862028003217\" \"004\"", "0f31353038363230323830303332313703303034",
     "\\# 20 0F31353038363230323830303332313703303034"},
    {"TYPE20", "150862028003217", "0f313530383632303238303033323137",
     "\\# 16 0F313530383632303238303033323137"},
    {"TYPE21", "10 a.example.", "000a0161076578616d706c6500", "\\# 13 000A0161076578616D706C6500"},
    {"TYPE22", "0x47.0005.80.005a00.0000.0001.e133.ffffff000161.00",
     "47000580005a0000000001e133ffffff00016100", "\\# 20 47000580005A0000000001E133FFFFFF00016100"},
    {"TYPE26", "10 a.example. b.example.", "000a0161076578616d706c65000162076578616d706c6500",
     "\\# 24 000A0161076578616D706C65000162076578616D706C6500"},
    {"TYPE27", "-32.6882 116.8652 10.0", "082d33322e36383832083131362e383635320431302e30",
     "\\# 23 082D33322E36383832083131362E383635320431302E30"},
    {"TYPE58", "a.example. b.example.", "0161076578616d706c65000162076578616d706c6500",
     "\\# 22 0161076578616D706C65000162076578616D706C6500"},
    {"TYPE258", "\"a\" \"b\"", "01610162", "\\# 4 01610162"},
    {"TYPE30", "\\# 6 016100000142", "016100000142", NULL},
    {"TYPE10", "\\# 2 ABCD", "abcd", NULL},
};

static void every_type_is_read_into_the_wire_format_of_its_rfc(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        AUTO_BUFFER rdata = {0};
        read_as(vectors[i].type, text_of(vectors[i].text), &rdata);
        expect_hex(buffer_text(&rdata), vectors[i].hex);
    }
}

static void canonical_text_is_written_and_read_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        AUTO_BUFFER rdata = {0};
        AUTO_BUFFER text = {0};
        AUTO_BUFFER again = {0};
        read_as(vectors[i].type, text_of(vectors[i].text), &rdata);
        rdata_write(&text, type_of(vectors[i].type), buffer_text(&rdata));
        assert_string_equal(text.at ? text.at : "",
                            vectors[i].canonical ? vectors[i].canonical : vectors[i].text);
        read_as(vectors[i].type, buffer_text(&text), &again);
        assert_true(text_equal(buffer_text(&again), buffer_text(&rdata)));
    }
}

static void every_type_is_taken_from_a_message_and_from_its_generic_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        AUTO_BUFFER rdata = {0};
        AUTO_BUFFER taken = {0};
        AUTO_BUFFER text = {0};
        AUTO_BUFFER again = {0};
        struct error err = {0};
        read_as(vectors[i].type, text_of(vectors[i].text), &rdata);
        struct text octets = buffer_text(&rdata);
        if (!rdata_take(type_of(vectors[i].type), octets, 0, octets.len, &taken, &err))
            fail_msg("%s %s was not taken: %s", vectors[i].type, vectors[i].text, err.text);
        assert_true(text_equal(buffer_text(&taken), octets));
        buffer_printf(&text, "\\# %zu %s", octets.len, vectors[i].hex);
        read_as(vectors[i].type, buffer_text(&text), &again);
        assert_true(text_equal(buffer_text(&again), octets));
    }
}

static unsigned marks_of(const char *type, const char *text)
{
    AUTO_BUFFER out = {0};
    return read_as(type, text_of(text), &out);
}

static void relative_names_that_look_absolute_are_marked(void **state)
{
    (void)state;
    assert_int_equal(marks_of("CNAME", "www"), 0);
    assert_int_equal(marks_of("CNAME", "@"), 0);
    assert_int_equal(marks_of("CNAME", "a\\.b"), 0);
    assert_int_equal(marks_of("CNAME", "www.example.org."), 0);
    assert_int_equal(marks_of("CNAME", "www.example.org"), RDATA_RELATIVE_LABELS);
    assert_int_equal(marks_of("MX", "10 mail.shop.example"),
                     RDATA_RELATIVE_LABELS | RDATA_RELATIVE_ZONE);
    assert_int_equal(marks_of("NS", "Shop.Example"), RDATA_RELATIVE_LABELS | RDATA_RELATIVE_ZONE);
    assert_int_equal(marks_of("NS", "workshop.example"), RDATA_RELATIVE_LABELS);
}

static void long_strings_are_cut_in_pieces_of_255_octets(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < 255; i++)
        buffer_add_char(&text, 'a');
    assert_int_equal(read_as("TXT", buffer_text(&text), &out), 0);
    assert_int_equal(out.len, 256);
    buffer_clear(&out);
    buffer_add_text(&text, "\\098");
    assert_int_equal(read_as("TXT", buffer_text(&text), &out), RDATA_STRING_CUT);
    assert_int_equal(out.len, 258);
    assert_memory_equal(out.at + 255, "a\1b", 3);
    AUTO_BUFFER quoted = {0};
    buffer_printf(&quoted, "\"%s\" \"c\"", text.at);
    buffer_clear(&out);
    assert_int_equal(read_as("SPF", buffer_text(&quoted), &out), RDATA_STRING_CUT);
    assert_memory_equal(out.at + 255, "a\1b\1c", 5);
}

static void text_without_quotes_is_one_string(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    read_as("TXT", TEXT("  (v=DKIM1\\; k=\"rsa\"; p=)\\   "), &out);
    assert_string_equal(out.at, "\x17(v=DKIM1; k=\"rsa\"; p=) ");
}

static void words_of_a_file_are_a_string_each(void **state)
{
    (void)state;
    static const struct rdata_word words[] = {{TEXT("a;\tb"), true}, {TEXT("c\\ d"), false}};
    AUTO_BUFFER out = {0};
    unsigned marks = 1;
    assert_true(rdata_read_words(RR_TXT, words, 2, &rules, &out, &marks, NULL));
    assert_string_equal(out.at, "\4a;\tb\3c d");
    assert_int_equal(marks, 0);
}

static void quotes_behind_the_sign_of_a_parameter_hold_its_value(void **state)
{
    (void)state;
    static const char *const same[] = {"1 . alpn=h2,h3 port=53", "1 . alpn=\"h2,h3\" port=\"53\"",
                                       "1 . port=53 ALPN=\"h\\050,h3\""};
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        AUTO_BUFFER out = {0};
        read_as("HTTPS", text_of(same[i]), &out);
        expect_hex(buffer_text(&out), "0001000001000602683202683300030002"
                                      "0035");
    }
}

static void numbers_and_mnemonics_of_algorithms_are_the_same(void **state)
{
    (void)state;
    AUTO_BUFFER number = {0};
    AUTO_BUFFER name = {0};
    read_as("DNSKEY", TEXT("257 3 13 aGVsbG8="), &number);
    read_as("DNSKEY", TEXT("257 3 ecdsap256sha256 aGVs bG8="), &name);
    assert_true(text_equal(buffer_text(&number), buffer_text(&name)));
}

static void targets_are_the_names_that_a_record_points_at(void **state)
{
    (void)state;
    static const char *const with[][2] = {
        {"NS", "www"},      {"CNAME", "www"},          {"DNAME", "www"},
        {"PTR", "www"},     {"MX", "10 www"},          {"SRV", "1 2 3 www"},
        {"SVCB", "0 www"},  {"HTTPS", "1 www port=1"}, {"KX", "1 www"},
        {"AFSDB", "1 www"}, {"LP", "1 www"},           {"NAPTR", "1 2 s \"\" \"\" www"}};
    static const char *const without[][2] = {
        {"A", "192.0.2.1"}, {"RP", "a b"}, {"TXT", "a"}, {"TYPE65280", "\\# 0"}};
    struct dname target;
    for (size_t i = 0; i < COUNT_OF(with); i++) {
        AUTO_BUFFER out = {0};
        read_as(with[i][0], text_of(with[i][1]), &out);
        assert_true(rdata_target(type_of(with[i][0]), buffer_text(&out), &target));
        assert_int_equal(target.len, 18);
        assert_memory_equal(target.at, "\3www\4shop\7example", 18);
    }
    for (size_t i = 0; i < COUNT_OF(without); i++) {
        AUTO_BUFFER out = {0};
        read_as(without[i][0], text_of(without[i][1]), &out);
        assert_false(rdata_target(type_of(without[i][0]), buffer_text(&out), &target));
    }
}

static void names_of_the_first_types_alone_may_be_compressed(void **state)
{
    (void)state;
    static const char *const yes[] = {"NS", "CNAME", "SOA", "PTR", "MX", "TYPE7", "TYPE14"};
    static const char *const no[] = {"A", "SRV", "DNAME", "RP", "RRSIG", "HTTPS", "TYPE65280"};
    for (size_t i = 0; i < COUNT_OF(yes); i++)
        assert_true(rdata_is_compressible(type_of(yes[i])));
    for (size_t i = 0; i < COUNT_OF(no); i++)
        assert_false(rdata_is_compressible(type_of(no[i])));
    AUTO_BUFFER out = {0};
    uint16_t offsets[4];
    read_as("SOA", TEXT("a.example. b.example. 1 2 3 4 5"), &out);
    assert_int_equal(rdata_names(RR_SOA, buffer_text(&out), offsets, 4), 2);
    assert_int_equal(offsets[0], 0);
    assert_int_equal(offsets[1], 11);
    assert_int_equal(rdata_names(RR_SOA, buffer_text(&out), offsets, 1), 1);
    assert_int_equal(rdata_names(RR_A, TEXT("\1\2\3\4"), offsets, 4), 0);
}

static void what_stands_in_the_buffer_already_stays(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    struct error err;
    unsigned marks = 7;
    buffer_add_text(&out, "before");
    read_as("IPSECKEY", TEXT("10 1 2 192.0.2.38 AQNRU3mG"), &out);
    assert_int_equal(out.len, 6 + 13);
    assert_false(rdata_read(RR_MX, TEXT("10 a b"), &rules, &out, &marks, &err));
    assert_int_equal(out.len, 6 + 13);
    assert_int_equal(marks, 7);
    assert_memory_equal(out.at, "before\12\1\2", 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read_into_the_wire_format_of_its_rfc),
        cmocka_unit_test(canonical_text_is_written_and_read_back),
        cmocka_unit_test(every_type_is_taken_from_a_message_and_from_its_generic_form),
        cmocka_unit_test(relative_names_that_look_absolute_are_marked),
        cmocka_unit_test(long_strings_are_cut_in_pieces_of_255_octets),
        cmocka_unit_test(text_without_quotes_is_one_string),
        cmocka_unit_test(words_of_a_file_are_a_string_each),
        cmocka_unit_test(quotes_behind_the_sign_of_a_parameter_hold_its_value),
        cmocka_unit_test(numbers_and_mnemonics_of_algorithms_are_the_same),
        cmocka_unit_test(targets_are_the_names_that_a_record_points_at),
        cmocka_unit_test(names_of_the_first_types_alone_may_be_compressed),
        cmocka_unit_test(what_stands_in_the_buffer_already_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
