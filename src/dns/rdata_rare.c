#include <string.h>

#include "base/memory.h"
#include "dns/rdata_private.h"

// Types that hardly anybody writes, though named decodes them in every transfer: WKS (RFC 1035
// 3.4.2), ATMA (ATM Forum af-saa-0069), A6 (RFC 2874 3.1), AMTRELAY (RFC 8777 4), DOA
// (draft-durand-doa-over-dns).

// ---- WKS ----------------------------------------------------------------------------------------

enum { WKS_BITMAP_AT = 5, WKS_BITMAP_MAX = 8192, PORT_OCTETS = 8 };

struct named_number {
    const char *name;
    uint16_t number;
};

// Those of RFC 1340 that were in use when WKS was.
static const struct named_number protocols[] = {{"icmp", 1}, {"tcp", 6}, {"udp", 17}};
static const struct named_number services[] = {
    {"echo", 7},      {"discard", 9},  {"systat", 11},     {"daytime", 13}, {"netstat", 15},
    {"qotd", 17},     {"chargen", 19}, {"ftp-data", 20},   {"ftp", 21},     {"ssh", 22},
    {"telnet", 23},   {"smtp", 25},    {"time", 37},       {"rlp", 39},     {"nameserver", 42},
    {"nicname", 43},  {"whois", 43},   {"domain", 53},     {"bootps", 67},  {"tftp", 69},
    {"gopher", 70},   {"finger", 79},  {"http", 80},       {"www", 80},     {"link", 87},
    {"kerberos", 88}, {"supdup", 95},  {"hostnames", 101}, {"pop2", 109},   {"pop3", 110},
    {"sunrpc", 111},  {"auth", 113},   {"sftp", 115},      {"nntp", 119},   {"ntp", 123},
    {"imap", 143},    {"snmp", 161},   {"https", 443},
};

static bool number_or_name(struct rdata_reader *reader, const char *noun,
                           const struct named_number *rows, size_t count, uint32_t max,
                           uint32_t *number)
{
    const struct rdata_word *word = rdata_next_plain(reader, noun);
    if (!word)
        return false;
    for (size_t i = 0; i < count; i++)
        if (text_equal_nocase(word->text, text_of(rows[i].name))) {
            *number = rows[i].number;
            return true;
        }
    return rdata_number(reader, word->text, max, number);
}

bool rdata_wks_read(struct rdata_reader *reader)
{
    uint8_t bitmap[WKS_BITMAP_MAX] = {0};
    uint32_t number = 0;
    size_t len = 0;
    if (!number_or_name(reader, "a protocol", protocols, COUNT_OF(protocols), UINT8_MAX, &number))
        return false;
    buffer_add_char(reader->out, (char)number);
    while (rdata_has_next(reader)) {
        if (!number_or_name(reader, "a service", services, COUNT_OF(services), UINT16_MAX, &number))
            return false;
        bitmap[number / PORT_OCTETS] |= (uint8_t)(0x80U >> number % PORT_OCTETS);
        len = len > number / PORT_OCTETS ? len : number / PORT_OCTETS + 1;
    }
    buffer_add(reader->out, bitmap, len);
    return true;
}

bool rdata_check_wks(struct text rdata, struct error *err)
{
    size_t len = rdata.len - WKS_BITMAP_AT;
    if (len > WKS_BITMAP_MAX)
        return error_set(err, FAULT_SPEC, "InvalidRData", "the bitmap of services has %zu octets",
                         len);
    return !len || rdata.at[rdata.len - 1] ||
           error_set(err, FAULT_SPEC, "InvalidRData", "the bitmap of services ends with a zero");
}

// ---- ATMA ---------------------------------------------------------------------------------------

enum { ATMA_AESA = 0, ATMA_E164 = 1 };

bool rdata_atma_read(struct rdata_reader *reader)
{
    const struct rdata_word *word = rdata_next_plain(reader, "an address");
    if (!word)
        return false;
    bool is_e164 = word->text.len && *word->text.at == '+';
    buffer_add_char(reader->out, is_e164 ? ATMA_E164 : ATMA_AESA);
    if (is_e164) {
        buffer_add(reader->out, word->text.at + 1, word->text.len - 1);
        return true;
    }
    reader->next--;
    return rdata_add_hex(reader, false, reader->out);
}

bool rdata_check_atma(struct text rdata, struct error *err)
{
    for (size_t i = 1; *rdata.at == ATMA_E164 && i < rdata.len; i++)
        if (!rdata_is_digit(rdata.at[i]))
            return error_set(err, FAULT_SPEC, "InvalidRData",
                             "an address of E.164 holds digits alone");
    return rdata.len > 1 || error_set(err, FAULT_SPEC, "InvalidRData", "the address is empty");
}

