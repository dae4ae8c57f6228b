#include <arpa/inet.h>
#include <string.h>

#include "dns/idn.h"
#include "dns/record.h"

enum {
    NAME_OCTETS_MAX = 253,
    LABEL_OCTETS_MAX = 63,
    INPUT_OCTETS_MAX = 1024, // 254 characters of UTF-8
};

#define REASON "ValidationFailed"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_label_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
}

static bool is_ascii(struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.at[i] >= 0x80)
            return false;
    }
    return true;
}

static bool refuse_char(struct text label, char c, struct error *err)
{
    const char *allowed = "only letters, digits, '-' and '_' are allowed";
    if (c == ' ' || c == '\t')
        return error_set(err, FAULT_SPEC, REASON, "label '%.*s' contains a blank: %s",
                         TEXT_ARGS(label), allowed);
    if ((unsigned char)c < 0x20 || c == 0x7f)
        return error_set(err, FAULT_SPEC, REASON, "label '%.*s' contains a control character: %s",
                         TEXT_ARGS(label), allowed);
    if (c == '*')
        return error_set(err, FAULT_SPEC, REASON,
                         "label '%.*s' contains '*': a wildcard is a label of its own, the "
                         "leftmost of a subdomain",
                         TEXT_ARGS(label));
    return error_set(err, FAULT_SPEC, REASON, "label '%.*s' contains '%c': %s", TEXT_ARGS(label), c,
                     allowed);
}

// Of the ASCII characters alone; the others are libidn2's business.
static bool label_has_good_chars(struct text label, struct error *err)
{
    for (size_t i = 0; i < label.len; i++) {
        char c = label.at[i];
        if ((unsigned char)c < 0x80 && !is_label_char(c))
            return refuse_char(label, c, err);
    }
    return true;
}

static bool label_add_ascii(struct buffer *out, struct text label, struct error *err)
{
    if (!label_has_good_chars(label, err))
        return false;
    if (label.len > LABEL_OCTETS_MAX)
        return error_set(err, FAULT_SPEC, REASON,
                         "label '%.*s' has %zu octets: at most 63 are allowed", TEXT_ARGS(label),
                         label.len);
    size_t from = out->len;
    buffer_add(out, label.at, label.len);
    for (size_t i = from; i < out->len; i++)
        if (out->at[i] >= 'A' && out->at[i] <= 'Z')
            out->at[i] = (char)(out->at[i] - 'A' + 'a');
    return true;
}

static bool label_add_idn(struct buffer *out, struct text label, struct error *err)
{
    AUTO_BUFFER ascii = {0};
    return label_has_good_chars(label, err) && idn_add_label(&ascii, label, REASON, err) &&
           label_add_ascii(out, buffer_text(&ascii), err);
}

static bool label_add(struct buffer *out, struct text label, size_t number, bool allow_wildcard,
                      struct error *err)
{
    if (label.len == 0)
        return error_set(err, FAULT_SPEC, REASON, "label %zu is empty: remove the extra dot",
                         number);
    if (number > 1)
        buffer_add_char(out, '.');
    if (number == 1 && allow_wildcard && text_is(label, "*")) {
        buffer_add_char(out, '*');
        return true;
    }
    return is_ascii(label) ? label_add_ascii(out, label, err) : label_add_idn(out, label, err);
}

static bool name_check_input(struct text text, struct error *err)
{
    if (text.len == 0)
        return error_set(err, FAULT_SPEC, REASON, "it is empty");
    if (text.len > INPUT_OCTETS_MAX)
        return error_set(err, FAULT_SPEC, REASON, "it has %zu octets: at most %d are allowed",
                         text.len, NAME_OCTETS_MAX);
    if (!utf8_is_valid(text))
        return error_set(err, FAULT_SPEC, REASON, "it is not valid UTF-8");
    if (text_is(text, "."))
        return error_set(err, FAULT_SPEC, REASON, "'.' alone is the root: give a name below it");
    return true;
}

