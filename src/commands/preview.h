#pragma once

#include "commands/setup.h"
#include "commands/subject.h"

// What all subjects would serve, for commands that plan (struct preview). {0} shows nothing.
//
//     struct previews previews;
//     if (!previews_open(&previews, &setup, err)) ...
//     ... dry runs with .previews = &previews
//     previews_close(&previews);

enum { PREVIEWS_MAX = 16 };
struct previews {
    void *items[PREVIEWS_MAX]; // by subject; NULL: it has none
};
bool previews_open(struct previews *previews, struct setup *setup, struct error *err);
void previews_close(struct previews *previews); // also the half opened
// Of a dry run that rests: how many questions were asked; `answered` comes for each. Accepts NULL
// for previews, as do the following.
size_t previews_look(const struct previews *previews, struct arena *arena,
                     const struct engine *engine, struct store *store,
                     void (*answered)(void *context), void *context);
void previews_take_gone(const struct previews *previews, const struct kind *kind,
                        const struct value *tree);
void previews_take_object(const struct previews *previews,
                          const struct engine_object_change *change);
void previews_report(const struct previews *previews, struct proposal *out);
bool previews_leave_out(const struct previews *previews, const struct setup *setup,
                        const struct kind *kind);
