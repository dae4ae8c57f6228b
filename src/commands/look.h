#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/kind.h"
#include "commands/configured_store.h"

// A cluster that a command is about to read once: can it be reached, and what of it may this user
// read? Where not all namespaces may be read and none is named, that of the kubeconfig's context
// alone is, as kubectl has it.
//
//     CLEANUP(look) struct look *look = look_new(&place, kinds, count, timeout_ms, err);
//     if (!look || !look_check(look, err))
//         return false;
//     look_report(look, "not shown");

struct look;
// Takes as long as the server does, timeout_ms at most. NULL: it cannot be asked; err says which
// server, by which kubeconfig and context, and why. Narrows configured_store_namespaces(place).
struct look *look_new(struct configured_store *place, const struct kind *const *kinds, size_t count,
                      int64_t timeout_ms, struct error *err);
void look_free(struct look *look);
DEFINE_CLEANUP(look, look_free)
// Is there one of these kinds and may be read? Else err names the rights that are missing, or says
// what to install.
bool look_check(const struct look *look, struct error *err);
// False; err names the rights that are missing.
bool look_refuse(const struct look *look, struct error *err);
// Leaves out those of the named namespaces that may not be read.
void look_skip_unreadable(struct look *look);
bool look_may_read(const struct look *look, const struct kind *kind); // there and allowed
bool look_is_forbidden(const struct look *look, const struct kind *kind);
// On stderr, a line each: that one namespace alone is read; `what` ("not shown") and the rights
// that are missing; that our kinds are not installed.
void look_report(const struct look *look, const char *what);
