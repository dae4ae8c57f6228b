#pragma once

#include "dns/corefile/corefile.h"

// The lexer, and what else the parts of dns/corefile share.

enum { PROBLEM_TEXT_MAX = 1000 };

// The next token of a text.
struct corefile_lexer {
    struct arena *arena; // of texts that differ from what is written
    struct text text;
    size_t at;
    uint32_t line;
    uint32_t file;
};
void corefile_lexer_init(struct corefile_lexer *lexer, struct arena *arena, struct text text,
                         uint32_t file);
// False at the end of the text.
bool corefile_lexer_next(struct corefile_lexer *lexer, struct corefile_token *token);

static inline struct text token_text(const struct corefile_token *token)
{
    return (struct text){token->at, token->len};
}
// Line feeds within it: only a quoted token has any.
uint32_t corefile_line_feeds(const struct corefile_token *token);
// True if `next` stands on a line of its own, seen from the token before it.
bool corefile_starts_line(const struct corefile_token *before, const struct corefile_token *next);

// Replaces {$NAME} and {%NAME%} by the variables of that name. Borrows from `text` if there are
// none.
struct text corefile_expand(struct arena *arena, const struct corefile_world *world,
                            struct text text);
