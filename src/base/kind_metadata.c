#include <string.h>

#include "base/kind_private.h"
#include "base/memory.h"

enum { LABEL_MAX = 63, SUBDOMAIN_MAX = 253, ANNOTATIONS_MAX = 256 << 10 };

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool has_upper(struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] >= 'A' && text.at[i] <= 'Z')
            return true;
    }
    return false;
}

// Letters and digits, between them also `inner`.
static bool is_word(struct text text, size_t max, const char *inner)
{
    if (text.len == 0 || text.len > max || !is_alphanumeric(text.at[0]) ||
        !is_alphanumeric(text.at[text.len - 1]))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_alphanumeric(text.at[i]) && (!text.at[i] || !strchr(inner, text.at[i])))
            return false;
    }
    return true;
}

static bool is_label(struct text text)
{
    return is_word(text, LABEL_MAX, "-") && !has_upper(text);
}

bool kind_is_name(struct text text)
{
    struct text rest = text;
    struct text part;
    if (text.len == 0 || text.len > SUBDOMAIN_MAX)
        return false;
    while (text_cut(&rest, '.', &part)) {
        if (!is_word(part, SUBDOMAIN_MAX, "-") || has_upper(part))
            return false;
    }
    return true;
}

bool kind_is_label_key(struct text text)
{
    const char *slash = text.len ? memchr(text.at, '/', text.len) : NULL;
    if (!slash)
        return is_word(text, LABEL_MAX, "-_.");
    size_t len = (size_t)(slash - text.at);
    struct text name = {slash + 1, text.len - len - 1};
    return kind_is_name((struct text){text.at, len}) && is_word(name, LABEL_MAX, "-_.");
}

bool kind_is_label_value(struct text text)
{
    return !text.len || is_word(text, LABEL_MAX, "-_.");
}

static void check_keys(const struct check *check, const struct spot *spot)
{
    value_each (item, spot->value) {
        const struct spot at = {.parent = spot, .value = item, .name = item->key};
        if (!kind_is_label_key(item->key))
            check_fail(check, &at,
                       "a key is an optional DNS name and /, then at most 63 letters, digits, "
                       "- _ or .");
    }
}

static void check_labels(const struct check *check, const struct spot *spot)
{
    if (!check_text_map(check, spot))
        return;
    check_keys(check, spot);
    value_each (item, spot->value) {
        const struct spot at = {.parent = spot, .value = item, .name = item->key};
        if (!kind_is_label_value(value_text(item)))
            check_fail(check, &at,
                       "a label's value is at most 63 letters, digits, - _ or ., with a letter or "
                       "digit at both ends");
    }
}

static void check_annotations(const struct check *check, const struct spot *spot)
{
    size_t octets = 0;
    if (!check_text_map(check, spot))
        return;
    check_keys(check, spot);
    value_each (item, spot->value)
        octets += item->key.len + value_text(item).len;
    if (octets > ANNOTATIONS_MAX)
        check_fail(check, spot, "must have at most %d octets in all, has %zu", ANNOTATIONS_MAX,
                   octets);
}

static void check_name(const struct check *check, const struct spot *spot)
{
    if (check_type(check, spot, VALUE_TEXT) && !kind_is_name(spot->value->text))
        check_fail(check, spot,
                   "must be lower-case letters, digits, - and ., with a letter or digit at both "
                   "ends of each part, at most 253 octets (RFC 1123 subdomain)");
}

static void check_namespace(const struct check *check, const struct spot *spot)
{
    if (!check->kind->is_namespaced) {
        check_fail(check, spot, "%s has no namespace: remove it", check->kind->name);
        return;
    }
    if (check_type(check, spot, VALUE_TEXT) && !is_label(spot->value->text))
        check_fail(check, spot,
                   "must be lower-case letters, digits and -, with a letter or digit at both "
                   "ends, at most 63 octets (RFC 1123 label)");
}

static void check_text(const struct check *check, const struct spot *spot)
{
    check_type(check, spot, VALUE_TEXT);
}

static void check_finalizers(const struct check *check, const struct spot *spot)
{
    size_t index = 0;
    if (!check_type(check, spot, VALUE_LIST))
        return;
    value_each (item, spot->value) {
        const struct spot at = {.parent = spot, .value = item, .index = index++};
        if (check_type(check, &at, VALUE_TEXT) && !kind_is_label_key(item->text))
            check_fail(check, &at, "must be a name, or a DNS name, / and a name");
    }
}

// What the server writes passes as it is: NULL.
static const struct {
    const char *name;
    void (*check)(const struct check *check, const struct spot *spot);
} fields[] = {
    {"name", check_name},
    {"generateName", check_text},
    {"namespace", check_namespace},
    {"labels", check_labels},
    {"annotations", check_annotations},
    {"finalizers", check_finalizers},
    {"ownerReferences", NULL},
    {"uid", NULL},
    {"resourceVersion", NULL},
    {"generation", NULL},
    {"creationTimestamp", NULL},
    {"deletionTimestamp", NULL},
    {"deletionGracePeriodSeconds", NULL},
    {"managedFields", NULL},
    {"selfLink", NULL},
};

static void check_field(const struct check *check, const struct spot *spot)
{
    const char *names[COUNT_OF(fields)];
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        names[i] = fields[i].name;
        if (!text_is(spot->name, fields[i].name))
            continue;
        if (fields[i].check)
            fields[i].check(check, spot);
        return;
    }
    if (!check->kind->is_foreign)
        check_fail_unknown(check, spot, names, COUNT_OF(fields));
}

static bool has_name(const struct value *metadata)
{
    const struct value *name = value_find(metadata, "name");
    if (name && name->type != VALUE_NULL)
        return true;
    return value_text(value_find(metadata, "generateName")).len > 0;
}

void check_metadata(const struct check *check, const struct value *object)
{
    const struct value *metadata = value_find(object, "metadata");
    const struct spot root = {.value = object};
    const struct spot spot = {.parent = &root, .value = metadata, .name = TEXT("metadata")};
    const struct spot name = {.parent = &spot, .name = TEXT("name")};
    if (metadata && !check_type(check, &spot, VALUE_MAP))
        return;
    value_each (item, metadata) {
        const struct spot at = {.parent = &spot, .value = item, .name = item->key};
        if (item->type != VALUE_NULL)
            check_field(check, &at);
    }
    if (!has_name(metadata))
        check_fail_bare(check, &name, "is required");
}
