#pragma once

#include "commands/option.h"
#include "commands/report.h"
#include "commands/subject.h"
#include "controllers/clusterdns/merge.h"

// The DNS objects of manifests, put together as `signpost run` would do it.

struct corefile_manifests {
    struct arena *arena;
    struct report *report;        // what is wrong with files and entries
    struct merge_object *objects; // in the order in which their zones count
    const struct value **trees;   // of the same objects, whole
    struct spot *places;          // where their specs stand, for reports
    size_t count;
    const struct value **config_maps; // whole objects
    size_t config_map_count;
    const char *layout;      // in place of that of the settings; or NULL
    bool has_warned;         // warnings are reported elsewhere
    size_t unreadable_count; // files that were told on stderr
};

// Reads the files and folders that the command was given. Documents of other kinds are passed over.
void corefile_manifests_read(struct corefile_manifests *manifests, const char *const *paths,
                             size_t count);
// Merges the objects by the settings of the invocation, whose command has those of the controller.
// Entries that are refused are reported. False: there is no object, or an option is wrong.
bool corefile_manifests_merge(struct corefile_manifests *manifests,
                              const struct invocation *invocation, struct merged *out,
                              struct error *err);

// Tells `signpost check` which DNS objects are refused together though each is good by itself.
extern const struct manifest_judge corefile_judge;
