#include "frontends/status/status_query.h"

#include <ctype.h>
#include <string.h>

#include "base/memory.h"

static const struct {
    const char *name;
    enum status_filter filter;
    size_t offset; // of a text
} fields[] = {
    {"system", STATUS_FILTER_SYSTEM, offsetof(struct status_query, system)},
    {"state", STATUS_FILTER_STATE, offsetof(struct status_query, state)},
    {"q", STATUS_FILTER_SEARCH, offsetof(struct status_query, search)},
    {"page", STATUS_FILTER_PAGE, 0},
};

static char *text_at(struct status_query *query, size_t field)
{
    return (char *)query + fields[field].offset;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)tolower((unsigned char)c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// One character of a form's encoding; *at moves behind it. False: that is none.
static bool decode_one(struct text text, size_t *at, char *out)
{
    *out = text.at[(*at)++];
    if (*out == '+')
        *out = ' ';
    if (*out != '%')
        return true;
    int high = *at + 1 < text.len ? hex_value(text.at[*at]) : -1;
    int low = high >= 0 ? hex_value(text.at[*at + 1]) : -1;
    *at += 2;
    *out = (char)(high * 16 + low);
    return low >= 0 && *out;
}

static bool decode(struct text text, char out[STATUS_FIELD_OCTETS_MAX + 1], const char *name,
                   struct error *err)
{
    size_t len = 0;
    for (size_t at = 0; at < text.len;) {
        if (len == STATUS_FIELD_OCTETS_MAX)
            return error_set(err, FAULT_SPEC, "", "the filter \"%s\" is longer than %d characters",
                             name, STATUS_FIELD_OCTETS_MAX);
        if (!decode_one(text, &at, &out[len++]))
            return error_set(err, FAULT_SPEC, "",
                             "the filter \"%s\" is not encoded as a form encodes it", name);
    }
    out[len] = '\0';
    if (!utf8_is_valid((struct text){out, len}))
        return error_set(err, FAULT_SPEC, "", "the filter \"%s\" is not UTF-8", name);
    return true;
}

static bool read_page(struct text text, size_t *out, struct error *err)
{
    int64_t number;
    if (!text_to_int64(text, &number) || number < 1 || number > STATUS_PAGE_MAX)
        return error_set(err, FAULT_SPEC, "", "the page must be a number from 1 to %d",
                         STATUS_PAGE_MAX);
    *out = (size_t)number;
    return true;
}

static bool take_value(struct status_query *query, size_t field, struct text value,
                       struct error *err)
{
    if (fields[field].filter == STATUS_FILTER_PAGE)
        return !value.len || read_page(value, &query->page, err);
    return decode(value, text_at(query, field), fields[field].name, err);
}

// COUNT_OF(fields): there is no such filter here.
static size_t find_field(struct text name, unsigned filters)
{
    size_t at = 0;
    while (at < COUNT_OF(fields) &&
           !(text_is(name, fields[at].name) && (fields[at].filter & filters)))
        at++;
    return at;
}

static void write_names(struct buffer *out, unsigned filters)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].filter & filters)
            buffer_printf(out, "%s%s", out->len ? ", " : "", fields[i].name);
}

static bool refuse_name(struct text name, unsigned filters, struct error *err)
{
    AUTO_BUFFER shown = {0};
    AUTO_BUFFER names = {0};
    text_clean(&shown, name, 64);
    write_names(&names, filters);
    return error_set(err, FAULT_SPEC, "", "this page has no filter \"%s\"; its filters are: %s",
                     buffer_text(&shown).at, names.len ? names.at : "none");
}

static bool take_pair(struct status_query *query, struct text pair, unsigned filters,
                      unsigned *taken, struct error *err)
{
    struct text value = pair;
    struct text name;
    text_cut(&value, '=', &name);
    size_t field = find_field(name, filters);
    if (field == COUNT_OF(fields))
        return refuse_name(name, filters, err);
    if (*taken & fields[field].filter)
        return error_set(err, FAULT_SPEC, "", "the filter \"%s\" is given twice",
                         fields[field].name);
    *taken |= fields[field].filter;
    return take_value(query, field, value.at ? value : TEXT(""), err);
}

bool status_query_parse(struct status_query *out, struct text query, unsigned filters,
                        struct error *err)
{
    struct status_query read = {.page = 1};
    struct text pair;
    unsigned taken = 0;
    if (query.len > STATUS_QUERY_OCTETS_MAX)
        return error_set(err, FAULT_SPEC, "", "the filters are longer than %d characters together",
                         STATUS_QUERY_OCTETS_MAX);
    while (text_cut(&query, '&', &pair))
        if (pair.len && !take_pair(&read, pair, filters, &taken, err))
            return false;
    for (char *at = read.search; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    *out = read;
    return true;
}

// What needs no encoding in a query needs no escaping in HTML either.
static void add_encoded(struct buffer *out, const char *text)
{
    for (const char *at = text; *at; at++)
        if (isalnum((unsigned char)*at) || strchr("-._~", *at))
            buffer_add_char(out, *at);
        else
            buffer_printf(out, "%%%02X", (unsigned char)*at);
}

void status_query_write(struct buffer *out, const struct status_query *query)
{
    const char *texts[] = {query->system, query->state, query->search};
    const char *mark = "?";
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (!*texts[i])
            continue;
        buffer_printf(out, "%s%s=", mark, fields[i].name);
        add_encoded(out, texts[i]);
        mark = "&amp;";
    }
    if (query->page > 1)
        buffer_printf(out, "%spage=%zu", mark, query->page);
}
