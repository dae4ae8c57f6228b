#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/cluster/kubeconfig.h"

// Kubeconfig files, read together: the first to name a cluster, user, context or current-context
// wins. Unknown keys are passed over, as kubectl does; a wrong type is an error with its place.

struct kubeconfig_files;
struct kubeconfig_files *kubeconfig_files_new(void);
void kubeconfig_files_free(struct kubeconfig_files *files); // overwrites what was read
DEFINE_CLEANUP(kubeconfig_files, kubeconfig_files_free)
size_t kubeconfig_files_count(const struct kubeconfig_files *files);
// Reads one more. A file that does not exist is passed over unless it must. Borrows `path`.
bool kubeconfig_files_add(struct kubeconfig_files *files, const char *path, bool must_exist,
                          struct error *err);
// Fills `access` from the context (NULL or "": current-context), its cluster and its user. On
// failure what was filled stays with `access`.
bool kubeconfig_read(struct kube_access *access, const struct kubeconfig_files *files,
                     const char *context, struct error *err);
// Can it be read, and is there anything in it?
bool kubeconfig_check_file(const char *path, struct error *err);
