#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/log.h"
#include "io/world.h"
#include "store/cache.h"
#include "store/folder/document.h"
#include "store/folder/entries.h"
#include "store/folder/events.h"
#include "store/folder/folder.h"
#include "store/folder/generated.h"
#include "store/folder/managed.h"
#include "store/folder/scan.h"
#include "store/folder/secrets.h"
#include "store/folder/state.h"
#include "store/folder/status_files.h"
#include "store/folder/unread.h"
#include "store/store.h"

// The folder store from within: one struct, worked on by these modules.
//
//     folder.c       opens the store; operations and checks
//     lead.c         takes the locks: which process may write
//     schedule.c     decides when to read: timers, work in slices
//     changes.c      turns the paths that inotify names into work
//     full_scan.c    compares everything on the disk with what is known
//     load.c         loads what earlier runs left: status files and the state
//     orphans.c      handles what was loaded and has no manifest any more
//     pass.c         reads changed manifests, file by file
//     ingest.c       turns one document into an object, or refuses it
//     missing.c      handles objects whose documents are gone
//     draft.c        works out the next state of one object
//     write.c        apply, remove_finalizer, patch_status, put, get
//     shard_files.c  stores ledger shards
//     write_back.c   writes status files and Events with a delay
//     read.c         reads a folder without opening the store
//     degraded.c     reports refused documents and failing writes

enum {
    RETRY_MS = 1000,
    UNREADABLE_RETRY_MS = 5000,
    SLOW_SCAN_MS = 60 * 1000,
    DEBOUNCE_MS = 100,
    DEBOUNCE_MAX_MS = 1000,
    HALF_WRITTEN_MS = 5000,
    LEAD_MS = 1000,
    SLICE_MS = 20,
    SCAN_SLICE_MS = 2,
    EMPTY_SUSPICIOUS = 10, // so many known and none there: not believed
    MANIFEST_OCTETS_MAX = 16 * 1024 * 1024,
    OBJECTS_MAX = 1000000,
};

struct id_list {
    uint32_t *items;
    size_t count;
    size_t capacity;
};

// A status document that waits, while loading, for the manifest that defines its object.
struct dormant {
    uint64_t hash; // of its key
    uint64_t version;
    uint32_t file;
    bool is_used;
    bool is_kept; // its manifest could not be taken yet: its object stays as it is
};

struct load {
    struct id_list files; // those that have a status file
    size_t next;
    struct dormant *items; // by hash, newest first
    size_t count;
    size_t capacity;
    char (*spared)[37]; // uids of documents that nobody serves now
    size_t spared_count;
    size_t spared_capacity;
    bool has_unreadable; // documents: whose they are is not known
};

// A document that another file's status file holds now: once that is written, the old one goes.
struct move {
    uint32_t from;
    uint32_t to;
    uint64_t version;
    char *key;
};

struct pass {
    uint32_t number;   // 24 bits
    bool is_load;      // objects may lie dormant
    bool has_reported; // events since the last end of a batch
    bool is_open;      // more of this pass may follow
    struct id_list queue;
    size_t next;
    uint32_t file;                  // being read
    uint32_t documents;             // in it, so far
    uint32_t broken;                // of these, refused without an object
    bool keeps_missing;             // any object may be defined by what could not be read of it:
                                    // those that it seems to lack stay
    bool has_put_off;               // a file of this pass has to be read again (ingest.h)
    struct buffer text;             // of it, as it stood there
    struct document_reader *reader; // NULL: no file is half read
};

// A refused document.
struct fault_line {
    bool is_old;  // of the reading before
    char *folder; // that it is about, or NULL
    char *text;
};

// Those of one file. Of many there are lines only of the first.
struct file_faults {
    struct link link;
    struct fault_line *lines;
    size_t count;
    size_t capacity;
    size_t found;    // in this reading, with those without a line
    size_t counted;  // among those of the folder: of the last whole reading
    size_t unlisted; // of the reading before, without a line
    size_t reported; // of this reading, in the log
};

