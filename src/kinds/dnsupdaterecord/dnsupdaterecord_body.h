#pragma once

#include "kinds/dnsupdaterecord/dnsupdaterecord.h"

// Inside this folder: what the kind's table points to.

extern const char *const update_record_condition_types[]; // NULL-terminated

// "a number", for findings.
const char *update_record_type_word(enum value_type type);

void update_record_pack_managed(const struct value *object, struct pack_writer *out);
void update_record_list_names(const struct value *object, struct kind_names *out);
void update_record_validate(const struct value *object, struct findings *findings);
bool update_record_find_claim(struct arena *arena, const struct value *object,
                              struct kind_claim *out);
bool update_record_has_secret(const struct value *object);
