#pragma once

#include <stdbool.h>

#include "base/kind.h"
#include "base/pack.h"
#include "base/value.h"

// The annotations pihole.io/* of objects that name hosts (Ingresses, routes): what people ask for,
// and what we write there ourselves. They take memory only where they stand.

#define PIHOLE_PREFIX "pihole.io/"
#define PIHOLE_MANAGED_HOSTS PIHOLE_PREFIX "managed-hosts"
#define PIHOLE_SATISFIED_HOSTS PIHOLE_PREFIX "satisfied-hosts"
#define PIHOLE_MANAGED_BY PIHOLE_PREFIX "managed-by"
#define PIHOLE_STATUS PIHOLE_PREFIX "status"
#define PIHOLE_FINALIZER PIHOLE_PREFIX "dns-cleanup"
#define PIHOLE_MANAGED_BY_PREFIX "signpost:" // the owner id follows

// Of people. Absent: not given, or not text.
enum pihole_annotation {
    PIHOLE_REGISTER,
    PIHOLE_HOSTS,
    PIHOLE_TARGET_IP,
    PIHOLE_TARGET_CNAME,
    PIHOLE_CNAME_TTL,
    PIHOLE_INSTANCES,
    PIHOLE_DELETION_POLICY,
    PIHOLE_ANNOTATIONS, // their number
};
extern const char *const pihole_annotation_names[PIHOLE_ANNOTATIONS]; // "pihole.io/register", ...

struct pihole_annotations {
    struct text at[PIHOLE_ANNOTATIONS];
};
struct pihole_managed {
    struct text managed_hosts;
    struct text satisfied_hosts; // those that lines of somebody else already say
    struct text managed_by;
    struct text status;
};

void pihole_annotations_decode(const struct value *object, struct pihole_annotations *out);
// Adds the hosts of an object, as list_names of struct kind: those of its annotation, or else of
// its spec, each with whether it is in place.
void pihole_list_names(const struct value *object, struct kind_names *out);
// Has the comma-separated list that name, in whatever case?
bool pihole_is_listed(struct text list, struct text name);
// Nothing is written where none stands, so they come last in a body: the rest of it is theirs.
void pihole_annotations_pack(const struct value *object, struct pack_writer *out);
void pihole_annotations_unpack(struct pack_reader *in, struct pihole_annotations *out);
void pihole_managed_pack(const struct value *object, struct pack_writer *out);
// Names that stand in the spec cost next to nothing, so both bodies are needed. Texts live in them
// or in the arena.
void pihole_managed_unpack(struct arena *arena, struct text spec, struct text ours,
                           struct pihole_managed *out);
