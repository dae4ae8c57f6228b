#include <string.h>

#include "providers/pihole/list.h"

enum { NAME_OCTETS_MAX = 253, LABEL_OCTETS_MAX = 63 };

#define REASON "RecordRefused"

static bool is_label_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

static bool check_label(struct text name, struct text label, struct error *err)
{
    char shown[ERROR_TEXT_MAX / 4];
    text_clean_into(shown, sizeof shown, name);
    if (label.len == 0)
        return error_set(err, FAULT_SPEC, REASON, "%s: a label is empty", shown);
    if (label.len > LABEL_OCTETS_MAX)
        return error_set(err, FAULT_SPEC, REASON,
                         "%s: a label has %zu octets, at most 63 are allowed", shown, label.len);
    for (size_t i = 0; i < label.len; i++) {
        if (!is_label_char(label.at[i]))
            return error_set(err, FAULT_SPEC, REASON,
                             "%s: Pi-hole takes only letters, digits, '-' and '_' in names%s",
                             shown, label.at[i] == '*' ? ", and no wildcards" : "");
    }
    return true;
}

// Of hyphens at the edges of labels Pi-hole minds those of the last one alone, and of a name that
// ends in a dot those before the dot not at all.
static bool check_last_label(struct text name, struct error *err)
{
    char shown[ERROR_TEXT_MAX / 4];
    const char *dot = memrchr(name.at, '.', name.len);
    const char *first = dot ? dot + 1 : name.at;
    const char *last = name.at + name.len - 1;
    if (first > last || (*first != '-' && *last != '-'))
        return true;
    text_clean_into(shown, sizeof shown, name);
    return error_set(err, FAULT_SPEC, REASON,
                     "%s: Pi-hole takes no '-' at the beginning or end of the last label", shown);
}

bool list_check_name(struct text name, struct error *err)
{
    struct text rest =
        name.len > 1 && text_ends(name, ".") ? (struct text){name.at, name.len - 1} : name;
    struct text label;
    if (name.len == 0)
        return error_set(err, FAULT_SPEC, REASON, "the name is empty");
    if (rest.len > NAME_OCTETS_MAX)
        return error_set(err, FAULT_SPEC, REASON, "the name has %zu octets: at most %d are allowed",
                         rest.len, NAME_OCTETS_MAX);
    while (text_cut(&rest, '.', &label)) {
        if (!check_label(name, label, err))
            return false;
    }
    return check_last_label(name, err);
}
