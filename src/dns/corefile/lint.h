#pragma once

#include "dns/corefile/coredns.h"
#include "dns/corefile/corefile.h"

// Says of a Corefile what CoreDNS of one release would say of it when it starts, and what it would
// not say though it does harm. Nothing is asked of the network: whether a host name has an address,
// or what stands in a file that a plugin names, is not looked at.

struct corefile_lint_options {
    const struct corefile_world *world; // or NULL
    struct coredns_version version;
    const char *const *plugins; // "+name" or "-name", NULL-terminated; NULL: a standard build
    // The directives of another build, NULL-terminated, in place of the release's; NULL: those.
    const char *const *directives;
    uint16_t port; // of zones without one (the flag -dns.port); 0: 53
    // The text is a part of a root block, such as *.override of k3s: directives without zones.
    bool is_override;
};

// Parses and checks. All problems are collected, in the order in which CoreDNS would come to them;
// it stops at the first error. What the parser could read is returned; the caller frees it.
struct corefile *corefile_lint(const struct corefile_file *file,
                               const struct corefile_lint_options *options,
                               struct corefile_problems *problems);
// Does CoreDNS accept it? Warnings do not count.
bool corefile_is_accepted(const struct corefile_problems *problems);
