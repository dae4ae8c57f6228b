#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

// A scenario as text: one step a line, words parted by blanks, "quoted" and 'quoted' ones whole;
// `#` begins a comment line. A line that ends in <<WORD takes the lines up to WORD as its text.

enum { STEP_WORDS_MAX = 24 };

struct step {
    size_t line;
    const char *raw; // the line
    size_t word_count;
    const char *words[STEP_WORDS_MAX];
    size_t word_at[STEP_WORDS_MAX]; // where each begins in raw
    const char *text;               // NULL without
};

struct script {
    const char *name;
    struct step *steps;
    size_t count;
    struct arena *arena;
};

// Fails with "file:line: what".
bool script_read(struct script *script, const char *path, struct error *err);
void script_done(struct script *script);
const char *step_word(const struct step *step, size_t at); // "" behind the last
int step_number(const char *word);                         // 0 when it is none
const char *step_rest(const struct step *step, size_t at); // the line from that word on
// The value of an option word "key=value", or NULL; "" for the bare word "key".
const char *step_option(const struct step *step, const char *key);
