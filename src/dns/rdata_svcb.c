#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "dns/rdata_private.h"

#define REASON "InvalidRData"

// Parameters of SVCB and HTTPS (RFC 9460): on the wire key, length and value, in the order of their
// keys, none twice.

enum {
    PRIORITY_LEN = 2,
    PARAM_HEAD = 4,
    PARAM_INVALID = 65535,
    PARAMS_MAX = 62, // NSD drops transfers with more
    MANDATORY = 0,
    ALPN = 1,
    NO_DEFAULT_ALPN = 2
};

struct param_kind {
    const char *name;
    // Of the text behind the =, without escapes; appends.
    bool (*read)(const struct rdata_reader *reader, struct text value, struct buffer *out);
    bool (*is_sound)(struct text value);
    void (*write)(struct buffer *out, struct text value);
};
static const struct param_kind *kind_of(unsigned key);
static bool key_read(struct text text, unsigned *key);
static void key_write(struct buffer *out, unsigned key);

// ---- lists --------------------------------------------------------------------------------------

static bool list_read(const struct rdata_reader *reader, struct text value, struct buffer *out,
                      bool add(struct text item, struct buffer *out), const char *hint)
{
    struct text rest = value, item;
    char shown[RDATA_SHOWN_MAX];
    while (text_cut(&rest, ',', &item))
        if (!add(item, out))
            return rdata_refuse(reader, NULL, "'%s': write %s, with commas between them",
                                rdata_show(item, shown), hint);
    return true;
}

static void list_write(struct buffer *out, struct text value, size_t step,
                       void put(struct buffer *out, const uint8_t *at))
{
    for (size_t at = 0; at < value.len; at += step) {
        if (at)
            buffer_add_char(out, ',');
        put(out, (const uint8_t *)value.at + at);
    }
}

// ---- mandatory ----------------------------------------------------------------------------------

static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, 2);
}

static bool add_key(struct text item, struct buffer *out)
{
    unsigned key;
    if (!key_read(item, &key))
        return false;
    rdata_add_u16(out, key);
    return true;
}

static bool mandatory_read(const struct rdata_reader *reader, struct text value, struct buffer *out)
{
    size_t before = out->len;
    if (!list_read(reader, value, out, add_key, "keys"))
        return false;
    qsort(out->at + before, (out->len - before) / 2, 2, compare_keys);
    return true;
}

static bool mandatory_is_sound(struct text value)
{
    if (!value.len || value.len % 2)
        return false;
    for (size_t i = 2; i < value.len; i += 2)
        if (compare_keys(value.at + i - 2, value.at + i) >= 0)
            return false;
    return rdata_u16_at(value.at) != MANDATORY;
}

static void put_key(struct buffer *out, const uint8_t *at)
{
    key_write(out, rdata_u16_at(at));
}

static void mandatory_write(struct buffer *out, struct text value)
{
    list_write(out, value, 2, put_key);
}

// ---- alpn ---------------------------------------------------------------------------------------

// Identifiers with commas between them; a comma within one has a backslash before it.
static bool alpn_read(const struct rdata_reader *reader, struct text value, struct buffer *out)
{
    size_t i = 0;
    do {
        size_t head = out->len;
        buffer_add_char(out, 0);
        for (; i < value.len && value.at[i] != ','; i++) {
            i += value.at[i] == '\\' && i + 1 < value.len;
            buffer_add_char(out, value.at[i]);
        }
        size_t len = out->len - head - 1;
        if (!len || len > UINT8_MAX)
            return rdata_refuse(reader, NULL, "an identifier of %zu octets: 1..255 are possible",
                                len);
        out->at[head] = (char)len;
    } while (i++ < value.len);
    return true;
}

static bool alpn_is_sound(struct text value)
{
    size_t at = 0;
    while (at < value.len && value.at[at])
        at += 1u + (uint8_t)value.at[at];
    return value.len && at == value.len;
}

static void put_identifier(struct buffer *out, const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] == ',' || at[i] == '\\')
            buffer_add_text(out, "\\\\");
        rdata_put_octet(out, (uint8_t)at[i]);
    }
}

