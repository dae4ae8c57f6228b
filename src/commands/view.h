#pragma once

#include "base/kind.h"
#include "commands/option.h"
#include "commands/question.h"
#include "store/folder/folder.h"

// What `signpost status` shows: all objects of a folder of manifests that have a status, and what
// of the manifests was refused. Texts live in the arena.

enum answer { ANSWER_NOT_ASKED, ANSWER_OK, ANSWER_DIFFERS, ANSWER_NONE, ANSWER_FAILED };

struct view_row {
    const struct kind *kind;
    const char *namespace_; // "" when cluster-scoped
    const char *name;
    const char *object;  // "DNSRecord/default/web"
    const char *path;    // of the manifest
    uint32_t line;       // where its document begins; 0: not known
    const char *what;    // "www.example.com A", "https://dns.example"
    const char *ready;   // "True", "False", "Unknown", "-"
    const char *reason;  // "-" when there is none
    const char *message; // may be ""
    const char *since;   // RFC 3339: when that came to be; "" when it is not known
    bool is_right;       // Ready, and nothing left to do
    bool is_pending;     // `signpost run` has not acted on what the manifest says
    bool is_gone;        // its manifest is
    bool is_refused;     // its manifest is: the last good object stays, if there is one
    bool has_good;       // there is

    bool has_question; // what a name server ought to answer is known
    struct name_question question;
    enum answer answer;
    const char *answer_text; // "192.0.2.1, 192.0.2.2", "NXDOMAIN"; "" when not asked
    uint32_t answer_ttl_s;
    bool is_ahead;        // by follow.h: the answer is newer than the failure that the status tells
    const char *reported; // by follow.h; NULL: nothing yet
    size_t order;         // in which it was added
    const struct value *tree;
    const char *const *servers; // of a zone: "ns1 2026112200 Current"; NULL-terminated, or NULL
    const char *warning;        // what is odd although it is right; NULL: nothing
    bool is_unserved;           // of a zone: neither a group of servers nor a ZoneFile has it
};

struct view {
    struct arena *arena;
    bool has_names;        // other objects that have names of the DNS are rows, too
    bool is_asked;         // a name server was asked for what is declared
    struct view_row *rows; // by object
    size_t count;
    size_t capacity;
    const char **faults; // "web.yaml:7:3: ..."
    size_t fault_count;
    size_t fault_capacity;
    const char **broken; // paths of manifests that cannot be read to their end
    size_t broken_count;
    size_t broken_capacity;
};

// Lists the kinds whose objects have rows: those that the controllers of --controllers look at,
// all without that option. `out` has room for kind_count. False: there is no such controller.
bool view_choose_kinds(const struct view *view, const struct invocation *invocation,
                       const struct kind **out, size_t *count, struct error *err);
// `view` is zeroed but for the arena and has_names.
bool view_read(struct view *view, const struct folder_options *options, struct error *err);
// The same by hand: every entry, then the end.
void view_add(struct view *view, const struct folder_entry *entry);
// A row of something that is no object; its texts live in the arena. view_close() comes after.
void view_add_row(struct view *view, const struct view_row *row);
void view_close(struct view *view);
void view_done(struct view *view); // resets the arena; ready to be read into again
struct view_row *view_find(const struct view *view, const char *object); // or NULL
size_t view_ready(const struct view *view);
// Does the last good object of the manifest stay that this fault ("web.yaml:7:3: ...") speaks of?
bool view_has_good(const struct view *view, const char *fault);
// All Ready, nothing refused, all answers right; where somebody was asked, each zone is served.
bool view_is_right(const struct view *view);
