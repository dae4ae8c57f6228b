#include "kinds/external_name.h"

#include "dns/dname.h"

#define REASON "InvalidName"

static bool is_letter_digit_or_mark(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// `label` begins with its length.
static bool check_label(const uint8_t *label, bool is_first, struct error *err)
{
    if (dname_label_is_star(label) && is_first)
        return true;
    for (size_t i = 1; i <= label[0]; i++)
        if (!is_letter_digit_or_mark(label[i]))
            return error_set(err, FAULT_SPEC, REASON,
                             "the label '%.*s' may hold only letters, digits, - and _, and * only "
                             "the first one, alone",
                             label[0], (const char *)label + 1);
    return true;
}

static bool has_other_scripts(struct text label)
{
    for (size_t i = 0; i < label.len; i++)
        if ((uint8_t)label.at[i] >= 0x80)
            return true;
    return false;
}

// Checks the label as it is written. What a label of another script becomes may still be too long.
static bool check_written(struct text label, struct error *err)
{
    if (!label.len)
        return error_set(err, FAULT_SPEC, REASON, "it has an empty label: remove a dot");
    if (label.len > DNAME_LABEL_MAX && !has_other_scripts(label))
        return error_set(err, FAULT_SPEC, REASON, "a label has %zu octets: at most %d are allowed",
                         label.len, DNAME_LABEL_MAX);
    return true;
}

static bool check_labels_written(struct text name, struct error *err)
{
    struct text rest = name;
    struct text label;
    if (name.len > EXTERNAL_NAME_MAX && !has_other_scripts(name))
        return error_set(err, FAULT_SPEC, REASON, "it has %zu octets: at most %d are allowed",
                         name.len, EXTERNAL_NAME_MAX);
    while (text_cut(&rest, '.', &label))
        if (!check_written(label, err))
            return false;
    return true;
}

static bool read_name(struct text name, uint8_t octets[DNAME_MAX], struct dname *out,
                      struct error *err)
{
    static const struct dname root = {(const uint8_t *)"", 1};
    struct error cause;
    struct text bare = {name.at, name.len - text_ends(name, ".")};
    if (!bare.len || text_is(bare, "@"))
        return error_set(err, FAULT_SPEC, REASON, "it has no label: give a full name");
    if (!check_labels_written(bare, err))
        return false;
    if (!dname_read(bare, &root, DNAME_OF_OBJECT, octets, out, &cause))
        return error_set(err, FAULT_SPEC, REASON, "it is no name of a host: %s", cause.text);
    return true;
}

bool external_name_write(struct buffer *out, struct text name, struct error *err)
{
    uint8_t octets[DNAME_MAX];
    const uint8_t *labels[DNAME_LABELS_MAX];
    struct dname read = {0};
    if (!read_name(name, octets, &read, err))
        return false;
    size_t count = dname_labels(read, labels);
    for (size_t i = 0; i < count; i++)
        if (!check_label(labels[i], i == 0, err))
            return false;
    for (size_t i = 0; i < count; i++) {
        if (i)
            buffer_add_char(out, '.');
        buffer_add(out, labels[i] + 1, labels[i][0]);
    }
    return true;
}
