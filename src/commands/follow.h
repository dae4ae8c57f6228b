#pragma once

#include "commands/ask.h"
#include "commands/follow_text.h"

// Follows each save of a manifest to the answers of a name server: what it changes is asked for
// every 5 ms, and told in a line with the time from the save to the answer. What does not come
// within 5 s, or waits for a retry, is told as that, and asked for every second from then on, until
// it comes or something else is declared. Everything else that changes in the folder gets a line
// when it is seen.

struct follow;
// Lines without their end; never from within follow_saved.
typedef void follow_report(void *context, struct text line);
struct follow *follow_new(const struct ask_options *options, follow_report *report, void *context);
void follow_free(struct follow *follow); // accepts NULL

// Before the folder is read again; `save->path` is copied.
void follow_saved(struct follow *follow, const struct save *save);
// `now` follows `old`, which is NULL at first (nothing is told then) or `now` itself after its
// answers were asked for. Both must stay until the next call, or follow_free.
void follow_look(struct follow *follow, const struct view *old, struct view *now);
bool follow_is_busy(const struct follow *follow); // asks every 5 ms
