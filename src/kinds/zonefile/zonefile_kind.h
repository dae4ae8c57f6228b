#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/condition.h"
#include "kinds/zone_ref.h"

// ZoneFile (kubi.zone/v1alpha1): zones written as text into one ConfigMap.

extern const struct kind zonefile_kind;

// The annotation by which a ConfigMap that was there before is handed over to the ZoneFile it
// names.
#define ZONE_FILE_GRANT "kubi.zone/zonefile"

struct zonefile_spec {
    struct zone_ref *zones;
    size_t zone_count;
    struct text config_map; // the object's own name when not given
};
struct zonefile_status_zone {
    struct text fqdn;
    struct text hash;
    uint32_t serial;
};
struct zonefile_status {
    struct zonefile_status_zone *zones;
    size_t zone_count;
    int64_t observed_generation;
    struct conditions conditions; // without messages when unpacked
};
void zonefile_unpack(struct arena *arena, struct text spec, struct text ours,
                     struct zonefile_spec *out, struct zonefile_status *out_status);
// All fields: hash and serial are required, and are empty maps when there is no zone.
const struct value *zonefile_status_encode(struct arena *arena,
                                           const struct zonefile_status *status);
