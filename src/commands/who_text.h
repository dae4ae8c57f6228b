#pragma once

#include "commands/print.h"
#include "commands/view_source.h"
#include "commands/who_find.h"

// What was found of a name, in sentences for people or as one JSON document.

struct who_look {
    const struct view_source *source; // which kinds were read; NULL: all
    const char *server;               // that was asked; NULL: none
    enum answer answer;               // to the question for a name that nobody declares
    const char *answer_text;
    struct text more; // what subjects add, lines for people
    unsigned columns; // 0: no terminal
};

// The answer in one sentence.
void who_write_headline(struct buffer *out, const struct who *who);
void who_write_text(struct buffer *out, const struct who *who, const struct who_look *look);
void who_write_json(struct buffer *out, const struct who *who, const struct who_look *look);