static void alpn_write(struct buffer *out, struct text value)
{
    buffer_add_char(out, '"');
    for (size_t at = 0; at < value.len; at += 1u + (uint8_t)value.at[at]) {
        if (at)
            buffer_add_char(out, ',');
        put_identifier(out, value.at + at + 1, (uint8_t)value.at[at]);
    }
    buffer_add_char(out, '"');
}

// ---- port, addresses ----------------------------------------------------------------------------

static bool port_read(const struct rdata_reader *reader, struct text value, struct buffer *out)
{
    char shown[RDATA_SHOWN_MAX];
    int64_t number;
    if (!text_to_int64(value, &number) || number < 0 || number > UINT16_MAX)
        return rdata_refuse(reader, NULL, "number %s is out of range 0..65535",
                            rdata_show(value, shown));
    rdata_add_u16(out, (unsigned)number);
    return true;
}

static bool port_is_sound(struct text value)
{
    return value.len == 2;
}

static void port_write(struct buffer *out, struct text value)
{
    buffer_add_number(out, rdata_u16_at(value.at));
}

static bool add_ip4(struct text item, struct buffer *out)
{
    uint8_t octets[4];
    if (!rdata_to_ip4(item, octets))
        return false;
    buffer_add(out, octets, sizeof octets);
    return true;
}

static bool ip4_read(const struct rdata_reader *reader, struct text value, struct buffer *out)
{
    return list_read(reader, value, out, add_ip4, "IPv4 addresses");
}

static bool ip4_is_sound(struct text value)
{
    return value.len && value.len % 4 == 0;
}

static void ip4_write(struct buffer *out, struct text value)
{
    list_write(out, value, 4, rdata_put_ip4);
}

static bool add_ip6(struct text item, struct buffer *out)
{
    uint8_t octets[16];
    if (!rdata_to_ip6(item, octets))
        return false;
    buffer_add(out, octets, sizeof octets);
    return true;
}

static bool ip6_read(const struct rdata_reader *reader, struct text value, struct buffer *out)
{
    return list_read(reader, value, out, add_ip6, "IPv6 addresses");
}

static bool ip6_is_sound(struct text value)
{
    return value.len && value.len % 16 == 0;
}

static void ip6_write(struct buffer *out, struct text value)
{
    list_write(out, value, 16, rdata_put_ip6);
}

// ---- octets -------------------------------------------------------------------------------------

static bool ech_is_sound(struct text value)
{
    return value.len > 0;
}

static void ech_write(struct buffer *out, struct text value)
{
    base64_encode(out, value.at, value.len);
}

static bool octets_read(const struct rdata_reader *reader, struct text value, struct buffer *out)
{
    (void)reader;
    buffer_add(out, value.at, value.len);
    return true;
}

static bool octets_are_sound(struct text value)
{
    (void)value;
    return true;
}

static void octets_write(struct buffer *out, struct text value)
{
    buffer_add_char(out, '"');
    for (size_t i = 0; i < value.len; i++)
        rdata_put_octet(out, (uint8_t)value.at[i]);
    buffer_add_char(out, '"');
}

static bool is_one_of(const char *marks, char c)
{
    return c && strchr(marks, c);
}

// A relative template with the variable dns (RFC 9461 5).
static bool dohpath_is_sound(struct text value)
{
    bool is_open = false;
    if (!value.len || *value.at != '/' || !utf8_is_valid(value))
        return false;
    for (size_t i = 0; i < value.len; i++) {
        struct text rest = {value.at + i, value.len - i};
        if (*rest.at == '{' || *rest.at == '}')
            is_open = *rest.at == '{';
        if (is_open && i && text_starts(rest, "dns") && is_one_of("{?&/;+#.,", rest.at[-1]) &&
            rest.len > 3 && is_one_of("},:*", rest.at[3]))
            return true;
    }
    return false;
}

static bool nothing_read(const struct rdata_reader *reader, struct text value, struct buffer *out)
{
    (void)out;
    return !value.at || rdata_refuse(reader, NULL, "remove the value: this parameter has none");
}

static bool nothing_is_sound(struct text value)
{
    return !value.len;
}

// ---- keys ---------------------------------------------------------------------------------------

