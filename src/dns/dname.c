#include "dns/dname.h"

#include <string.h>

#include "dns/idn.h"

#define REASON "InvalidName"

// ---- reading ------------------------------------------------------------------------------------

struct reader {
    const char *at;
    const char *end;
    enum dname_rules rules;
    uint8_t *out;
    size_t len;      // so far, beyond what fits as well
    size_t label_at; // where the length of the label goes
    size_t label_len;
    size_t stars; // in the label
    struct error *err;
};

static bool is_upper(uint8_t c)
{
    return c >= 'A' && c <= 'Z';
}

static uint8_t lower(uint8_t c)
{
    return is_upper(c) ? (uint8_t)(c - 'A' + 'a') : c;
}

static bool is_alphanumeric(uint8_t c)
{
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

enum { PLAIN_IN_OBJECT = 1, PLAIN_IN_FILE = 2, PLAIN = PLAIN_IN_OBJECT | PLAIN_IN_FILE };

// What stands for itself within a label.
static const uint8_t plain[256] = {
    ['!'] = PLAIN_IN_FILE,
    ['#' ... '\''] = PLAIN_IN_FILE,
    ['*'] = PLAIN,
    ['+' ... ','] = PLAIN_IN_FILE,
    ['-'] = PLAIN,
    ['/'] = PLAIN,
    ['0' ... '9'] = PLAIN,
    [':'] = PLAIN_IN_FILE,
    ['<' ... '@'] = PLAIN_IN_FILE,
    ['A' ... 'Z'] = PLAIN,
    ['['] = PLAIN_IN_FILE,
    [']' ... '^'] = PLAIN_IN_FILE,
    ['_'] = PLAIN,
    ['`'] = PLAIN_IN_FILE,
    ['a' ... 'z'] = PLAIN,
    ['{' ... '~'] = PLAIN_IN_FILE,
};

static bool is_plain(enum dname_rules rules, uint8_t c)
{
    return plain[c] & (rules == DNAME_OF_FILE ? PLAIN_IN_FILE : PLAIN_IN_OBJECT);
}

static void put(struct reader *reader, uint8_t octet)
{
    if (reader->len < DNAME_MAX)
        reader->out[reader->len] = lower(octet);
    reader->len++;
    reader->label_len++;
    reader->stars += octet == '*';
}

static bool refuse_char(const struct reader *reader, const char *at)
{
    uint32_t code_point;
    struct text rest = {at, (size_t)(reader->end - at)};
    size_t len = utf8_decode(rest, &code_point);
    if (len && !utf8_is_control(code_point))
        return error_set(reader->err, FAULT_SPEC, REASON, "invalid character %.*s", (int)len, at);
    return error_set(reader->err, FAULT_SPEC, REASON, "invalid character \\%03u", (uint8_t)*at);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// `at` is behind a backslash: \DDD is an octet, \X is X.
static bool read_escape(struct reader *reader)
{
    const char *at = reader->at;
    if (reader->end - at >= 3 && is_digit(at[0]) && is_digit(at[1]) && is_digit(at[2])) {
        int octet = (at[0] - '0') * 100 + (at[1] - '0') * 10 + (at[2] - '0');
        if (octet > UINT8_MAX)
            return error_set(reader->err, FAULT_SPEC, REASON, "no octet: \\%.3s", at);
        put(reader, (uint8_t)octet);
        reader->at += 3;
        return true;
    }
    if (at == reader->end || is_digit(*at) || (uint8_t)*at >= 0x80)
        return error_set(reader->err, FAULT_SPEC, REASON,
                         "a backslash must be followed by a character or three digits");
    put(reader, (uint8_t)*reader->at++);
    return true;
}

static bool has_other_scripts(struct text label)
{
    for (size_t i = 0; i < label.len; i++)
        if ((uint8_t)label.at[i] >= 0x80)
            return true;
    return false;
}

// The label as it is written, up to the next dot that is not escaped.
static struct text label_ahead(const struct reader *reader)
{
    const char *at = reader->at;
    while (at < reader->end && *at != '.')
        at += *at == '\\' && at + 1 < reader->end ? 2 : 1;
    return (struct text){reader->at, (size_t)(at - reader->at)};
}

static bool read_other_scripts(struct reader *reader, struct text label)
{
    AUTO_BUFFER ascii = {0};
    if (!utf8_is_valid(label))
        return error_set(reader->err, FAULT_SPEC, REASON, "it is not valid UTF-8");
    for (size_t i = 0; i < label.len; i++)
        if ((uint8_t)label.at[i] < 0x80 &&
            (label.at[i] == '*' || !is_plain(DNAME_OF_OBJECT, (uint8_t)label.at[i])))
            return refuse_char(reader, label.at + i);
    if (!idn_add_label(&ascii, label, REASON, reader->err))
        return false;
    for (size_t i = 0; i < ascii.len; i++)
        put(reader, (uint8_t)ascii.at[i]);
    reader->at += label.len;
    return true;
}

static bool read_octets(struct reader *reader, const char *end)
{
    while (reader->at < end) {
        uint8_t c = (uint8_t)*reader->at;
        if (c == '\\') {
            reader->at++;
            if (!read_escape(reader))
                return false;
            continue;
        }
        if (!is_plain(reader->rules, c))
            return refuse_char(reader, reader->at);
        put(reader, c);
        reader->at++;
    }
    return true;
}

static bool is_bad_a_label(const struct reader *reader)
{
    struct text label = {(const char *)reader->out + reader->label_at + 1, reader->label_len};
    return label.len >= 4 && !memcmp(label.at, "xn--", 4) && !idn_is_punycode(label);
}

static bool end_label(struct reader *reader)
{
    if (!reader->label_len)
        return error_set(reader->err, FAULT_SPEC, REASON, "segment is an empty string");
    if (reader->label_len > DNAME_LABEL_MAX)
        return error_set(reader->err, FAULT_SPEC, REASON, "segment too long %zu > %d",
                         reader->label_len, DNAME_LABEL_MAX);
    if (reader->rules == DNAME_OF_OBJECT && reader->stars && reader->label_len != 1)
        return error_set(reader->err, FAULT_SPEC, REASON, "wildcard segments must have length 1");
    if (reader->rules == DNAME_OF_PATTERN && reader->stars > 1)
        return error_set(reader->err, FAULT_SPEC, REASON, "patterns can only have one wildcard");
    if (reader->len > DNAME_MAX)
        return true; // told when all of it is counted
    reader->out[reader->label_at] = (uint8_t)reader->label_len;
    if (reader->rules != DNAME_OF_FILE && is_bad_a_label(reader))
        return error_set(reader->err, FAULT_SPEC, REASON, "%.*s does not decode as Punycode",
                         (int)reader->label_len, reader->out + reader->label_at + 1);
    return true;
}

// Most labels hold nothing else. False, and nothing is read: this one does.
static bool read_plain(struct reader *reader)
{
    const char *at = reader->at;
    while (at < reader->end && is_plain(reader->rules, (uint8_t)*at))
        at++;
    size_t len = (size_t)(at - reader->at);
    if ((at < reader->end && *at != '.') || reader->len + len > DNAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        uint8_t octet = lower((uint8_t)reader->at[i]);
        reader->out[reader->len + i] = octet;
        reader->stars += octet == '*';
    }
    reader->len += len;
    reader->label_len = len;
    reader->at = at;
    return true;
}

static bool read_label(struct reader *reader)
{
    reader->label_at = reader->len++;
    reader->label_len = reader->stars = 0;
    if (read_plain(reader))
        return end_label(reader);
    struct text label = label_ahead(reader);
    bool is_read = has_other_scripts(label) ? read_other_scripts(reader, label)
                                            : read_octets(reader, label.at + label.len);
    return is_read && end_label(reader);
}

bool dname_text_is_full(struct text text)
{
    size_t slashes = 0;
    if (!text.len || text.at[text.len - 1] != '.')
        return false;
    while (slashes + 1 < text.len && text.at[text.len - 2 - slashes] == '\\')
        slashes++;
    return slashes % 2 == 0;
}

static bool add_origin(struct reader *reader, bool is_full, const struct dname *origin)
{
    static const struct dname root = {(const uint8_t *)"", 1};
    const struct dname *rest = is_full ? &root : origin;
    if (!rest)
        return error_set(reader->err, FAULT_SPEC, REASON,
                         "the name is not complete: end it with a dot");
    if (reader->len + rest->len > DNAME_MAX)
        return error_set(reader->err, FAULT_SPEC, REASON, "name too long %zu > %d",
                         reader->len + rest->len, DNAME_MAX);
    memcpy(reader->out + reader->len, rest->at, rest->len);
    reader->len += rest->len;
    return true;
}

// The octets of nearly all names; with the bit that makes the letter a small one.
static const uint8_t common[256] = {
    ['0' ... '9'] = 1, ['A' ... 'Z'] = 1 | 0x20, ['a' ... 'z'] = 1, ['-'] = 1, ['_'] = 1};

static bool end_common_label(uint8_t *label, size_t len)
{
    *label = (uint8_t)len;
    return len && len <= DNAME_LABEL_MAX && (len < 4 || memcmp(label + 1, "xn--", 4) != 0);
}

// Nearly all names at once. False: they have to go the long way, which says what is wrong, too.
static bool read_common(struct text text, const struct dname *origin, uint8_t out[DNAME_MAX],
                        struct dname *name)
{
    size_t label = 0;
    size_t len = 1;
    if (text.len > DNAME_MAX - 2)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = (uint8_t)text.at[i];
        if (common[c]) {
            out[len++] = c | (common[c] & 0x20);
            continue;
        }
        if (c != '.' || !end_common_label(out + label, len - label - 1))
            return false;
        label = len++;
    }
    bool is_full = len == label + 1;
    if (is_full)
        out[label] = 0;
    else if (!end_common_label(out + label, len - label - 1) || !origin ||
             len + origin->len > DNAME_MAX)
        return false;
    else
        memcpy(out + len, origin->at, origin->len);
    *name = (struct dname){out, is_full ? len : len + origin->len};
    return true;
}

bool dname_read(struct text text, const struct dname *origin, enum dname_rules rules,
                uint8_t out[DNAME_MAX], struct dname *name, struct error *err)
{
    if (text.len && read_common(text, origin, out, name))
        return true;
    struct reader reader = {
        .at = text.at, .end = text.at + text.len, .rules = rules, .out = out, .err = err};
    bool is_full = dname_text_is_full(text);
    bool has_labels = !text_is(text, "@") && !text_is(text, ".");
    if (!text.len)
        return error_set(err, FAULT_SPEC, REASON, "segment is an empty string");
    while (has_labels && reader.at < reader.end) {
        if (!read_label(&reader))
            return false;
        reader.at += reader.at < reader.end; // over the dot
    }
    if (!add_origin(&reader, is_full, origin))
        return false;
    *name = (struct dname){out, reader.len};
    return true;
}

// ---- writing ------------------------------------------------------------------------------------

static bool is_bare(uint8_t c)
{
    return is_alphanumeric(c) || c == '-' || c == '_' || c == '*' || c == '/';
}

static void write_octet(struct buffer *out, uint8_t c)
{
    if (c <= ' ' || c >= 0x7f || c == '[') // "\[" begins a bit-string label (RFC 2673) for named
        buffer_printf(out, "\\%03u", c);
    else
        buffer_printf(out, "\\%c", c);
}

static void write_label(struct buffer *out, const uint8_t *label)
{
    for (size_t i = 1; i <= *label;) {
        size_t first = i;
        while (i <= *label && is_bare(label[i]))
            i++;
        buffer_add(out, label + first, i - first);
        if (i <= *label)
            write_octet(out, label[i++]);
    }
}

void dname_write(struct buffer *out, struct dname name)
{
    if (dname_is_root(name))
        buffer_add_char(out, '.');
    for (const uint8_t *label = name.at; *label; label += *label + 1) {
        write_label(out, label);
        buffer_add_char(out, '.');
    }
}

size_t dname_labels(struct dname name, const uint8_t *labels[DNAME_LABELS_MAX])
{
    size_t count = 0;
    for (const uint8_t *label = name.at; *label; label += *label + 1)
        labels[count++] = label;
    return count;
}

// Zero ends a label, so that a shorter one is before its longer neighbours; 0 and 1 make room.
size_t dname_write_key(struct dname name, uint8_t out[DNAME_KEY_MAX])
{
    const uint8_t *labels[DNAME_LABELS_MAX];
    size_t len = 0;
    for (size_t i = dname_labels(name, labels); i-- > 0;) {
        for (size_t j = 1; j <= *labels[i]; j++) {
            uint8_t octet = labels[i][j];
            if (octet <= 1)
                out[len++] = 1;
            out[len++] = octet <= 1 ? octet + 1 : octet;
        }
        out[len++] = 0;
    }
    return len;
}

// ---- comparing ----------------------------------------------------------------------------------

bool dname_equal(struct dname a, struct dname b)
{
    return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

static int compare_labels(const uint8_t *a, const uint8_t *b)
{
    size_t len = *a < *b ? *a : *b;
    int order = memcmp(a + 1, b + 1, len);
    return order ? order : (*a > *b) - (*a < *b);
}

int dname_compare(struct dname a, struct dname b)
{
    const uint8_t *left[DNAME_LABELS_MAX];
    const uint8_t *right[DNAME_LABELS_MAX];
    size_t left_count = dname_labels(a, left);
    size_t right_count = dname_labels(b, right);
    while (left_count && right_count) {
        int order = compare_labels(left[--left_count], right[--right_count]);
        if (order)
            return order;
    }
    return (left_count > 0) - (right_count > 0);
}

bool dname_is_within(struct dname name, struct dname zone)
{
    size_t at = 0;
    if (name.len < zone.len)
        return false;
    while (at < name.len - zone.len)
        at += name.at[at] + 1u;
    return at == name.len - zone.len && !memcmp(name.at + at, zone.at, zone.len);
}

size_t dname_label_count(struct dname name)
{
    const uint8_t *labels[DNAME_LABELS_MAX];
    return dname_labels(name, labels);
}

struct dname dname_parent(struct dname name)
{
    size_t skip = *name.at + 1u;
    return (struct dname){name.at + skip, name.len - skip};
}

bool dname_is_root(struct dname name)
{
    return name.len == 1;
}

bool dname_is_wildcard(struct dname name)
{
    return dname_label_is_star(name.at);
}

bool dname_has_inner_asterisk(struct dname name)
{
    for (const uint8_t *label = name.at; *label; label += *label + 1)
        if (memchr(label + 1, '*', *label) && !(label == name.at && dname_label_is_star(label)))
            return true;
    return false;
}

static bool is_host_label(const uint8_t *label)
{
    static const bool is_of_hosts[256] = {
        ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true};
    for (size_t i = 1; i <= *label; i++)
        if (!is_of_hosts[label[i]])
            return false;
    return label[1] != '-' && label[*label] != '-';
}

bool dname_is_host_name(struct dname name)
{
    const uint8_t *first = dname_is_wildcard(name) ? name.at + 2 : name.at;
    for (const uint8_t *label = first; *label; label += *label + 1)
        if (!is_host_label(label))
            return false;
    return true;
}
