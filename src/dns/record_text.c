#include "dns/record_text.h"

#include "dns/rdata.h"

static bool is_name(enum record_type type)
{
    return type != RECORD_A && type != RECORD_AAAA && type != RECORD_TXT;
}

static void add_number(struct buffer *out, int32_t number)
{
    if (number >= 0)
        buffer_printf(out, "%d ", number);
}

static void add_string(struct buffer *out, struct text value)
{
    buffer_add_char(out, '"');
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] == '"' || value.at[i] == '\\')
            buffer_add_char(out, '\\');
        buffer_add(out, value.at + i, 1);
    }
    buffer_add_char(out, '"');
}

static void add_presentation(struct buffer *out, const struct record_set *set, struct text value)
{
    add_number(out, set->priority);
    add_number(out, set->weight);
    add_number(out, set->port);
    if (set->type == RECORD_TXT)
        add_string(out, value);
    else
        buffer_add(out, value.at, value.len);
    if (is_name(set->type) && !text_ends(value, "."))
        buffer_add_char(out, '.');
}

struct text record_rdata_make(struct arena *arena, const struct record_set *set, size_t value)
{
    static const struct rdata_rules rules = {.names = DNAME_OF_FILE};
    AUTO_BUFFER presentation = {0};
    AUTO_BUFFER wire = {0};
    AUTO_BUFFER text = {0};
    unsigned marks = 0;
    uint16_t type = record_type_number(set->type);
    add_presentation(&presentation, set,
                     record_value_canonical(arena, set->type, set->values[value]));
    if (rdata_read(type, buffer_text(&presentation), &rules, &wire, &marks, NULL))
        rdata_write(&text, type, buffer_text(&wire));
    else
        buffer_add(&text, presentation.at, presentation.len);
    return (struct text){arena_copy(arena, text.at, text.len), text.len};
}
