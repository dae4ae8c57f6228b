#pragma once

#include "store/folder/inside.h"

// A draft is the next state of one object while it is being worked out. It lives in the arena. It
// begins as a new object (draft_begin), as what the store keeps (draft_load) or, while loading, as
// the status document that waited for its manifest (load_take).

struct draft {
    struct arena *arena;
    struct subject subject;
    struct managed managed;
    struct text unread; // YAML of managed.last_good that is not parsed yet; see draft_complete
    bool is_stale;      // after draft_load: its status document is lost, or older than the cache
    bool is_aside;      // the last good document holds a secret: never in a status file or a row
    struct dormant *dormant; // while loading: what it was read from, or NULL
};

struct draft draft_make(const struct folder *folder, struct arena *arena,
                        const struct object_ref_key *key);
// A new object: uid, time of creation, first generation and version.
void draft_begin(struct folder *folder, struct draft *draft);
// Loads what the store keeps of an entry, complete. What got lost is restored from the cached state
// and the manifest. Returns false when the status file cannot be read.
bool draft_load(struct folder *folder, struct draft *draft, uint32_t entry, struct error *err);
// Reads a document of a status file, except the last good document in it. Returns false when the
// uid or the version is missing.
bool draft_skim(struct folder *folder, struct draft *draft, const struct status_doc *doc);
// Reads the last good document, too. This is separate because it takes half of the reading time,
// and at a start nearly all of them equal the manifests.
void draft_complete(struct draft *draft);
// Is `good` the last good document, by its unread YAML? False once that was read.
bool draft_has_good(const struct draft *draft, const struct value *good);
// Gives the draft the next resourceVersion.
void draft_step(struct folder *folder, struct draft *draft);
// The new state as an object for the cache; the caller owns it.
struct object *draft_object(const struct folder *folder, const struct draft *draft);
// Appends the status document.
void draft_write(struct buffer *out, const struct draft *draft);
void draft_key(struct buffer *out, const struct draft *draft);

// Puts the status document of an object into the state, where it counts once that is committed.
// `body` NULL: the object is gone for good.
void folder_write_ahead(struct folder *folder, uint32_t file, const struct object_ref_key *key,
                        uint64_t version, const char *body);
// Puts a document into a status file, which is then written. A standby does nothing; a store that
// only reads keeps the document in memory.
bool folder_keep(struct folder *folder, uint32_t file, struct text key, uint64_t version,
                 struct text body, struct error *err);
bool draft_keep(struct folder *folder, const struct draft *draft, uint32_t file, struct error *err);
void folder_drop(struct folder *folder, uint32_t file, struct text key);

// Puts a new state into the cache and the entries, and reports ADDED or MODIFIED unless it equals
// the old one. Takes over the object. Returns the entry.
uint32_t folder_put_object(struct folder *folder, struct object *object, uint32_t file,
                           struct content_id body, bool is_reported);
// Removes the object from the cache, the entries, the status file and the secrets, and reports
// DELETED. If a document defines it again, its file is read again.
void folder_remove_object(struct folder *folder, uint32_t entry);
void folder_report_event(struct folder *folder, enum store_event_type type,
                         const struct object *object, const struct object *old);
void folder_end_batch(struct folder *folder);
