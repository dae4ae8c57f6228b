#include "kinds/dnsupdaterecord/external_dns.h"

static const struct external_dns_flag_row flags[] = {
#define OLDEST EXTERNAL_DNS_OLDEST
#define NEWEST EXTERNAL_DNS_NEWEST
#define FLAG(name, form, since, until) {name, FLAG_##form, since, until},
#include "kinds/dnsupdaterecord/flags.def"
#undef FLAG
#undef NEWEST
#undef OLDEST
};

static bool has_release(const struct external_dns_flag_row *row, unsigned minor)
{
    return row->since <= minor && minor <= row->until;
}

static const struct external_dns_flag_row *find_name(struct text name, unsigned minor)
{
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (has_release(&flags[i], minor) && text_is(name, flags[i].name))
            return &flags[i];
    return NULL;
}

const struct external_dns_flag_row *external_dns_flag_find(struct text flag, unsigned minor,
                                                           bool *is_negated)
{
    static const char no[] = "no-";
    const struct external_dns_flag_row *row = find_name(flag, minor);
    *is_negated = false;
    if (row || !text_starts(flag, no))
        return row;
    size_t len = sizeof no - 1;
    row = find_name((struct text){flag.at + len, flag.len - len}, minor);
    *is_negated = row && row->form == FLAG_SWITCH;
    return *is_negated ? row : NULL;
}

const struct external_dns_flag_row *external_dns_flag_find_any(struct text flag, bool *is_negated)
{
    const struct external_dns_flag_row *row = NULL;
    for (unsigned minor = EXTERNAL_DNS_NEWEST; !row && minor >= EXTERNAL_DNS_OLDEST; minor--)
        row = external_dns_flag_find(flag, minor, is_negated);
    return row;
}

const char *external_dns_flag_nearest(struct text wrong, unsigned minor)
{
    const char *names[COUNT_OF(flags)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (has_release(&flags[i], minor))
            names[count++] = flags[i].name;
    return text_nearest(wrong, names, count);
}
