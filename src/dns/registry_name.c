#include "dns/registry_name.h"

#include <string.h>

#include "dns/record.h"

enum { LABEL_MAX = 63, NAME_MAX = 253 };

static const char type_template[] = "%{record_type}";

static bool has_template(struct text affix)
{
    return affix.len && memmem(affix.at, affix.len, type_template, strlen(type_template));
}

static void add_lower(struct buffer *out, struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        buffer_add_char(out, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
}

static void add_affix(struct buffer *out, struct text affix, struct text type)
{
    struct text rest = affix;
    while (has_template(rest)) {
        const char *at = memmem(rest.at, rest.len, type_template, strlen(type_template));
        const char *behind = at + strlen(type_template);
        add_lower(out, (struct text){rest.at, (size_t)(at - rest.at)});
        add_lower(out, type);
        rest = (struct text){behind, (size_t)(rest.at + rest.len - behind)};
    }
    add_lower(out, rest);
}

void registry_name_write(struct buffer *out, struct text name, struct text type,
                         const struct registry_affix *affix)
{
    struct text rest = name;
    struct text label;
    text_cut(&rest, '.', &label);
    add_affix(out, affix->prefix, type);
    if (!has_template(affix->prefix) && !has_template(affix->suffix)) {
        add_lower(out, type);
        buffer_add_char(out, '-');
    }
    if (text_is(label, "*") && affix->wildcard.len)
        label = affix->wildcard;
    add_lower(out, label);
    add_affix(out, affix->suffix, type);
    if (rest.at) {
        buffer_add_char(out, '.');
        buffer_add(out, rest.at, rest.len);
    }
}

bool registry_name_fits(struct text name, struct text type, const struct registry_affix *affix,
                        struct error *err)
{
    AUTO_BUFFER made = {0};
    struct text label;
    registry_name_write(&made, name, type, affix);
    struct text rest = buffer_text(&made);
    if (made.len > NAME_MAX)
        return error_set(err, FAULT_SPEC, "NameTooLongForRegistry",
                         "the name of the TXT record with its owner has %zu octets, at most %d are "
                         "allowed: shorten the name or the TXT prefix",
                         made.len, NAME_MAX);
    while (text_cut(&rest, '.', &label))
        if (label.len > LABEL_MAX)
            return error_set(err, FAULT_SPEC, "NameTooLongForRegistry",
                             "the name of the TXT record with its owner has a label of %zu octets, "
                             "at most %d are allowed: shorten the first label or the TXT prefix",
                             label.len, LABEL_MAX);
    return true;
}

bool registry_name_is_within(struct text name, struct text type, const struct registry_affix *affix,
                             struct text zone, struct error *err)
{
    AUTO_BUFFER made = {0};
    registry_name_write(&made, name, type, affix);
    return name_is_within(buffer_text(&made), zone) ||
           error_set(err, FAULT_SPEC, "InvalidConfiguration",
                     "its ownership record would be %.*s, outside of the zone %.*s: set a TXT "
                     "prefix that has %%{record_type} in it and ends in a dot, such as "
                     "%%{record_type}.own.",
                     TEXT_ARGS(buffer_text(&made)), TEXT_ARGS(zone));
}