// By number.
static const struct param_kind kinds[] = {
    {"mandatory", mandatory_read, mandatory_is_sound, mandatory_write},
    {"alpn", alpn_read, alpn_is_sound, alpn_write},
    {"no-default-alpn", nothing_read, nothing_is_sound, NULL},
    {"port", port_read, port_is_sound, port_write},
    {"ipv4hint", ip4_read, ip4_is_sound, ip4_write},
    {"ech", rdata_add_base64_text, ech_is_sound, ech_write},
    {"ipv6hint", ip6_read, ip6_is_sound, ip6_write},
    {"dohpath", octets_read, dohpath_is_sound, octets_write},
    {"ohttp", nothing_read, nothing_is_sound, NULL},
};
static const struct param_kind unknown = {NULL, octets_read, octets_are_sound, octets_write};

static const struct param_kind *kind_of(unsigned key)
{
    return key < COUNT_OF(kinds) ? &kinds[key] : &unknown;
}

static bool key_read(struct text text, unsigned *key)
{
    int64_t number;
    for (unsigned i = 0; i < COUNT_OF(kinds); i++)
        if (text_equal_nocase(text, text_of(kinds[i].name))) {
            *key = i;
            return true;
        }
    if (text.len < 4 || text.len > 8 || !text_equal_nocase((struct text){text.at, 3}, TEXT("key")))
        return false;
    text = (struct text){text.at + 3, text.len - 3};
    if ((*text.at == '0' && text.len > 1) || !text_to_int64(text, &number))
        return false;
    *key = (unsigned)number;
    return number >= 0 && number < PARAM_INVALID;
}

// Not every server in use knows the names of later keys in a zone file.
enum { KEYS_WITH_NAME = 7 };

static void key_write(struct buffer *out, unsigned key)
{
    const char *name = key < KEYS_WITH_NAME ? kinds[key].name : NULL;
    buffer_add_text(out, name ? name : "key");
    if (!name)
        buffer_add_number(out, key);
}

// ---- reading ------------------------------------------------------------------------------------

struct param {
    unsigned key;
    size_t at; // its value in `octets`
    size_t len;
};
struct params {
    struct param *rows;
    size_t count;
    size_t capacity;
    struct buffer octets;
};

static void params_cleanup(struct params *params)
{
    free(params->rows);
    buffer_done(&params->octets);
}

// key, key=value, or key= with a quoted word right behind it.
static bool split_param(struct rdata_reader *reader, struct text *key, struct text *value)
{
    const struct rdata_word *word = rdata_next_plain(reader, "a parameter");
    if (!word)
        return false;
    *value = word->text;
    text_cut(value, '=', key);
    bool may_be_quoted = value->at && !value->len && rdata_has_next(reader);
    const struct rdata_word *next = may_be_quoted ? &reader->words[reader->next] : NULL;
    if (next && next->is_quoted && next->text.at == word->text.at + word->text.len + 1) {
        *value = next->text;
        reader->next++;
    }
    return true;
}

static bool read_value(const struct rdata_reader *reader, const struct param_kind *kind,
                       struct text value, struct buffer *out)
{
    AUTO_BUFFER octets = {0};
    if (!value.at)
        return kind->read == nothing_read || kind == &unknown ||
               rdata_refuse(reader, NULL, "the value is missing: write %s=...", kind->name);
    if (!memchr(value.at, '\\', value.len))
        return kind->read(reader, value, out);
    return rdata_unescape(reader, value, &octets) && kind->read(reader, buffer_text(&octets), out);
}

static bool read_param(struct rdata_reader *reader, struct params *params)
{
    char shown[RDATA_SHOWN_MAX];
    struct text name, value;
    struct param row = {.at = params->octets.len};
    if (!split_param(reader, &name, &value))
        return false;
    if (!key_read(name, &row.key))
        return rdata_refuse(reader, NULL, "no parameter has the key '%s': write key<0-65534>",
                            rdata_show(name, shown));
    // The number of a key with a name takes the octets of its value.
    bool is_named = text_equal_nocase(name, text_of(kind_of(row.key)->name));
    if (!read_value(reader, is_named ? kind_of(row.key) : &unknown, value, &params->octets))
        return false;
    row.len = params->octets.len - row.at;
    if (row.len > UINT16_MAX)
        return rdata_refuse(reader, NULL, "the value is longer than 65535 octets");
    mem_reserve(&params->rows, &params->capacity, params->count + 1);
    params->rows[params->count++] = row;
    return true;
}