// ---- A6 -----------------------------------------------------------------------------------------

enum { A6_BITS = 128, A6_OCTETS = 16 };

static uint8_t a6_mask(unsigned prefix)
{
    return (uint8_t)(0xff >> prefix % 8);
}

bool rdata_a6_read(struct rdata_reader *reader)
{
    uint8_t octets[A6_OCTETS];
    char shown[RDATA_SHOWN_MAX];
    uint32_t prefix = 0;
    const struct rdata_word *word = rdata_next_plain(reader, "a length of prefix");
    if (!word || !rdata_number(reader, word->text, A6_BITS, &prefix))
        return false;
    buffer_add_char(reader->out, (char)prefix);
    if (prefix < A6_BITS) {
        word = rdata_next_plain(reader, "an IPv6 address");
        if (!word)
            return false;
        if (!rdata_to_ip6(word->text, octets))
            return rdata_refuse(reader, NULL, "'%s' is no IPv6 address",
                                rdata_show(word->text, shown));
        octets[prefix / 8] &= a6_mask(prefix);
        buffer_add(reader->out, octets + prefix / 8, A6_OCTETS - prefix / 8);
    }
    return !prefix || rdata_name_read(reader);
}

bool rdata_a6_take(struct rdata_taker *taker)
{
    if (!rdata_copy(taker, 1))
        return false;
    unsigned prefix = (uint8_t)taker->out->at[taker->out->len - 1];
    if (prefix > A6_BITS)
        return rdata_refuse_taken(taker, "the prefix is longer than 128 bits");
    size_t at = taker->out->len;
    if (!rdata_copy(taker, A6_OCTETS - prefix / 8))
        return false;
    if (prefix < A6_BITS && (uint8_t)taker->out->at[at] & (uint8_t)~a6_mask(prefix))
        return rdata_refuse_taken(taker, "bits of the prefix stand in the suffix");
    return !prefix || rdata_take_name(taker);
}

// ---- AMTRELAY -----------------------------------------------------------------------------------

enum { RELAY_NONE, RELAY_IP4, RELAY_IP6, RELAY_NAME, RELAY_DISCOVERY = 0x80 };

static bool read_no_relay(struct rdata_reader *reader)
{
    const struct rdata_word *word = rdata_next_plain(reader, "a relay");
    if (!word)
        return false;
    return text_is(word->text, ".") ||
           rdata_refuse(reader, NULL, "write . as the relay: its type 0 stands for none");
}

bool rdata_relay_read(struct rdata_reader *reader)
{
    static rdata_read_field *const reads[] = {[RELAY_NONE] = read_no_relay,
                                              [RELAY_IP4] = rdata_ip4_read,
                                              [RELAY_IP6] = rdata_ip6_read,
                                              [RELAY_NAME] = rdata_name_read};
    uint32_t discovery = 0, kind = 0;
    const struct rdata_word *word = rdata_next_plain(reader, "0 or 1 for discovery");
    if (!word || !rdata_number(reader, word->text, 1, &discovery))
        return false;
    word = rdata_next_plain(reader, "a type of relay");
    if (!word || !rdata_number(reader, word->text, RELAY_NAME, &kind))
        return false;
    buffer_add_char(reader->out, (char)(kind | (discovery ? RELAY_DISCOVERY : 0U)));
    return reads[kind](reader);
}

bool rdata_relay_take(struct rdata_taker *taker)
{
    static const uint8_t lens[] = {[RELAY_NONE] = 0, [RELAY_IP4] = 4, [RELAY_IP6] = 16};
    if (!rdata_copy(taker, 1))
        return false;
    unsigned kind = (uint8_t)taker->out->at[taker->out->len - 1] & ~(unsigned)RELAY_DISCOVERY;
    if (kind == RELAY_NAME)
        return rdata_take_name(taker);
    return kind > RELAY_NAME ? rdata_refuse_taken(taker, "the type of the relay is not one of 0..3")
                             : rdata_copy(taker, lens[kind]);
}

// ---- DOA ----------------------------------------------------------------------------------------

bool rdata_doa_read(struct rdata_reader *reader)
{
    if (rdata_has_next(reader) && text_is(reader->words[reader->next].text, "-")) {
        reader->next++;
        return true;
    }
    return rdata_add_base64(reader, true, reader->out);
}
