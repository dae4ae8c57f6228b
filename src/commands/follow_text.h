#pragma once

#include "commands/view.h"

// What `signpost status --watch --ask` tells of a folder that changes, as lines of text. Pure:
// views, answers and times are handed in. commands/follow.h asks the name server and calls these.

// A manifest that was saved or deleted.
struct save {
    const char *path; // relative to the folder; of a folder that went: that of the folder
    int64_t at_ms;    // Unix time
    bool is_deletion;
    bool is_reported; // a line spoke of it
};

// One answer that a save is going to change.
struct change {
    struct view_row row;     // what is declared (of a removal: was), and what is answered now
    const char *before;      // what was answered before; NULL: not known
    uint32_t before_ttl_s;   // declared before; 0: none, or other values too
    const struct save *save; // NULL: none that is known
    bool is_removal;
    bool is_quiet; // told only if it comes about: a record that waits for its name, say
};

enum change_state { CHANGE_WAITING, CHANGE_DONE, CHANGE_REPLACED };

// Takes over what the rows of `old` know: answers, what was told, and of refused manifests what the
// last good one declared.
void follow_carry(struct view *now, const struct view *old);
// Do name, type, values or TTL differ?
bool follow_is_declared_anew(const struct view_row *old, const struct view_row *now);
bool follow_is_same_question(const struct view_row *a, const struct view_row *b);
// Of the answer in change->row. REPLACED: a removed record's name answers something else already.
enum change_state follow_judge(const struct change *change);
// Does `signpost run` try again by itself, so that the change may still come about?
bool follow_is_retried(const struct view_row *row);
bool follow_save_covers(const struct save *save, const char *path);

// "www.example.com A  192.0.2.1 -> 192.0.2.2  answered 131 ms after the save of web.yaml"
void follow_write_change(struct buffer *out, const struct change *change, int64_t answered_ms);
// "www.example.com A  192.0.2.1 -> 192.0.2.2  not within 5 s after the save of web.yaml; answered:
// 192.0.2.1"
void follow_write_overdue(struct buffer *out, const struct change *change, int64_t waited_s);
// "DNSRecord/default/web  www.example.com A  Conflict: www.example.com A is held by default/other"
void follow_write_row(struct buffer *out, const struct view_row *row);
// The same once its answer is as declared.
void follow_write_ready(struct buffer *out, const struct view_row *row);