static int compare_params(const void *left, const void *right)
{
    const struct param *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

bool rdata_params_read(struct rdata_reader *reader)
{
    __attribute__((cleanup(params_cleanup))) struct params params = {0};
    const char *first = rdata_has_next(reader) ? reader->words[reader->next].text.at : NULL;
    while (rdata_has_next(reader))
        if (!read_param(reader, &params))
            return false;
    if (params.count)
        qsort(params.rows, params.count, sizeof *params.rows, compare_params);
    for (size_t i = 0; i < params.count; i++) {
        rdata_add_u16(reader->out, params.rows[i].key);
        rdata_add_u16(reader->out, (unsigned)params.rows[i].len);
        buffer_add(reader->out, buffer_text(&params.octets).at + params.rows[i].at,
                   params.rows[i].len);
    }
    reader->field = first ? first : reader->field;
    return true;
}

// ---- checking -----------------------------------------------------------------------------------

static bool refuse_key(struct error *err, unsigned key, const char *what)
{
    const char *name = kind_of(key)->name;
    if (name)
        return error_set(err, FAULT_SPEC, REASON, "parameter %s %s", name, what);
    return error_set(err, FAULT_SPEC, REASON, "parameter key%u %s", key, what);
}

// The next parameter of *rest; false: there is none, or it is cut off.
static bool next_param(struct text *rest, unsigned *key, struct text *value)
{
    if (rest->len < PARAM_HEAD || rdata_u16_at(rest->at + 2) > rest->len - PARAM_HEAD)
        return false;
    *key = rdata_u16_at(rest->at);
    *value = (struct text){rest->at + PARAM_HEAD, rdata_u16_at(rest->at + 2)};
    size_t len = PARAM_HEAD + value->len;
    *rest = (struct text){rest->at + len, rest->len - len};
    return true;
}

static bool has_param(struct text params, unsigned wanted)
{
    unsigned key;
    struct text value;
    while (next_param(&params, &key, &value))
        if (key >= wanted)
            return key == wanted;
    return false;
}

static bool check_param(struct text all, unsigned key, struct text value, struct error *err)
{
    if (key == PARAM_INVALID)
        return refuse_key(err, key, "may not be used");
    if (!kind_of(key)->is_sound(value))
        return refuse_key(err, key, "has a value that is malformed");
    if (key == NO_DEFAULT_ALPN && !has_param(all, ALPN))
        return refuse_key(err, key, "needs alpn beside it");
    for (size_t i = 0; key == MANDATORY && i < value.len; i += 2)
        if (!has_param(all, rdata_u16_at(value.at + i)))
            return refuse_key(err, rdata_u16_at(value.at + i), "is mandatory, but missing");
    return true;
}

bool rdata_check_svcb(struct text rdata, struct error *err)
{
    const uint8_t *octets = (const uint8_t *)rdata.at;
    size_t at = PRIORITY_LEN + rdata_name_len(octets + PRIORITY_LEN, octets + rdata.len);
    struct text all = {rdata.at + at, rdata.len - at}, rest = all, value;
    unsigned key;
    size_t count = 0;
    for (int before = -1; next_param(&rest, &key, &value); before = (int)key) {
        if (++count > PARAMS_MAX)
            return error_set(err, FAULT_SPEC, REASON, "more than %d parameters: NSD takes no more",
                             PARAMS_MAX);
        if ((int)key == before)
            return refuse_key(err, key, "stands there twice");
        if ((int)key < before)
            return refuse_key(err, key, "is not in the order of keys");
        if (!check_param(all, key, value, err))
            return false;
    }
    return !rest.len || error_set(err, FAULT_SPEC, REASON, "the parameters are cut off");
}

// ---- writing ------------------------------------------------------------------------------------

bool rdata_params_write(struct rdata_writer *writer)
{
    struct text rest = {(const char *)writer->at, (size_t)(writer->end - writer->at)}, value;
    unsigned key;
    while (next_param(&rest, &key, &value)) {
        const struct param_kind *kind = kind_of(key);
        if (key == PARAM_INVALID || !kind->is_sound(value))
            return false;
        rdata_separate(writer);
        key_write(writer->out, key);
        if (kind->write && value.len) {
            buffer_add_char(writer->out, '=');
            kind->write(writer->out, value);
        }
    }
    writer->at = (const uint8_t *)rest.at;
    return !rest.len;
}
