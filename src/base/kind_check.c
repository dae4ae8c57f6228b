#include <string.h>

#include "base/kind_private.h"
#include "base/memory.h"
#include "base/when.h"

enum { CANDIDATES_MAX = 128 };

static void check_value(const struct check *check, const struct field *row,
                        const struct spot *spot);

// The text of a field that is absent, or empty where something has to stand.
static void fail_required(const struct check *check, const struct field *row,
                          const struct spot *spot)
{
    if (row->required_text)
        check_add(check, spot, row->required_text);
    else if (row->flags & FIELD_REQUIRED)
        check_fail_bare(check, spot, "is required");
    else
        check_fail_bare(check, spot, "cannot be empty");
}

static bool check_count(const struct check *check, const struct field *row, const struct spot *spot,
                        size_t count, const char *unit)
{
    int64_t max = kind_field_max(check->kind, row);
    if (row->flags & FIELD_JUDGED)
        return true;
    if (count == 0 && row->min > 0) {
        fail_required(check, row, spot);
        return false;
    }
    if ((int64_t)count < row->min)
        check_fail(check, spot, "must have at least %lld %s, has %zu", (long long)row->min, unit,
                   count);
    if ((int64_t)count > max)
        check_fail(check, spot, "must have at most %lld %s, has %zu", (long long)max, unit, count);
    return (int64_t)count >= row->min && (int64_t)count <= max;
}

static bool is_choice(const struct field *row, struct text text)
{
    for (const char *const *choice = row->choices; *choice; choice++) {
        if (text_is(text, *choice))
            return true;
    }
    return false;
}

static void add_choices(struct buffer *out, const char *const *choices)
{
    for (size_t i = 0; choices[i]; i++) {
        if (i)
            buffer_add_text(out, choices[i + 1] ? ", " : " or ");
        value_write_yaml_text(out, text_of(choices[i]));
    }
}

static void fail_choice(const struct check *check, const struct field *row, const struct spot *spot)
{
    AUTO_BUFFER text = {0};
    bool is_secret = row->flags & FIELD_SECRET;
    if (row->refused_text) {
        buffer_printf(&text, "%s%s", row->refused_text, is_secret ? "" : ": ");
        if (!is_secret)
            text_clean(&text, spot->value->text, KIND_SHOWN_MAX);
        check_add(check, spot, text.at);
        return;
    }
    add_choices(&text, row->choices);
    check_fail_bare(check, spot, "must be %s", text.at);
}

static void fail_pattern(const struct check *check, const struct field *row,
                         const struct spot *spot)
{
    if (row->refused_text)
        check_add(check, spot, row->refused_text);
    else
        check_fail(check, spot, "must match %s", row->pattern);
}

static bool is_base64(struct text text)
{
    size_t digits = 0;
    size_t padding = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '\n' || c == '\r' || c == ' ')
            continue;
        bool is_digit = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                        (c >= '0' && c <= '9') || c == '+' || c == '/';
        if ((!is_digit && c != '=') || (is_digit && padding))
            return false;
        digits += is_digit;
        padding += !is_digit;
    }
    return (digits + padding) % 4 == 0 && padding <= 2 && (digits || !padding);
}

static void check_form(const struct check *check, const struct field *row, const struct spot *spot)
{
    struct text text = spot->value->text;
    int64_t unix_ms;
    struct error err;
    if (row->flags & FIELD_JUDGED)
        return;
    if (row->choices && !is_choice(row, text))
        fail_choice(check, row, spot);
    else if (row->pattern && !kind_pattern_matches(check->findings->patterns, row->pattern, text))
        fail_pattern(check, row, spot);
    else if ((row->flags & FIELD_BYTES) && !is_base64(text))
        check_fail(check, spot, "must be base64");
    else if ((row->flags & FIELD_TIME) && !when_parse(text, &unix_ms, &err))
        check_fail(check, spot, "must be a time such as 2025-12-30T10:00:00Z");
}

static void check_text(const struct check *check, const struct field *row, const struct spot *spot)
{
    if (!check_type(check, spot, VALUE_TEXT))
        return;
    // A choice of the wrong length is told as what it is.
    bool is_worded = row->choices && spot->value->text.len;
    if (is_worded || check_count(check, row, spot, spot->value->text.len, "octets"))
        check_form(check, row, spot);
}

