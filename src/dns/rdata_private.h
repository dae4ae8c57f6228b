#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/rdata.h"

// What the rdata_*.c files share. The rdata of a type is a row of fields; each kind of field knows
// how it is read (text to wire), taken (message to wire) and written (wire to text). Private to
// dns.

enum rdata_field {
    RDATA_END,
    RDATA_U8,
    RDATA_U16,
    RDATA_U32,
    RDATA_PERIOD,      // 32 bits; seconds, or as 1w2d3h4m5s
    RDATA_TIME,        // 32 bits; YYYYMMDDHHmmSS or seconds (RFC 4034 3.2)
    RDATA_TYPE,        // 16 bits; an RR type
    RDATA_ALGORITHM,   // 8 bits; of DNSSEC
    RDATA_DIGEST_TYPE, // 8 bits; of DS
    RDATA_CERT_TYPE,   // 16 bits; of CERT
    RDATA_NAME,
    RDATA_NAMES, // any number of them, to the end
    RDATA_IP4,
    RDATA_IP6,
    RDATA_EUI48,
    RDATA_EUI64,
    RDATA_GROUPS,   // 64 bits as 0014:4fff:ff20:ee64 (RFC 6742 2.1.2)
    RDATA_STRING,   // with its length in front
    RDATA_MAYBE,    // such a string, or the end
    RDATA_STRINGS,  // one or more, to the end
    RDATA_TAG,      // of CAA
    RDATA_VALUE,    // a string without length, to the end
    RDATA_NONEMPTY, // the same, not empty
    RDATA_SALT,     // of NSEC3: length and octets; hex, or - for none
    RDATA_HASH,     // of NSEC3: length and octets; base32hex
    RDATA_HEX,      // the rest, not empty
    RDATA_NSAP,     // the rest, as 0x47.0005
    RDATA_BASE64,   // the rest, not empty
    RDATA_KEY,      // the rest in base64, may be empty
    RDATA_BITMAP,   // of types (RFC 4034 4.1.2)
    RDATA_LOC,
    RDATA_APL,
    RDATA_GATEWAY, // of IPSECKEY
    RDATA_HIP,     // all but the servers
    RDATA_PARAMS,  // of SVCB
    RDATA_WKS,     // protocol and services, the rest
    RDATA_ATMA,
    RDATA_A6,
    RDATA_RELAY,  // of AMTRELAY: all but the precedence
    RDATA_DOA,    // of DOA: the rest in base64, or - for none
    RDATA_SCHEME, // 8 bits; of DSYNC
    RDATA_OPAQUE, // has no text
    RDATA_FIELD_COUNT,
};

enum { RDATA_FIELDS_MAX = 9 };

// What else must hold of all of an rdata in wire format; takes no octets beyond it.
typedef bool rdata_check(struct text rdata, struct error *err);

struct rdata_shape {
    uint8_t fields[RDATA_FIELDS_MAX + 1]; // up to RDATA_END
    bool is_compressible;
    bool has_target; // its first name is one
    rdata_check *check;
};
// NULL: the type is not known.
const struct rdata_shape *rdata_shape_find(uint16_t type);

// ---- reading ------------------------------------------------------------------------------------

struct rdata_reader {
    const struct rdata_word *words;
    size_t count;
    size_t next;
    const char *field; // where the field in hand begins
    struct text text;  // that the words are of; absent: a file's
    uint16_t type;
    const struct rdata_rules *rules;
    struct buffer *out;
    size_t start; // of this rdata in `out`
    unsigned marks;
    struct error *err;
};
typedef bool rdata_read_field(struct rdata_reader *reader);

