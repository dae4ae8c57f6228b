#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

// Output for people: what the terminal can do, paragraphs, columns.

struct terminal {
    bool is_terminal;
    bool has_colour;  // a terminal, NO_COLOR not set, TERM not dumb
    unsigned columns; // 0: no terminal, so nothing is cut
    unsigned rows;
};
struct terminal terminal_of(int fd);

// All of it on stdout. Status of the error is errno (EPIPE: the reader left).
bool print_out(const struct buffer *text, struct error *err);

// Words broken into lines of at most `columns`, each begun by `indent` blanks; an empty line
// between paragraphs stays.
void print_wrapped(struct buffer *out, const char *text, unsigned indent, unsigned columns);
// Code points: what takes a column on a terminal, wide and combining ones aside.
size_t print_columns(struct text text);
// `text` padded with blanks to `columns`; nothing is cut.
void print_padded(struct buffer *out, struct text text, size_t columns);
// Cut to `columns` with "..." at the end.
void print_cut(struct buffer *out, struct text text, size_t columns);
enum { PRINT_ANSWER_COLUMNS = 60 }; // of what a name server answered
// "1 error", "2 errors"
void print_count(struct buffer *out, size_t count, const char *noun);
