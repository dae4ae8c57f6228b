#pragma once

#include <stddef.h>

#include "base/log.h"
#include "base/right.h"
#include "io/world.h"
#include "store/cluster/api.h"
#include "store/store.h"

// Finds out which rights Signpost lacks, by a SelfSubjectAccessReview for each verb of each row,
// one after the other. A missing right is checked again each minute, so that a rule that was added
// is noticed; the others once a request that needs them was refused, so that a rule that was taken
// away is. A server that does not answer such reviews is assumed to allow everything.

enum { ACCESS_QUESTIONS_MAX = 4096 };

struct access;
struct access_options {
    const struct world *world;
    struct log *log;
    struct api *api;
    const struct kube_right *rights; // the last has no resource; their texts outlive it
    const char *own_namespace;
    const char *lease_namespace;
    const char *const *namespaces; // that are watched, NULL-terminated; NULL: all
};
struct access *access_new(const struct access_options *options);
void access_start(struct access *access);
void access_free(struct access *access); // accepts NULL
// Such a request was refused with 403: the rights that it needs are checked again in a second, or
// 10 s after the last check. What two checks in a row deny is missing.
void access_doubt(struct access *access, const char *method, const char *path);
// Has the server answered each review once, or was that given up? (Missing rights are checked again
// even then.)
bool access_is_over(const struct access *access);
// Why it was given up, so that missing rights are not known. NULL: it was not.
const char *access_fault(const struct access *access);
// One check for each missing verb, with the rule to add; its texts live until the next call. It is
// only advice for Events, for objects that ours name, and for dispensable kinds.
size_t access_checks(struct access *access, struct store_check *out, size_t capacity);
