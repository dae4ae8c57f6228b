#include "dns/corefile/coredns_word.h"

struct word {
    const char *name;
    // Of those that 1.10.1 has not. The release that brought one is not known more exactly.
    struct coredns_version since;
};

static const struct word types[] = {
    {.name = "A"},
    {.name = "AAAA"},
    {.name = "AFSDB"},
    {"AMTRELAY", {1, 11, 0}},
    {.name = "ANY"},
    {.name = "APL"},
    {.name = "ATMA"},
    {.name = "AVC"},
    {.name = "AXFR"},
    {.name = "CAA"},
    {.name = "CDNSKEY"},
    {.name = "CDS"},
    {.name = "CERT"},
    {.name = "CNAME"},
    {.name = "CSYNC"},
    {.name = "DHCID"},
    {.name = "DLV"},
    {.name = "DNAME"},
    {.name = "DNSKEY"},
    {.name = "DS"},
    {.name = "EID"},
    {.name = "EUI48"},
    {.name = "EUI64"},
    {.name = "GID"},
    {.name = "GPOS"},
    {.name = "HINFO"},
    {.name = "HIP"},
    {.name = "HTTPS"},
    {"IPSECKEY", {1, 11, 0}},
    {.name = "ISDN"},
    {.name = "IXFR"},
    {.name = "KEY"},
    {.name = "KX"},
    {.name = "L32"},
    {.name = "L64"},
    {.name = "LOC"},
    {.name = "LP"},
    {.name = "MAILA"},
    {.name = "MAILB"},
    {.name = "MB"},
    {.name = "MD"},
    {.name = "MF"},
    {.name = "MG"},
    {.name = "MINFO"},
    {.name = "MR"},
    {.name = "MX"},
    {.name = "NAPTR"},
    {.name = "NID"},
    {.name = "NIMLOC"},
    {.name = "NINFO"},
    {.name = "NS"},
    {.name = "NSAP-PTR"},
    {.name = "NSEC"},
    {.name = "NSEC3"},
    {.name = "NSEC3PARAM"},
    {.name = "NULL"},
    {"NXNAME", {1, 11, 0}},
    {.name = "NXT"},
    {.name = "None"},
    {.name = "OPENPGPKEY"},
    {.name = "OPT"},
    {.name = "PTR"},
    {.name = "PX"},
    {"RESINFO", {1, 11, 0}},
    {.name = "RKEY"},
    {.name = "RP"},
    {.name = "RRSIG"},
    {.name = "RT"},
    {.name = "Reserved"},
    {.name = "SIG"},
    {.name = "SMIMEA"},
    {.name = "SOA"},
    {.name = "SPF"},
    {.name = "SRV"},
    {.name = "SSHFP"},
    {.name = "SVCB"},
    {.name = "TA"},
    {.name = "TALINK"},
    {.name = "TKEY"},
    {.name = "TLSA"},
    {.name = "TSIG"},
    {.name = "TXT"},
    {.name = "UID"},
    {.name = "UINFO"},
    {.name = "UNSPEC"},
    {.name = "URI"},
    {.name = "X25"},
    {.name = "ZONEMD"},
};

static const struct word classes[] = {{.name = "IN"}, {.name = "CS"},   {.name = "CH"},
                                      {.name = "HS"}, {.name = "NONE"}, {.name = "ANY"}};

static const struct word rcodes[] = {
    {.name = "NOERROR"},       {.name = "FORMERR"}, {.name = "SERVFAIL"}, {.name = "NXDOMAIN"},
    {.name = "NOTIMP"},        {.name = "NOTIMPL"}, {.name = "REFUSED"},  {.name = "YXDOMAIN"},
    {.name = "YXRRSET"},       {.name = "NXRRSET"}, {.name = "NOTAUTH"},  {.name = "NOTZONE"},
    {.name = "BADSIG"},        {.name = "BADKEY"},  {.name = "BADTIME"},  {.name = "BADMODE"},
    {.name = "BADNAME"},       {.name = "BADALG"},  {.name = "BADTRUNC"}, {.name = "BADCOOKIE"},
    {"DSOTYPENI", {1, 11, 0}},
};

static bool has_word(const struct word *words, size_t count, struct text text,
                     struct coredns_version version)
{
    for (size_t i = 0; i < count; i++)
        if (text_is(text, words[i].name))
            return !coredns_version_is_before(version, words[i].since);
    return false;
}

bool coredns_is_type(struct text text, struct coredns_version version)
{
    return has_word(types, COUNT_OF(types), text, version);
}

bool coredns_is_class(struct text text)
{
    return has_word(classes, COUNT_OF(classes), text, coredns_newest);
}

bool coredns_is_rcode(struct text text, struct coredns_version version)
{
    return has_word(rcodes, COUNT_OF(rcodes), text, version);
}

struct text coredns_word_upper(struct arena *arena, struct text text)
{
    char *out = arena_new_array(arena, char, text.len + 1);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        out[i] = (char)(c >= 'a' && c <= 'z' ? c + 'A' - 'a' : c);
    }
    return (struct text){out, text.len};
}
