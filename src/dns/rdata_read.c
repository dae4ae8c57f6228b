#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "dns/rdata_private.h"
#include "dns/rr_type.h"

#define REASON "InvalidRData"

enum { WORDS_MAX = RDATA_MAX + 16, WORDS_FEW = 24 };

// ---- errors -------------------------------------------------------------------------------------

static size_t characters_before(struct text text, const char *at)
{
    size_t count = 0;
    for (const char *c = text.at; c < at; c++)
        count += ((uint8_t)*c & 0xc0) != 0x80;
    return count;
}

static bool is_in_text(const struct rdata_reader *reader, const char *at)
{
    uintptr_t first = (uintptr_t)reader->text.at;
    return (uintptr_t)at >= first && (uintptr_t)at <= first + reader->text.len;
}

// What was made of the text, without its escapes, has the place of its field.
static bool add_place(const struct rdata_reader *reader, const char *at)
{
    char text[ERROR_TEXT_MAX];
    if (!reader->err)
        return false;
    struct error err = *reader->err;
    memcpy(text, err.text, sizeof text);
    if (reader->text.at)
        error_set(reader->err, err.fault, err.reason, "%.900s (at character %zu)", text,
                  characters_before(reader->text, is_in_text(reader, at) ? at : reader->field) + 1);
    else
        error_set(reader->err, err.fault, err.reason, "%.900s (at word %zu)", text,
                  reader->next ? reader->next : 1);
    return false;
}

bool rdata_refuse(const struct rdata_reader *reader, const char *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(reader->err, FAULT_SPEC, REASON, format, args);
    va_end(args);
    return add_place(reader, at);
}

bool rdata_refuse_here(const struct rdata_reader *reader)
{
    return add_place(reader, NULL);
}

const char *rdata_show(struct text word, char out[RDATA_SHOWN_MAX])
{
    text_clean_into(out, RDATA_SHOWN_MAX, word);
    return out;
}

// ---- words of a text ----------------------------------------------------------------------------

struct words {
    struct rdata_word few[WORDS_FEW];
    struct rdata_word *many;
    size_t count;
    size_t capacity; // of `many`
};

static void words_cleanup(struct words *words)
{
    free(words->many);
}

static void add_word(struct words *words, const char *at, const char *end, bool is_quoted)
{
    struct rdata_word word = {{at, (size_t)(end - at)}, is_quoted};
    if (words->count < WORDS_FEW) {
        words->few[words->count++] = word;
        return;
    }
    mem_reserve(&words->many, &words->capacity, words->count + 1);
    if (words->count == WORDS_FEW)
        memcpy(words->many, words->few, sizeof words->few);
    words->many[words->count++] = word;
}

// Ends a run of characters that stand for themselves outside of quotes.
static const bool ends_run[256] = {[0 ... ' '] = true, ['"'] = true,  ['('] = true, [')'] = true,
                                   [';'] = true,       ['\\'] = true, [0x7f] = true};

static bool is_control(char c)
{
    return (uint8_t)c < ' ' || c == 0x7f;
}

static bool refuse_control(const struct rdata_reader *reader, const char *at)
{
    return rdata_refuse(reader, at, "control character \\%03u: write it as an escape in quotes",
                        (unsigned)(uint8_t)*at);
}

// `at` is behind the quote; moves behind the closing one.
static bool split_quoted(const struct rdata_reader *reader, struct words *words, const char **at,
                         const char *end)
{
    const char *c = *at;
    for (; c < end && *c != '"'; c++) {
        c += *c == '\\' && c + 1 < end;
        if (is_control(*c))
            return refuse_control(reader, c);
    }
    if (c >= end)
        return rdata_refuse(reader, *at - 1, "the quote that opens here is never closed");
    if (c + 1 < end && c[1] != ' ' && c[1] != '"')
        return rdata_refuse(reader, c + 1, "a blank must follow the closing quote");
    add_word(words, *at, c, true);
    *at = c + 1;
    return true;
}

// A quote may stand behind a = of an SVCB parameter, and begins a word of its own.
static bool may_end_at_quote(const struct rdata_reader *reader, const char *quote)
{
    return (reader->type == RR_SVCB || reader->type == RR_HTTPS) && quote[-1] == '=';
}

static bool refuse_special(const struct rdata_reader *reader, const char *at)
{
    if (is_control(*at))
        return refuse_control(reader, at);
    if (*at == '"')
        return rdata_refuse(reader, at, "a quote within a word: put a blank in front of it");
    return rdata_refuse(reader, at, "%c outside of quotes: put the text in quotes, or remove it",
                        *at);
}

