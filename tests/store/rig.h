#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/test_folder.h"
#include "io/world.h"
#include "store/cache.h"
#include "store/folder/folder.h"

// A folder store in a temporary folder, on the virtual clock and a disk that can be made to fail.
//
//     struct rig *rig = rig_new();
//     rig_write(rig, "web.yaml", THING("www", "value: a"));
//     rig_open(rig);
//     assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");

struct rig {
    char dir[TEST_FOLDER_MAX];
    char state_dir[TEST_FOLDER_MAX]; // "": none
    bool allow_empty;
    unsigned kind_count; // of Thing, Place, Token; 0: all
    struct loop *loop;
    struct disk *disk; // faulty_disk
    struct random random;
    uint64_t drawn;
    struct store *store; // NULL: not open
    struct log *log;
    struct buffer reported; // events and more since rig_reported, a line each; "." ends a batch
    struct buffer logged;   // log lines
    struct buffer why;      // not synced
    struct buffer rows;     // of rig_rows
    bool is_synced;
    bool was_synced; // once since it was opened
    bool is_leading;
    struct error error; // of the last operation
    bool is_answered;
    bool is_ok;
    const struct object *object;       // of the last reply; own reference
    struct buffer json;                // of the last get
    void (*in_event)(struct rig *rig); // called with the next event, once; NULL: nothing is
};

#define THING(name, spec)                                                                          \
    "---\napiVersion: test.example.org/v1\nkind: Thing\nmetadata:\n  name: " name                  \
    "\n  namespace: shop\nspec:\n  " spec "\n"
#define PLACE(name, spec)                                                                          \
    "---\napiVersion: test.example.org/v1\nkind: Place\nmetadata:\n  name: " name                  \
    "\nspec:\n  " spec "\n"
#define TOKEN(name, token)                                                                         \
    "---\napiVersion: v1\nkind: Token\nmetadata:\n  name: " name                                   \
    "\n  namespace: shop\ndata:\n  token: " token "\n"

#define RIG_CLAIMS "test.example.org/claims"
#define RIG_FINALIZER "test.example.org/finalizer"

// The kinds of store/test_kind.h.
enum rig_kind { RIG_THING, RIG_PLACE, RIG_TOKEN, RIG_KINDS };

enum { RIG_START_S = 1700000000 };

struct rig *rig_new(void);
void rig_free(struct rig *rig);
// Opens the store and lets it read everything.
void rig_open(struct rig *rig);
bool rig_try_open(struct rig *rig); // false: rig->error
// The process ends here and now.
void rig_drop(struct rig *rig);
// Drops it and opens it anew.
void rig_restart(struct rig *rig);
void rig_run(struct rig *rig, int64_t ms);

// Files below the folder.
void rig_write(struct rig *rig, const char *path, const char *text);
void rig_remove(struct rig *rig, const char *path);
const char *rig_read(struct rig *rig, const char *path); // "" when absent; until the next call
bool rig_has(struct rig *rig, const char *path);         // folders, too
// Writes a new text and waits until it has settled.
void rig_change(struct rig *rig, const char *path, const char *text);
void rig_take_away(struct rig *rig, const char *path);

// The first column of all rows that a query finds in the state, a line each; until the next call.
const char *rig_rows(struct rig *rig, const char *sql);
// Changes the state as somebody else might.
void rig_tamper(struct rig *rig, const char *sql);

// What was told since the last call.
const char *rig_reported(struct rig *rig);
const struct object *rig_thing(struct rig *rig, const char *name); // in namespace shop
const struct object *rig_find(struct rig *rig, enum rig_kind kind, const char *namespace_,
                              const char *name);

// Operations; each runs until it is answered. On failure rig->error.
bool rig_claim(struct rig *rig, const struct object *object, const char *claims);
bool rig_apply(struct rig *rig, const struct store_apply *apply);
bool rig_patch(struct rig *rig, const struct object *object, const char *json);
bool rig_release(struct rig *rig, const struct object *object);
// A Token in namespace shop that is ours: data as JSON, names that are kept as JSON or NULL.
bool rig_put(struct rig *rig, const char *name, const struct object *owner, const char *data,
             const char *kept);
// A Thing in namespace shop that is a child of ours: its spec as JSON.
bool rig_put_owned_object(struct rig *rig, const char *name, const struct object *owner,
                          const char *spec, const struct object *seen);
bool rig_drop_owned_object(struct rig *rig, const struct object *seen);
const char *rig_get(struct rig *rig, enum rig_kind kind, const char *namespace_,
                    const char *name); // JSON, or "" with rig->error
// folder_read: a line per entry "path kind name [gone] [| fault]", then each tree as JSON when
// asked.
const char *rig_list(struct rig *rig, bool with_trees);
bool rig_has_logged(struct rig *rig, const char *part);
const char *rig_check(struct rig *rig, const char *name); // "ok" or the text; "advice: ..."

// For operations that are to run together.
void rig_answered(void *context, const struct store_reply *reply);