static bool name_normalise(struct arena *arena, struct text text, bool allow_wildcard,
                           struct text *out, struct error *err)
{
    if (!name_check_input(text, err))
        return false;
    struct text rest = text_ends(text, ".") ? (struct text){text.at, text.len - 1} : text;
    AUTO_BUFFER name = {0};
    struct text label;
    for (size_t number = 1; text_cut(&rest, '.', &label); number++) {
        if (!label_add(&name, label, number, allow_wildcard, err))
            return false;
    }
    if (name.len > NAME_OCTETS_MAX)
        return error_set(err, FAULT_SPEC, REASON, "it has %zu octets: at most %d are allowed",
                         name.len, NAME_OCTETS_MAX);
    *out = (struct text){arena_copy(arena, name.at, name.len), name.len};
    return true;
}

bool domain_normalise(struct arena *arena, struct text text, struct text *out, struct error *err)
{
    return name_normalise(arena, text, false, out, err);
}

bool subdomain_normalise(struct arena *arena, struct text text, struct text *out, struct error *err)
{
    if (text_is(text, "@")) {
        *out = TEXT("@");
        return true;
    }
    return name_normalise(arena, text, true, out, err);
}

bool record_name_join(struct arena *arena, struct text domain, struct text subdomain,
                      struct text *out, struct error *err)
{
    if (text_is(subdomain, "@")) {
        *out = (struct text){arena_copy(arena, domain.at, domain.len), domain.len};
        return true;
    }
    size_t len = subdomain.len + 1 + domain.len;
    if (len > NAME_OCTETS_MAX)
        return error_set(err, FAULT_SPEC, REASON,
                         "subdomain and domain together have %zu octets: at most %d are allowed",
                         len, NAME_OCTETS_MAX);
    *out = (struct text){arena_printf(arena, "%.*s.%.*s", TEXT_ARGS(subdomain), TEXT_ARGS(domain)),
                         len};
    return true;
}

// Four numbers, whether in range or not: nobody means a host by that.
static bool is_quad(struct text text)
{
    size_t dots = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '.')
            dots++;
        else if (!is_digit(text.at[i]))
            return false;
    }
    return dots == 3;
}

static bool is_ip_literal(struct text text)
{
    if (!text.at || !text.len)
        return false;
    if (text_ends(text, "."))
        text.len--;
    if (is_quad(text))
        return true;
    if (text_starts(text, "[") && text_ends(text, "]"))
        text = (struct text){text.at + 1, text.len - 2};
    char terminated[INET6_ADDRSTRLEN];
    if (text.len >= sizeof terminated)
        return false;
    memcpy(terminated, text.at, text.len);
    terminated[text.len] = '\0';
    struct in6_addr address;
    return strlen(terminated) == text.len && inet_pton(AF_INET6, terminated, &address) == 1;
}

static bool refuse_address(struct error *err)
{
    return error_set(err, FAULT_SPEC, REASON,
                     "it is an IP address: give a host name, addresses belong into A and AAAA "
                     "records");
}

bool target_normalise(struct arena *arena, struct text text, bool allow_root, struct text *out,
                      struct error *err)
{
    if (text_is(text, ".")) {
        if (!allow_root)
            return error_set(err, FAULT_SPEC, REASON,
                             "'.' alone is allowed only in MX and SRV records");
        *out = TEXT(".");
        return true;
    }
    struct text name = {0};
    if (is_ip_literal(text))
        return refuse_address(err);
    if (!name_normalise(arena, text, false, &name, err))
        return false;
    // Characters that IDN maps to nothing may have hidden one.
    if (is_ip_literal(name))
        return refuse_address(err);
    *out = name;
    return true;
}

bool name_is_within(struct text name, struct text zone)
{
    if (name.len < zone.len)
        return false;
    struct text tail = {name.at + (name.len - zone.len), zone.len};
    if (!text_equal(tail, zone))
        return false;
    return name.len == zone.len || tail.at[-1] == '.';
}