static bool split_plain(const struct rdata_reader *reader, struct words *words, const char **at,
                        const char *end)
{
    const char *c = *at;
    for (; c < end && *c != ' '; c++) {
        if (!ends_run[(uint8_t)*c])
            continue;
        if (*c == '"' && may_end_at_quote(reader, c))
            break;
        if (*c != '\\')
            return refuse_special(reader, c);
        c += c + 1 < end;
        if (is_control(*c))
            return refuse_control(reader, c);
    }
    add_word(words, *at, c, false);
    *at = c;
    return true;
}

static bool split(const struct rdata_reader *reader, struct words *words)
{
    const char *at = reader->text.at, *end = at + reader->text.len;
    while (at < end) {
        if (*at == ' ') {
            at++;
            continue;
        }
        bool is_quoted = *at == '"';
        at += is_quoted;
        if (!(is_quoted ? split_quoted : split_plain)(reader, words, &at, end))
            return false;
        if (words->count > WORDS_MAX)
            return rdata_refuse(reader, at, "more than %d words", WORDS_MAX);
    }
    return true;
}

static bool is_escaped_blank(struct text text)
{
    size_t slashes = 0;
    while (slashes + 1 < text.len && text.at[text.len - 2 - slashes] == '\\')
        slashes++;
    return slashes % 2 == 1;
}

static struct text trim(struct text text)
{
    while (text.len && *text.at == ' ')
        text = (struct text){text.at + 1, text.len - 1};
    while (text.len && text.at[text.len - 1] == ' ' && !is_escaped_blank(text))
        text.len--;
    return text;
}

// Text of TXT that is one string, whatever stands in it.
static bool split_none(const struct rdata_reader *reader, struct words *words)
{
    struct text text = trim(reader->text);
    for (size_t i = 0; i < text.len; i++)
        if (is_control(text.at[i]))
            return refuse_control(reader, text.at + i);
    if (text.len)
        add_word(words, text.at, text.at + text.len, false);
    return true;
}

static bool is_one_string(uint16_t type, struct text text)
{
    text = trim(text);
    return (type == RR_TXT || type == RR_SPF) && text.len && *text.at != '"' &&
           !text_starts(text, "\\# ");
}

// ---- words --------------------------------------------------------------------------------------

bool rdata_has_next(const struct rdata_reader *reader)
{
    return reader->next < reader->count;
}

const struct rdata_word *rdata_next(struct rdata_reader *reader, const char *noun)
{
    if (reader->next == reader->count) {
        reader->next++;
        rdata_refuse(reader, reader->text.at ? reader->text.at + reader->text.len : NULL,
                     "%s is missing", noun);
        return NULL;
    }
    const struct rdata_word *word = &reader->words[reader->next++];
    reader->field = word->text.at;
    return word;
}

const struct rdata_word *rdata_next_plain(struct rdata_reader *reader, const char *noun)
{
    const struct rdata_word *word = rdata_next(reader, noun);
    if (word && word->is_quoted) {
        rdata_refuse(reader, NULL, "remove the quotes: %s is wanted here", noun);
        return NULL;
    }
    return word;
}

static rdata_read_field *const fields[RDATA_FIELD_COUNT] = {
    [RDATA_U8] = rdata_u8_read,
    [RDATA_U16] = rdata_u16_read,
    [RDATA_U32] = rdata_u32_read,
    [RDATA_PERIOD] = rdata_period_read,
    [RDATA_TIME] = rdata_time_read,
    [RDATA_TYPE] = rdata_type_read,
    [RDATA_ALGORITHM] = rdata_algorithm_read,
    [RDATA_DIGEST_TYPE] = rdata_digest_type_read,
    [RDATA_CERT_TYPE] = rdata_cert_type_read,
    [RDATA_NAME] = rdata_name_read,
    [RDATA_NAMES] = rdata_names_read,
    [RDATA_IP4] = rdata_ip4_read,
    [RDATA_IP6] = rdata_ip6_read,
    [RDATA_EUI48] = rdata_eui48_read,
    [RDATA_EUI64] = rdata_eui64_read,
    [RDATA_GROUPS] = rdata_groups_read,
    [RDATA_STRING] = rdata_string_read,
    [RDATA_MAYBE] = rdata_maybe_read,
    [RDATA_STRINGS] = rdata_strings_read,
    [RDATA_TAG] = rdata_tag_read,
    [RDATA_VALUE] = rdata_value_read,
    [RDATA_NONEMPTY] = rdata_nonempty_read,
    [RDATA_SALT] = rdata_salt_read,
    [RDATA_HASH] = rdata_hash_read,
    [RDATA_HEX] = rdata_hex_read,
    [RDATA_NSAP] = rdata_nsap_read,
    [RDATA_BASE64] = rdata_base64_read,
    [RDATA_KEY] = rdata_key_read,
    [RDATA_BITMAP] = rdata_bitmap_read,
    [RDATA_LOC] = rdata_loc_read,
    [RDATA_APL] = rdata_apl_read,
    [RDATA_GATEWAY] = rdata_gateway_read,
    [RDATA_HIP] = rdata_hip_read,
    [RDATA_PARAMS] = rdata_params_read,
    [RDATA_WKS] = rdata_wks_read,
    [RDATA_ATMA] = rdata_atma_read,
    [RDATA_A6] = rdata_a6_read,
    [RDATA_RELAY] = rdata_relay_read,
    [RDATA_DOA] = rdata_doa_read,
    [RDATA_SCHEME] = rdata_scheme_read,
    [RDATA_OPAQUE] = rdata_opaque_read,
};

