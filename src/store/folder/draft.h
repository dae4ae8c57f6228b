#pragma once

#include "store/folder/inside.h"

// One object on its way to its next state. Everything of it lives in the arena.

struct draft {
    struct arena *arena;
    struct subject subject;
    struct managed managed;
    struct text unread; // YAML of ours.last_good that was not read yet; see draft_complete
    bool is_behind;     // what is kept of it is older than the cached state, or lost
    bool is_aside;      // the last good document holds a secret: never in a status file or a row
};

struct draft draft_make(const struct folder *folder, struct arena *arena,
                        const struct object_ref_key *key);
// A new object: uid, time of creation, first generation and version.
void draft_begin(struct folder *folder, struct draft *draft);
// What is kept of an entry. What is lost of it is made from the cached state and the manifest.
// False when its status file cannot be read.
bool draft_load(struct folder *folder, struct draft *draft, uint32_t entry, struct error *err);
// From a document of a status file, but for the last good document. False when it does not say
// enough.
bool draft_skim(struct folder *folder, struct draft *draft, const struct status_doc *doc);
// The last good document too. Half of the time that reading takes goes into it, and at a start
// nearly all turn out to be what the manifests say.
void draft_complete(struct draft *draft);
// Would `good` be written as it stands there?
bool draft_has_good(const struct draft *draft, const struct value *good);
// Takes the next resourceVersion.
void draft_step(struct folder *folder, struct draft *draft);
// The new state, in memory of the cache; the caller owns it.
struct object *draft_object(const struct folder *folder, const struct draft *draft);
// The status document, for draft_keep or to be kept later.
void draft_write(struct buffer *out, const struct draft *draft);
void draft_key(struct buffer *out, const struct draft *draft);

// Puts the status document of an object into the state, where it counts once that is committed.
// `body` NULL: the object is gone for good.
void folder_write_ahead(struct folder *folder, uint32_t file, const struct object_ref_key *key,
                        uint64_t version, const char *body);
// Puts a document into a status file and lets it be written. Nothing on a standby;
// who only reads keeps it in memory.
bool folder_keep(struct folder *folder, uint32_t file, struct text key, uint64_t version,
                 struct text body, struct error *err);
bool draft_keep(struct folder *folder, const struct draft *draft, uint32_t file, struct error *err);
void folder_drop(struct folder *folder, uint32_t file, struct text key);

// Files a new state and tells it unless it is the same: ADDED or MODIFIED. Returns the entry.
uint32_t folder_file(struct folder *folder, struct object *object, uint32_t file,
                     struct content_id body, bool is_reported);
// The object leaves: DELETED.
void folder_leave(struct folder *folder, uint32_t entry);
void folder_report_event(struct folder *folder, enum store_event_type type,
                         const struct object *object, const struct object *old);
void folder_end_batch(struct folder *folder);