static void check_int(const struct check *check, const struct field *row, const struct spot *spot)
{
    int64_t max = kind_field_max(check->kind, row);
    if (!check_type(check, spot, VALUE_INT) || (row->flags & FIELD_JUDGED))
        return;
    if (spot->value->integer >= row->min && spot->value->integer <= max)
        return;
    if (max == INT64_MAX)
        check_fail(check, spot, "must be at least %lld", (long long)row->min);
    else
        check_fail(check, spot, "must be between %lld and %lld", (long long)row->min,
                   (long long)max);
}

static void check_bool(const struct check *check, const struct field *row, const struct spot *spot)
{
    (void)row;
    check_type(check, spot, VALUE_BOOL);
}

static void check_any(const struct check *check, const struct field *row, const struct spot *spot)
{
    (void)check;
    (void)row;
    (void)spot;
}

// A list map has each key once.
static void check_keys(const struct check *check, const char *key_name, const struct spot *spot)
{
    size_t index = 0;
    value_each (item, spot->value) {
        struct text key = value_text(value_find(item, key_name));
        const struct spot at = {.parent = spot, .value = item, .index = index++};
        const struct value *first = spot->value->first;
        while (first != item && !text_equal(value_text(value_find(first, key_name)), key))
            first = first->next;
        if (key.at && first != item)
            check_fail(check, &at, "the same %s stands in the list before", key_name);
    }
}

static void check_list(const struct check *check, const struct field *row, const struct spot *spot)
{
    const struct field *items = kind_items(check->kind, row);
    size_t index = 0;
    if (!check_type(check, spot, VALUE_LIST) ||
        !check_count(check, row, spot, spot->value->count, "entries") || !items)
        return;
    value_each (item, spot->value) {
        const struct spot at = {.parent = spot, .value = item, .index = index++};
        check_value(check, items, &at);
    }
    if (row->list_key)
        check_keys(check, row->list_key, spot);
}

bool check_text_map(const struct check *check, const struct spot *spot)
{
    if (!check_type(check, spot, VALUE_MAP))
        return false;
    value_each (item, spot->value) {
        const struct spot at = {.parent = spot, .value = item, .name = item->key};
        check_type(check, &at, VALUE_TEXT);
    }
    return true;
}

// Go's decoding, which foreign kinds are made of, takes null for absent. `row` may be NULL.
static bool is_skipped(const struct check *check, const struct field *row,
                       const struct value *value)
{
    bool is_allowed = check->kind->is_foreign || check->kind->is_lenient ||
                      (row && (row->flags & FIELD_NULLABLE));
    return is_allowed && value->type == VALUE_NULL;
}

static void check_text_field(const struct check *check, const struct field *row,
                             const struct spot *spot)
{
    if (!check_type(check, spot, VALUE_MAP) ||
        !check_count(check, row, spot, spot->value->count, "entries"))
        return;
    value_each (item, spot->value) {
        const struct spot at = {.parent = spot, .value = item, .name = item->key};
        if (is_skipped(check, NULL, item) || !check_type(check, &at, VALUE_TEXT))
            continue;
        int64_t max = kind_value_max(check->kind, row);
        if ((int64_t)item->text.len > max)
            check_fail(check, &at, "must have at most %lld octets, has %zu", (long long)max,
                       item->text.len);
        if ((row->flags & FIELD_BYTES) && !is_base64(item->text))
            check_fail(check, &at, "must be base64");
    }
}

static void check_int_map(const struct check *check, const struct field *row,
                          const struct spot *spot)
{
    if (!check_type(check, spot, VALUE_MAP) ||
        !check_count(check, row, spot, spot->value->count, "entries"))
        return;
    value_each (item, spot->value) {
        const struct spot at = {.parent = spot, .value = item, .name = item->key};
        if (!is_skipped(check, NULL, item))
            check_type(check, &at, VALUE_INT);
    }
}

static const char *const common[] = {"apiVersion", "kind", "metadata", "status"};

static bool is_common(const struct check *check, struct text key)
{
    if (check->kind->is_plain)
        return false;
    for (size_t i = 0; i < COUNT_OF(common); i++) {
        if (text_is(key, common[i]))
            return true;
    }
    return false;
}