// ---- all of it ----------------------------------------------------------------------------------

static bool check(const struct rdata_reader *reader, const struct rdata_shape *shape)
{
    struct text all = buffer_text(reader->out);
    struct text rdata = {all.at + reader->start, all.len - reader->start};
    if (rdata.len > RDATA_WRITTEN_MAX)
        return rdata_refuse(reader, NULL, "rdata of %zu octets: at most %d are possible", rdata.len,
                            RDATA_WRITTEN_MAX);
    return !shape->check || shape->check(rdata, reader->err) || rdata_refuse_here(reader);
}

static bool read_generic_len(struct rdata_reader *reader, uint32_t *len)
{
    reader->next = 1; // behind the \#
    const struct rdata_word *word = rdata_next_plain(reader, "the number of octets");
    return word && rdata_number(reader, word->text, RDATA_WRITTEN_MAX, len);
}

// RFC 3597 5: \# LEN HEX.
static bool read_generic(struct rdata_reader *reader)
{
    AUTO_BUFFER octets = {0};
    uint32_t len = 0;
    if (!read_generic_len(reader, &len) || !rdata_add_hex(reader, true, &octets))
        return false;
    if (octets.len != len)
        return rdata_refuse(reader, NULL, "%zu octets of hex text: %u were announced", octets.len,
                            len);
    return rdata_take_all(reader->type, buffer_text(&octets), 0, len, false, reader->out,
                          reader->err) ||
           rdata_refuse_here(reader);
}

static bool read_fields(struct rdata_reader *reader)
{
    const struct rdata_shape *shape = rdata_shape_find(reader->type);
    char name[10], shown[RDATA_SHOWN_MAX];
    if (!shape)
        return rdata_refuse(reader, NULL, "type %s is not known: write its rdata as \\# LEN HEX",
                            rr_type_write(reader->type, name));
    for (const uint8_t *field = shape->fields; *field; field++)
        if (!fields[*field](reader))
            return false;
    if (!check(reader, shape))
        return false;
    if (!rdata_has_next(reader))
        return true;
    struct text rest = reader->words[reader->next++].text;
    return rdata_refuse(reader, rest.at, "nothing may follow here: remove '%s'",
                        rdata_show(rest, shown));
}

static bool is_generic(const struct rdata_reader *reader)
{
    return reader->count && !reader->words->is_quoted && text_is(reader->words->text, "\\#");
}

static void drop(struct rdata_reader *reader)
{
    reader->out->len = reader->start;
    if (reader->out->at)
        reader->out->at[reader->start] = '\0';
}

static bool read_all(struct rdata_reader *reader, unsigned *marks)
{
    reader->start = reader->out->len;
    if (!(is_generic(reader) ? read_generic : read_fields)(reader)) {
        drop(reader);
        return false;
    }
    if (marks)
        *marks = reader->marks;
    return true;
}

bool rdata_read_words(uint16_t type, const struct rdata_word *words, size_t count,
                      const struct rdata_rules *rules, struct buffer *out, unsigned *marks,
                      struct error *err)
{
    struct rdata_reader reader = {
        .words = words, .count = count, .type = type, .rules = rules, .out = out, .err = err};
    return read_all(&reader, marks);
}

bool rdata_read(uint16_t type, struct text text, const struct rdata_rules *rules,
                struct buffer *out, unsigned *marks, struct error *err)
{
    __attribute__((cleanup(words_cleanup))) struct words words;
    words.count = words.capacity = 0; // most of it is never touched
    words.many = NULL;
    struct rdata_reader reader = {.text = text.at ? text : TEXT(""),
                                  .field = text.at,
                                  .type = type,
                                  .rules = rules,
                                  .out = out,
                                  .err = err};
    bool is_split =
        is_one_string(type, reader.text) ? split_none(&reader, &words) : split(&reader, &words);
    reader.words = words.many ? words.many : words.few;
    reader.count = words.count;
    return is_split && read_all(&reader, marks);
}