enum degraded {
    DEGRADED_LOST,        // a leader's state folder was removed or replaced
    DEGRADED_WRITE_AHEAD, // the state cannot be read, or objects cannot be written to it
    DEGRADED_STATE,       // no resourceVersions can be reserved
    DEGRADED_STATUS,      // status files cannot be written
    DEGRADED_FILES,       // files of objects or of ledgers cannot be written
    DEGRADED_READING,     // a pass could not read or keep what it needs; the next one tries again
    DEGRADED_COUNT
};

enum work { WORK_NONE, WORK_LOAD, WORK_SCAN, WORK_CHANGES };

struct request;

struct folder {
    struct store store;
    struct world world;
    struct log *log;
    struct store_sink sink;
    char *dir;       // real path
    char *state_dir; // real path; equal to dir unless given
    char *own_dir;   // <state_dir>/.signpost
    bool allow_empty;
    bool is_reading;
    char *owner_id; // as given, or NULL
    bool has_reported_owner;
    struct store_kind *types;
    const struct kind **kinds;
    size_t kind_count;
    struct kind_patterns *patterns;

    struct entries entries;
    struct status_files status_files;
    struct state state;
    struct generated generated;
    struct generated owned_objects;
    struct events events;
    struct arena *arena; // of one write

    int lock;     // descriptor of .signpost/lock, -1: another process holds it
    int dir_lock; // that of the folder; -1 on a leader: its file system locks no folders
    bool is_leading;
    bool is_lost;   // on a leader: what it locked lies there no more
    bool has_rival; // it leads this folder with another state folder
    bool has_reported_leading;
    struct loop_timer lead_timer;

    struct disk_watch *watch;
    struct loop_timer debounce_timer;
    int64_t first_change_ms; // of those not looked at; 0: none
    int64_t last_edit_ms;    // of those that others made
    bool has_edits;          // such that were not looked at
    char **changes;          // paths that inotify named
    size_t change_count;
    size_t change_capacity;
    bool needs_scan;
    bool needs_load;
    struct loop_timer slow_timer;
    struct loop_timer retry_timer;
    int64_t retry_at_ms; // 0: not set

    enum work work;
    size_t stage;
    struct loop_timer work_timer;
    struct scan scan;
    uint32_t scan_number;
    struct error scan_error;   // something could not be read: what is not found proves nothing
    struct unread_list unread; // the same of what lies below these alone
    bool is_state_unread;      // the same of status files
    size_t lost_count;         // status files that somebody removed, and that were not told yet
    struct load load;
    struct pass pass;
    struct id_list missing; // entries
    int64_t doubted_ms;     // since then what is missing is not believed; 0: it is

    bool was_synced; // once
    bool is_synced;
    char *why; // not synced

    struct request *requests;
    size_t request_count;
    size_t request_next; // those in front have been answered
    size_t request_capacity;
    struct loop_timer write_timer;

    struct id_list due; // files whose status files are to be written
    struct loop_timer write_back_timer;
    int64_t write_back_at_ms; // when it fires; 0: not set
    struct move *moves;
    size_t move_count;
    size_t move_capacity;
    struct loop_timer probe_timer; // of a state or a file that could not be written
    char *failed_dir;              // where no file could be written; NULL: nowhere
    size_t failed_octets;          // of that file

    LIST_OF(struct file_faults) faults;
    struct file_faults *folder_faults; // those of folders; NULL: none
    size_t fault_count;                // of all files, as of their last reading
    char *degraded_texts[DEGRADED_COUNT];
    char **unknown_kinds;
    size_t unknown_kind_count;
    size_t unknown_kind_capacity;
    struct buffer check_text;
};

void id_list_add(struct id_list *list, uint32_t id);
const struct store_kind *folder_type(const struct folder *folder, const struct kind *kind);
int64_t folder_now_ms(const struct folder *folder); // the loop's clock
// The full path of a manifest. Returns the folder that it must not lead out of.
const char *folder_place(struct buffer *full, const struct folder *folder, const char *path);
// For reading alone: no lock, no watch, nothing is ever written.
struct folder *folder_open_reader(const struct world *world, const struct folder_options *options,
                                  struct error *err);
void folder_close_reader(struct folder *folder);
DEFINE_CLEANUP(folder, folder_close_reader)
