#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

// Tells releases of CoreDNS apart, as far as a Corefile shows it: which directives one has.

struct coredns_version {
    uint16_t major;
    uint16_t minor;
    uint16_t patch;
};

// The newest release that is known here.
extern const struct coredns_version coredns_newest;

// "v1.14.7", "1.14.7", "1.14" (which is 1.14.0), also with a suffix as image tags have it
// ("v1.11.3-eksbuild.1"). False, with *out untouched, for anything else.
bool coredns_version_read(struct text text, struct coredns_version *out);
// The tag of an image: "registry.k8s.io/coredns/coredns:v1.12.1@sha256:..." is 1.12.1.
bool coredns_version_of_image(struct text image, struct coredns_version *out);
bool coredns_version_is_before(struct coredns_version a, struct coredns_version b);

// The directives that an image has, in the order in which it sets them up. `import` is none.
struct coredns_directives {
    const char *const *names; // NULL-terminated
    size_t count;
    const uint16_t *sorted; // their places, by name
};
// Makes the list of a standard build of that release, with changes such as "+records" and "-any"
// (NULL-terminated, or NULL). In the arena.
struct coredns_directives *coredns_directives_make(struct arena *arena,
                                                   struct coredns_version version,
                                                   const char *const *changes);
// The same from the names of another build (NULL-terminated), which are borrowed.
struct coredns_directives *coredns_directives_from(struct arena *arena, const char *const *names,
                                                   const char *const *changes);
// Reads the names of a build: a line each, "name" or "name:module" as in the plugin.cfg that it is
// made from, in compiled order; '#' begins a comment. Refused, with the line's number: what is no
// name, a name that stands twice, and a text without any. In the arena, NULL-terminated.
bool coredns_names_read(struct arena *arena, struct text text, const char *const **names,
                        struct error *err);
// The place of a directive, or COREDNS_NO_DIRECTIVE.
enum { COREDNS_NO_DIRECTIVE = UINT16_MAX };
size_t coredns_directives_find(const struct coredns_directives *directives, struct text name);
