#pragma once

#include <stddef.h>

#include "base/memory.h"
#include "base/pack.h"

// A list of texts within a packed body: added one by one, then ended. Empty ones are left out.
void text_list_add(struct pack_writer *out, struct text text);
void text_list_end(struct pack_writer *out);
// The texts are borrowed from the body.
const struct text *text_list_unpack(struct arena *arena, struct pack_reader *in, size_t *count);
