#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/value.h"
#include "engine/controller.h"

// The settings of the ingress controller: which Pi-holes there are, and what goes to them. Filled
// once at start from variables, flags and files; then immutable. All texts live in the arena that
// they were read into, as long as the process.

enum {
    PIHOLE_TARGETS_MAX = 64,
    PIHOLE_ADDRESSES_MAX = 16, // of one list
    PIHOLE_NAMESPACES_MAX = 256,
};

// Addresses that names get, in canonical text (RFC 5952), each once; those of IPv4 within IPv6 are
// IPv4 addresses. Or those that stand in the status of each object.
struct pihole_addresses {
    bool is_status;
    const struct text *v4;
    size_t v4_count;
    const struct text *v6;
    size_t v6_count;
};

// One Pi-hole. What is not given is NULL, or 0.
struct pihole_target {
    const char *name;    // "upstairs"; that of the variables is "default"
    const char *url;     // normalised
    const char *backend; // "pihole-upstairs"
    const char *dialect;
    const char *ownership;
    const char *write;
    const char *ca_file;     // as given; whoever reads it sets `ca`
    const char *ca;          // PEM text
    const char *server_name; // NULL: the URL's host
    const char *pin;         // "sha256//...", or "learn"
    bool skips_verify;
    struct pihole_addresses addresses; // none: the default ones
    const char *const *namespaces;     // none: all that are watched
    size_t namespace_count;
    const char *token_file; // as given: one of the two, or, of the variables' own, neither
    const char *token_env;
    bool has_no_password;
    struct secret *secret; // set by whoever reads the token; NULL: none. Held for the process
};

// Zeroed, without targets, it is an empty one: the controller then wants nothing of anybody.
struct pihole_targets {
    struct backend_access access;
    struct pihole_target *items; // room for PIHOLE_TARGETS_MAX
    size_t count;
    struct pihole_addresses addresses; // DEFAULT_TARGET_IP
    bool adopts;
    bool has_finalizer;
    int64_t max_delete_percent;
    int64_t verify_s;
    int64_t restart_min_s;
};
// Nothing but the numbers that count when none are given.
extern const struct pihole_targets pihole_targets_defaults;

// NULL-terminated, the default first.
extern const char *const pihole_dialects[];   // "auto", "v6", "legacy"
extern const char *const pihole_ownerships[]; // "comment", "annotation"
extern const char *const pihole_writes[];     // "auto", "patch", "element"

// "192.168.1.50, fd00::50", or "status". Blanks and empty items are dropped, but one must be left;
// at most PIHOLE_ADDRESSES_MAX; of no single computer (0.0.0.0, multicast) is none. Error texts
// name what is wrong: "192.168.1.500: each number is at most 255".
bool pihole_addresses_read(struct arena *arena, struct text list, struct pihole_addresses *out,
                           struct error *err);
// Does one of them mean the computer that asks (127.0.0.0/8, ::1)?
bool pihole_addresses_loop(const struct pihole_addresses *addresses);
// "sha256//" and 44 characters of base64, or "learn".
bool pihole_pin_check(struct text pin, struct error *err);

// Adds one, whose url is still as given; `backend` is made here, and dialect, ownership and write
// get their default where NULL. Refuses names other than 1 to 63 of a-z, 0-9 and -, those taken,
// URLs that are none, and a second one with the same scheme, host and port.
bool pihole_targets_add(struct arena *arena, struct pihole_targets *targets,
                        const struct pihole_target *target, struct error *err);
// Adds all of a PIHOLE_TARGETS document: {targets: [{name, url, tokenFile | tokenEnv | noPassword,
// targetIPs, namespaces, dialect, ownership, write, tls: {caFile, serverName, pin, skipVerify}}]}.
// What an entry leaves out is as in `defaults` (of which name and url do not count). Unknown keys
// are errors; error texts begin with "line:column: ". Files are not read: ca_file and token_file
// stay as given.
bool pihole_targets_read(struct arena *arena, const struct value *document,
                         const struct pihole_target *defaults, struct pihole_targets *targets,
                         struct error *err);

// The provider's own keys: url, dialect, ownership, write, adopt, tls.caPem, tls.serverName,
// tls.pin, tls.skipVerify, noPassword, isVisitor, place, restartMinSeconds. Absent: not given.
struct value *pihole_target_config(struct arena *arena, const struct pihole_targets *targets,
                                   const struct pihole_target *target);
// By name; NULL: there is none.
const struct pihole_target *pihole_targets_find(const struct pihole_targets *targets,
                                                struct text name);
