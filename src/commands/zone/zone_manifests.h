#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/memory.h"
#include "commands/option.h"
#include "commands/report.h"
#include "commands/zone/zone_ages.h"
#include "dns/zone.h"
#include "store/folder/document.h"

// The Zones and Records of manifests as one: which zone has which record, and what each comes to,
// as `signpost run` would say. Objects without a creationTimestamp are of one age, unless
// zone_manifests_date tells more.
//
//     struct zone_manifests *zones = zone_manifests_new(invocation, &report, &err);
//     zone_manifests_put(zones, document, "web.yaml");
//     zone_manifests_judge(zones, NULL, false);

struct zone_manifests;
// With --zone-claims and --zone-nameserver of the invocation, whose command has settings. The
// report is borrowed, and its arena used. NULL: an option is wrong (exit 2).
struct zone_manifests *zone_manifests_new(const struct invocation *invocation,
                                          struct report *report, struct error *err);
void zone_manifests_free(struct zone_manifests *zones);
DEFINE_CLEANUP(zone_manifests, zone_manifests_free)
// When the objects of manifests that are read from now on were seen first, whatever they say
// themselves; those that were not are the youngest. Borrowed.
void zone_manifests_date(struct zone_manifests *zones, const struct zone_ages *ages);
// A good document; one that is no Zone or Record is passed over. `path` is borrowed.
void zone_manifests_put(struct zone_manifests *zones, const struct document *document,
                        const char *path);
// A Zone or Record of a cluster, which has no place in a file; once, however often it is given.
void zone_manifests_put_stored(struct zone_manifests *zones, const struct kind *kind,
                               const struct value *tree);
// All files and folders. What cannot be read is told on stderr: returns how many.
size_t zone_manifests_read(struct zone_manifests *zones, const char *const *paths, size_t count);
// Reads what the folder store of --dir and --state-dir has; returns as zone_manifests_read() does.
size_t zone_manifests_read_store(struct zone_manifests *zones, const struct invocation *invocation);
size_t zone_manifests_file_count(const struct zone_manifests *zones);
size_t zone_manifests_count(const struct zone_manifests *zones); // Zones and Records
// Reports what is wrong or odd: once, when all are there. Of the zone `only` (NULL: of all). With
// `is_part` there may be more manifests elsewhere: a Record without a zone is a warning then, and
// that a Zone is missing which is named is left to others.
void zone_manifests_judge(struct zone_manifests *zones, const struct dname *only, bool is_part);
// Reports instead what the programs of Kubizone cannot decode, under the reason "KubizoneDecode".
void zone_manifests_judge_kubizone(struct zone_manifests *zones, const struct dname *only);
// The live zone of that name, under its minimumSerial, or 1; the caller's. NULL: there is none.
struct zone *zone_manifests_zone(struct zone_manifests *zones, struct dname apex);