// "... (at character 5)", or "(at word 2)" of a file. `at` NULL: the word in hand.
bool rdata_refuse(const struct rdata_reader *reader, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Puts the place behind an error that another function made.
bool rdata_refuse_here(const struct rdata_reader *reader);
enum { RDATA_SHOWN_MAX = 72 };
// A word fit to be shown.
const char *rdata_show(struct text word, char out[RDATA_SHOWN_MAX]);
// The next word, quoted or not; NULL, and refused: there is none. `noun` with its article.
const struct rdata_word *rdata_next(struct rdata_reader *reader, const char *noun);
// The next word, which may not be quoted.
const struct rdata_word *rdata_next_plain(struct rdata_reader *reader, const char *noun);
bool rdata_has_next(const struct rdata_reader *reader);

bool rdata_number(const struct rdata_reader *reader, struct text word, uint32_t max, uint32_t *out);
bool rdata_to_ip4(struct text text, uint8_t out[4]);
bool rdata_to_ip6(struct text text, uint8_t out[16]);
bool rdata_name_read(struct rdata_reader *reader); // RDATA_NAME
static inline bool rdata_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline int rdata_hex_digit(char c) // -1: it is none
{
    unsigned digit = (unsigned)(uint8_t)c - '0', letter = ((unsigned)(uint8_t)c | 0x20) - 'a';
    int value = letter <= 5 ? (int)letter + 10 : -1;
    return digit <= 9 ? (int)digit : value;
}
// Appends octets with their length in front. Longer ones than 255 are cut, or refused.
bool rdata_add_strings(struct rdata_reader *reader, struct text octets, bool may_cut);
// Appends what a string stands for: its text without escapes.
bool rdata_unescape(const struct rdata_reader *reader, struct text word, struct buffer *out);
// Appends; `rest`: all words that are left, else the next one.
bool rdata_add_hex(struct rdata_reader *reader, bool rest, struct buffer *out);
bool rdata_add_base64(struct rdata_reader *reader, bool rest, struct buffer *out);
bool rdata_add_base64_text(const struct rdata_reader *reader, struct text word, struct buffer *out);
void rdata_add_u16(struct buffer *out, unsigned number);
void rdata_add_u32(struct buffer *out, uint32_t number);

// ---- taking -------------------------------------------------------------------------------------

struct rdata_taker {
    const uint8_t *message;
    size_t at;
    size_t end; // of the rdata
    bool has_pointers;
    struct buffer *out;
    size_t start; // of this rdata in `out`
    struct error *err;
};
typedef bool rdata_take_field(struct rdata_taker *taker);

bool rdata_refuse_taken(const struct rdata_taker *taker, const char *text);
bool rdata_copy(struct rdata_taker *taker, size_t len);
bool rdata_take_name(struct rdata_taker *taker); // RDATA_NAME
// Decodes all of rdata in wire format; `has_pointers`: names may be compressed.
bool rdata_take_all(uint16_t type, struct text message, size_t at, size_t len, bool has_pointers,
                    struct buffer *out, struct error *err);

// ---- writing ------------------------------------------------------------------------------------

// Fields return false when they find what they cannot write; then all is written as \# LEN HEX.
struct rdata_writer {
    const uint8_t *first;
    const uint8_t *at;
    const uint8_t *end;
    struct buffer *out;
    size_t start; // of the text in `out`
};
typedef bool rdata_write_field(struct rdata_writer *writer);

// A blank, unless this is the first word.
void rdata_separate(struct rdata_writer *writer);
bool rdata_has_octets(const struct rdata_writer *writer, size_t len);
void rdata_put_hex(struct buffer *out, const uint8_t *at, size_t len); // upper case
void rdata_put_ip4(struct buffer *out, const uint8_t at[4]);
void rdata_put_ip6(struct buffer *out, const uint8_t at[16]);
// An octet of a string in quotes.
void rdata_put_octet(struct buffer *out, uint8_t octet);
bool rdata_write_name(struct rdata_writer *writer); // RDATA_NAME

// ---- octets of rdata ----------------------------------------------------------------------------

// Of the uncompressed name there, with the root's label; 0: it is none, or has no end before `end`.
size_t rdata_name_len(const uint8_t *at, const uint8_t *end);
static inline unsigned rdata_u16_at(const void *at)
{
    const uint8_t *octets = at;
    return (unsigned)octets[0] << 8 | octets[1];
}
static inline uint32_t rdata_u32_at(const void *at)
{
    return (uint32_t)rdata_u16_at(at) << 16 | rdata_u16_at((const uint8_t *)at + 2);
}

// ---- fields of presentation text ----------------------------------------------------------------

rdata_read_field rdata_algorithm_read, rdata_base64_read, rdata_cert_type_read,
    rdata_digest_type_read, rdata_eui48_read, rdata_eui64_read, rdata_groups_read, rdata_hash_read,
    rdata_hex_read, rdata_ip4_read, rdata_ip6_read, rdata_key_read, rdata_maybe_read,
    rdata_names_read, rdata_nonempty_read, rdata_nsap_read, rdata_opaque_read, rdata_period_read,
    rdata_salt_read, rdata_string_read, rdata_strings_read, rdata_tag_read, rdata_time_read,
    rdata_scheme_read, rdata_type_read, rdata_u16_read, rdata_u32_read, rdata_u8_read,
    rdata_value_read;

// ---- fields with files of their own -------------------------------------------------------------

rdata_read_field rdata_loc_read, rdata_apl_read, rdata_gateway_read, rdata_hip_read,
    rdata_params_read, rdata_bitmap_read, rdata_wks_read, rdata_atma_read, rdata_a6_read,
    rdata_relay_read, rdata_doa_read;
rdata_take_field rdata_loc_take, rdata_apl_take, rdata_gateway_take, rdata_hip_take,
    rdata_bitmap_take, rdata_a6_take, rdata_relay_take;
rdata_write_field rdata_loc_write, rdata_apl_write, rdata_gateway_write, rdata_hip_write,
    rdata_params_write, rdata_bitmap_write;

// ---- checks -------------------------------------------------------------------------------------

rdata_check rdata_check_ds, rdata_check_cds, rdata_check_cdnskey, rdata_check_dnskey,
    rdata_check_key, rdata_check_tlsa, rdata_check_sshfp, rdata_check_zonemd, rdata_check_naptr,
    rdata_check_nsec, rdata_check_svcb, rdata_check_ns, rdata_check_mx, rdata_check_x25,
    rdata_check_gpos, rdata_check_nxt, rdata_check_apl, rdata_check_wks, rdata_check_atma,
    rdata_check_rkey;
// Is it a substitution of NAPTR? Not of empty text.
bool rdata_is_regexp(struct text text);
// Is it the text of an address, with or without a final dot?
bool rdata_is_address(struct text text);
bool rdata_refuse_address(uint16_t type, struct text text, struct error *err);
