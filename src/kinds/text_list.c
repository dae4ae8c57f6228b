#include "kinds/text_list.h"

// (1, text) ..., ended by 0.

void text_list_add(struct pack_writer *out, struct text text)
{
    if (!text.len)
        return;
    pack_number(out, 1);
    pack_text(out, text);
}

void text_list_end(struct pack_writer *out)
{
    pack_number(out, 0);
}

const struct text *text_list_unpack(struct arena *arena, struct pack_reader *in, size_t *count)
{
    const struct pack_reader begin = *in;
    for (*count = 0; unpack_number(in); ++*count)
        unpack_text(in);
    struct text *texts = arena_new_array(arena, struct text, *count + 1);
    *in = begin;
    for (size_t i = 0; unpack_number(in); i++)
        texts[i] = unpack_text(in);
    return texts;
}