static void fail_unknown(const struct check *check, const struct field *row,
                         const struct spot *spot)
{
    const char *names[CANDIDATES_MAX];
    size_t count = 0;
    for (size_t i = 0; !row && !check->kind->is_plain && i < COUNT_OF(common); i++)
        names[count++] = common[i];
    for (size_t i = 0; i < check->kind->field_count && count < CANDIDATES_MAX; i++) {
        struct text name;
        if (kind_is_child(row, &check->kind->fields[i], &name))
            names[count++] = name.at;
    }
    check_fail_unknown(check, spot, names, count);
}

static void check_required(const struct check *check, const struct field *row,
                           const struct spot *spot)
{
    size_t from = row ? (size_t)(row - check->kind->fields) + 1 : 0;
    for (size_t i = from; i < check->kind->field_count; i++) {
        const struct field *child = &check->kind->fields[i];
        struct spot at = {.parent = spot};
        bool is_required = (child->flags & FIELD_REQUIRED) && !(child->flags & FIELD_JUDGED);
        if (!is_required || !kind_is_child(row, child, &at.name))
            continue;
        const struct value *value = value_find_text(spot->value, at.name);
        if ((!value || is_skipped(check, child, value)) && (row || !is_common(check, at.name)))
            fail_required(check, child, &at);
    }
}

static void check_children(const struct check *check, const struct field *row,
                           const struct spot *spot)
{
    value_each (item, spot->value) {
        const struct spot at = {.parent = spot, .value = item, .name = item->key};
        const struct field *child = kind_child(check->kind, row, item->key);
        if (is_skipped(check, child, item) || (!row && is_common(check, item->key)))
            continue;
        if (child)
            check_value(check, child, &at);
        else if (!check->kind->is_foreign || check->kind->is_complete)
            fail_unknown(check, row, &at);
    }
    check_required(check, row, spot);
}

static void check_map(const struct check *check, const struct field *row, const struct spot *spot)
{
    if (check_type(check, spot, VALUE_MAP))
        check_children(check, row, spot);
}

static void check_value(const struct check *check, const struct field *row, const struct spot *spot)
{
    static void (*const by_type[])(const struct check *, const struct field *,
                                   const struct spot *) = {
        [FIELD_TEXT] = check_text,       [FIELD_INT] = check_int,
        [FIELD_BOOL] = check_bool,       [FIELD_MAP] = check_map,
        [FIELD_LIST] = check_list,       [FIELD_TEXT_MAP] = check_text_field,
        [FIELD_INT_MAP] = check_int_map, [FIELD_ANY] = check_any,
    };
    by_type[row->type](check, row, spot);
}

static void check_name(const struct check *check, const struct spot *root, const char *key,
                       const char *wanted)
{
    const struct value *value = value_find(root->value, key);
    const struct spot at = {.parent = root, .value = value, .name = text_of(key)};
    AUTO_BUFFER found = {0};
    if (!value) {
        check_fail_bare(check, &at, "is required");
        return;
    }
    if (!check_type(check, &at, VALUE_TEXT) || text_is(value->text, wanted))
        return;
    text_clean(&found, value->text, KIND_SHOWN_MAX);
    check_fail(check, &at, "expected %s, found %s", wanted, buffer_text(&found).at);
}

static bool has_other_version(const struct kind *kind, const struct value *object)
{
    const char *version;
    struct text given = value_text_at(object, "apiVersion");
    for (size_t i = 1; (version = kind_version_at(kind, i)); i++) {
        AUTO_BUFFER other = {0};
        buffer_printf(&other, "%s/%s", kind->group, version);
        if (text_is(given, other.at))
            return true;
    }
    return false;
}

static void check_identity(const struct check *check, const struct spot *root)
{
    AUTO_BUFFER api_version = {0};
    kind_api_version(&api_version, check->kind);
    if (!has_other_version(check->kind, root->value))
        check_name(check, root, "apiVersion", api_version.at);
    check_name(check, root, "kind", check->kind->name);
    check_metadata(check, root->value);
}

void kind_check(const struct kind *kind, const struct value *object, struct findings *findings)
{
    static const struct value nothing = {.type = VALUE_NULL};
    const struct check check = {kind, findings};
    const struct spot root = {.value = object ? object : &nothing};
    if (!check_type(&check, &root, VALUE_MAP))
        return;
    if (!kind->is_plain)
        check_identity(&check, &root);
    check_children(&check, NULL, &root);
}
