#pragma once

#include <stddef.h>

#include "base/log.h"
#include "base/right.h"
#include "io/world.h"
#include "store/cluster/api.h"
#include "store/store.h"

// Which rights do we lack? A SelfSubjectAccessReview for each verb of each row, one after the other
// from the start on; what is missing is asked for again each minute, so that a rule that was added
// is noticed. A server that does not answer such questions is believed to allow all.

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
// Was everything answered once, or given up? (What was found missing is asked for even then.)
bool access_is_over(const struct access *access);
// Why it was given up, so that nobody knows what is missing; NULL: it was not.
const char *access_fault(const struct access *access);
// One line for each missing verb, with the rule to add; texts live until the next call. Of Events,
// of objects that ours name and of dispensable kinds it is advice.
size_t access_checks(struct access *access, struct store_check *out, size_t capacity);
