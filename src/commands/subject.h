#pragma once

#include "commands/option.h"
#include "engine/controller.h"
#include "engine/engine.h"
#include "store/store.h"

// A subject is what one system brings to the commands beside its controllers, providers and kinds:
// settings that come out of files, what serves beside the engine, its share of an installation and
// of the dashboard. It is a folder src/commands/<name>/ that exports <name>_subject, and its name
// in the list of src/commands/meson.build. Any member may be NULL or 0; a system that needs none
// has no such folder. No other file of this room names a controller or a provider (scripts/rules).

struct dashboard_section;
struct process_world;
struct setup;
struct document;
struct manifest;
struct installation;
struct proposal;
struct report;
struct view;
struct view_row;

struct service_setup {
    struct process_world *process;
    const struct invocation *invocation;
    struct setup *setup;
    struct store *store; // NULL: none is open
};
// What serves beside the engine of `signpost run`. Resident, one of each a process.
struct service {
    // Before there is an engine. NULL: err says why.
    void *(*make)(const struct service_setup *setup, struct error *err);
    // Before the engine starts. False: err says why it never can.
    bool (*open)(void *service, struct engine *engine, struct error *err);
    // Lines of /readyz; texts live until the loop comes around. May be NULL, as may the next.
    size_t (*checks)(const void *service, struct store_check *out, size_t capacity);
    void (*write_metrics)(const void *service, struct buffer *out); // Prometheus text
    void (*reload)(void *service);                                  // SIGHUP
    void (*close)(void *service); // what listens and what follows; before the engine goes
    void (*free)(void *service);  // after the engine; accepts NULL
};

// Changes that a dry run shows for a subject beside those at backends, such as zones that it would
// serve. take_gone, take_object and leaves_out may be NULL.
struct preview {
    // Reads what the options name, and points the settings there. NULL: err says why.
    void *(*make)(struct setup *setup, struct error *err);
    void (*free)(void *preview);
    // Of one dry run, which rests: `answered` comes for each of the questions that are asked; how
    // many there are is returned. What it comes to lives in the arena.
    size_t (*look)(void *preview, struct arena *arena, const struct engine *engine,
                   struct store *store, void (*answered)(void *context), void *context);
    // The last state of an object that is gone, with its status.
    void (*take_gone)(void *preview, const struct kind *kind, const struct value *tree);
    // An object that would be written, in the order of writing, before report_preview(). Borrowed.
    void (*take_object)(void *preview, const struct engine_object_change *change);
    void (*report_preview)(const void *preview, struct proposal *out);
    // What stands in the way of objects of that kind is not known, as not all is looked at. Also
    // without a preview (NULL).
    bool (*leaves_out)(const void *preview, const struct setup *setup, const struct kind *kind);
};

// What a subject says of manifests as a whole, beyond what each object says by itself.
struct manifest_judge {
    void *(*make)(const struct invocation *invocation, struct report *report, struct error *err);
    void (*free)(void *judge); // accepts NULL
    // A good document; `path` is borrowed.
    void (*put)(void *judge, const struct document *document, const char *path);
    void (*judge)(void *judge); // once all are there: reports what is wrong or odd
};

// `signpost render`: the objects that a subject's controllers would make from manifests in an empty
// cluster.
struct manifest_renderer {
    void *(*make)(const struct invocation *invocation, struct report *report);
    void (*free)(void *renderer);
    bool (*takes)(const struct kind *kind); // do documents of that kind matter?
    // A good document of such a kind; `path` is borrowed.
    void (*put)(void *renderer, const struct document *document, const char *path);
    // Once all are there: appends what would be written as YAML, and reports what is in the way.
    // Returns how many of the manifests ask for such objects.
    size_t (*render)(void *renderer, struct buffer *out);
};

struct subject {
    const char *name;
    const struct dashboard_section *dashboard; // metrics beside those of its controllers
    struct option_group options[SUBJECT_GROUPS];
    const char *how; // how its backends are named: "Pi-holes: give --pihole-url or ..."
    // Fills what the table of settings of that controller does not, certificates and secrets
    // included; texts live in the arena of the invocation. is_check: only the settings are of
    // interest, so that no secret is needed.
    const struct controller *controller;
    bool (*load)(const struct invocation *invocation, bool is_check, void *settings,
                 struct error *err);
    void (*unload)(void *settings); // lets go of secrets; also of what was not loaded
    // The option that names a file from which settings are read and in which no secret stands: a
    // recording has what it says. NULL: there is none.
    const char *settings_file;
    bool follows_settings_file; // a change of it counts at once; false: with the next start
    const struct service *service;
    // Its share of what `signpost manifests` prints. Without a Deployment nothing of it is checked.
    bool (*install)(const struct manifest *manifest, bool has_deployment, struct installation *out,
                    struct error *err);
    const struct preview *preview;
    const struct manifest_judge *judge;       // of `signpost check`
    const struct manifest_renderer *renderer; // of `signpost render`
    // A row of `signpost status` for objects of kinds without a status of ours (kind.advised):
    // whether there is one, and what it says.
    bool (*shows)(const struct kind *kind, const struct value *tree);
    void (*show)(struct view *view, struct view_row *row, const struct value *tree);
    // Adds, in lines for people, what becomes of a query for a name that an object has forwarded.
    // Adds nothing where what it needs to know that is not there.
    void (*explain_forward)(const struct invocation *invocation, struct text name, uint16_t type,
                            struct buffer *out);
};

// All that are built in, from the list in src/commands/meson.build.
extern const struct subject *const subjects[];
extern const size_t subject_count;
