#include "kinds/emco_name.h"

#include <stdint.h>

#include "base/digest.h"
#include "base/must.h"

enum { LABEL_OCTETS_MAX = 63, NAME_DIGITS = 8 };

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter_or_digit(char c)
{
    return is_lower_or_digit(lower(c));
}

bool emco_name_is_valid(struct text name)
{
    if (!name.len || name.len > EMCO_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool is_at_end = i == 0 || i + 1 == name.len;
        if (!is_letter_or_digit(c) && (is_at_end || (c != '-' && c != '_' && c != '.')))
            return false;
    }
    return true;
}

void emco_slug_write(struct buffer *out, struct text text, size_t limit)
{
    size_t begin = out->len;
    for (size_t i = 0; i < text.len && out->len - begin < limit; i++) {
        char c = lower(text.at[i]);
        if (is_lower_or_digit(c))
            buffer_add_char(out, c);
        else if (out->len > begin && out->at[out->len - 1] != '-')
            buffer_add_char(out, '-');
    }
    if (out->len > begin && out->at[out->len - 1] == '-')
        out->at[--out->len] = '\0';
    if (out->len == begin)
        buffer_add_char(out, 'x');
}

void emco_hash_write(struct buffer *out, size_t digits, const struct text *components, size_t count)
{
    uint8_t hash[DIGEST_MAX];
    char hex[2 * DIGEST_MAX + 1];
    struct digest_state *state = digest_begin(DIGEST_SHA256);
    must(digits % 2 == 0 && digits / 2 <= digest_len(DIGEST_SHA256));
    for (size_t i = 0; i < count; i++) {
        digest_add(state, components[i].at, components[i].len);
        digest_add(state, "\n", 1);
    }
    digest_end(state, hash);
    hex_encode(hash, digits / 2, hex);
    buffer_add(out, hex, digits);
}

static bool is_label(struct text name)
{
    if (!name.len || name.len > LABEL_OCTETS_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        bool is_at_end = i == 0 || i + 1 == name.len;
        if (!is_lower_or_digit(name.at[i]) && (is_at_end || name.at[i] != '-'))
            return false;
    }
    return true;
}

const char *emco_object_name(struct arena *arena, struct text name)
{
    AUTO_BUFFER made = {0};
    if (is_label(name))
        return arena_copy(arena, name.at, name.len);
    emco_slug_write(&made, name, LABEL_OCTETS_MAX - NAME_DIGITS - 1);
    buffer_add_char(&made, '-');
    emco_hash_write(&made, NAME_DIGITS, &name, 1);
    return arena_copy(arena, made.at, made.len);
}

struct text emco_name_of(const struct value *object)
{
    const struct value *annotations = value_at(object, "metadata.annotations", NULL);
    struct text given = value_text(value_find(annotations, EMCO_NAME_ANNOTATION));
    return given.len ? given : value_text_at(object, "metadata.name");
}
