#include "dns/rr_type.h"

#include <stdio.h>

#include "base/memory.h"

enum { MNEMONIC_MAX = 10, OPT = 41, META_FIRST = 128, META_LAST = 255 };

struct row {
    uint16_t number;
    bool is_reserved;
    const char *name;
};

// By number.
static const struct row rows[] = {
    {1, false, "A"},       {2, false, "NS"},       {5, false, "CNAME"},
    {6, true, "SOA"},      {12, false, "PTR"},     {13, false, "HINFO"},
    {15, false, "MX"},     {16, false, "TXT"},     {17, false, "RP"},
    {18, false, "AFSDB"},  {24, true, "SIG"},      {25, false, "KEY"},
    {28, false, "AAAA"},   {29, false, "LOC"},     {33, false, "SRV"},
    {35, false, "NAPTR"},  {36, false, "KX"},      {37, false, "CERT"},
    {39, false, "DNAME"},  {41, true, "OPT"},      {42, false, "APL"},
    {43, false, "DS"},     {44, false, "SSHFP"},   {45, false, "IPSECKEY"},
    {46, true, "RRSIG"},   {47, true, "NSEC"},     {48, false, "DNSKEY"},
    {49, false, "DHCID"},  {50, true, "NSEC3"},    {51, true, "NSEC3PARAM"},
    {52, false, "TLSA"},   {53, false, "SMIMEA"},  {55, false, "HIP"},
    {59, false, "CDS"},    {60, false, "CDNSKEY"}, {61, false, "OPENPGPKEY"},
    {62, false, "CSYNC"},  {63, true, "ZONEMD"},   {64, false, "SVCB"},
    {65, false, "HTTPS"},  {99, false, "SPF"},     {104, false, "NID"},
    {105, false, "L32"},   {106, false, "L64"},    {107, false, "LP"},
    {108, false, "EUI48"}, {109, false, "EUI64"},  {249, true, "TKEY"},
    {250, true, "TSIG"},   {251, true, "IXFR"},    {252, true, "AXFR"},
    {253, true, "MAILB"},  {254, true, "MAILA"},   {255, true, "ANY"},
    {256, false, "URI"},   {257, false, "CAA"},    {32768, false, "TA"},
    {32769, false, "DLV"},
};

// Old or rare ones, which not every server reads: they are written as TYPE and number.
static const struct row rare[] = {
    {3, false, "MD"},         {4, false, "MF"},        {7, false, "MB"},
    {8, false, "MG"},         {9, false, "MR"},        {10, false, "NULL"},
    {11, false, "WKS"},       {14, false, "MINFO"},    {19, false, "X25"},
    {20, false, "ISDN"},      {21, false, "RT"},       {22, false, "NSAP"},
    {23, false, "NSAP-PTR"},  {26, false, "PX"},       {27, false, "GPOS"},
    {30, false, "NXT"},       {31, false, "EID"},      {32, false, "NIMLOC"},
    {34, false, "ATMA"},      {38, false, "A6"},       {40, false, "SINK"},
    {56, false, "NINFO"},     {57, false, "RKEY"},     {58, false, "TALINK"},
    {66, false, "DSYNC"},     {67, false, "HHIT"},     {68, false, "BRID"},
    {100, false, "UINFO"},    {101, false, "UID"},     {102, false, "GID"},
    {103, false, "UNSPEC"},   {258, false, "AVC"},     {259, false, "DOA"},
    {260, false, "AMTRELAY"}, {261, false, "RESINFO"}, {262, false, "WALLET"},
};

static const struct row *find(uint16_t type)
{
    size_t low = 0;
    size_t high = COUNT_OF(rows);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rows[middle].number == type)
            return &rows[middle];
        if (rows[middle].number < type)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool read_number(struct text text, uint16_t *type)
{
    int64_t number;
    struct text digits = {text.at + 4, text.len - 4};
    if (text.len < 5 || text.len > 9 || !text_equal_nocase((struct text){text.at, 4}, TEXT("TYPE")))
        return false;
    if (!text_to_int64(digits, &number) || number < 0 || number > UINT16_MAX)
        return false;
    *type = (uint16_t)number;
    return true;
}

// Most are told apart by their first letter.
static bool is_named(const struct row *row, struct text text)
{
    return (*row->name | 0x20) == (*text.at | 0x20) && text_equal_nocase(text, text_of(row->name));
}

static bool read_mnemonic(const struct row *table, size_t count, struct text text, uint16_t *type)
{
    for (size_t i = 0; i < count; i++)
        if (is_named(&table[i], text)) {
            *type = table[i].number;
            return true;
        }
    return false;
}

bool rr_type_read(struct text text, uint16_t *type)
{
    if (!text.len || text.len > MNEMONIC_MAX || *text.at < 'A') // numbers are asked for often
        return false;
    return read_mnemonic(rows, COUNT_OF(rows), text, type) ||
           read_mnemonic(rare, COUNT_OF(rare), text, type) || read_number(text, type);
}

static const char *write_number(uint16_t type, char out[10])
{
    snprintf(out, 10, "TYPE%u", type);
    return out;
}

const char *rr_type_write(uint16_t type, char out[10])
{
    const struct row *row = find(type);
    return row ? row->name : write_number(type, out);
}

const char *rr_type_write_portable(uint16_t type, char out[10])
{
    static const uint16_t unread[] = {24, 55, RR_TA, 32769}; // SIG HIP TA DLV
    for (size_t i = 0; i < COUNT_OF(unread); i++)
        if (unread[i] == type)
            return write_number(type, out);
    return rr_type_write(type, out);
}

bool rr_type_is_meta(uint16_t type)
{
    return type == 0 || type == OPT || (type >= META_FIRST && type <= META_LAST);
}

bool rr_type_is_reserved(uint16_t type)
{
    const struct row *row = find(type);
    return rr_type_is_meta(type) || (row && row->is_reserved);
}
