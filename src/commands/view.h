#pragma once

#include "base/kind.h"
#include "dns/record.h"
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
    const char *what;    // "www.example.com A", "https://dns.example"
    const char *ready;   // "True", "False", "Unknown", "-"
    const char *reason;  // "-" when there is none
    const char *message; // may be ""
    bool is_right;       // Ready, and nothing left to do

    bool has_question; // what a name server ought to answer is known
    struct record_set want;
    struct text fqdn;
    enum answer answer;
    const char *answer_text; // "192.0.2.1, 192.0.2.2", "NXDOMAIN"; "" when not asked
};

struct view {
    struct arena *arena;
    struct view_row *rows; // by object
    size_t count;
    size_t capacity;
    const char **faults; // "web.yaml:7:3: ..."
    size_t fault_count;
    size_t fault_capacity;
};

// `view` is zeroed but for the arena.
bool view_read(struct view *view, const struct folder_options *options, struct error *err);
void view_done(struct view *view); // resets the arena; ready to be read into again
size_t view_ready(const struct view *view);
bool view_is_right(const struct view *view); // all Ready, nothing refused, all answers right
