#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/kind.h"
#include "base/url.h"
#include "base/value.h"
#include "dns/dname.h"
#include "dns/tsig.h"

// The zones configuration: the servers that follow us, in groups that zones name, the TSIG keys
// that they use, and who may own zones. From one YAML file; what is wrong in it is told with line
// and column, and then none of it counts.

struct zones_key {
    uint8_t name[DNAME_MAX];
    size_t name_len;
    struct tsig_key key;
    char *secret_file; // as written: relative to the file's own folder
};
struct zones_server {
    char *name;
    struct hostport address;     // of digits; port 53 when not given
    uint8_t octets[16];          // the same; IPv4 as ::ffff:a.b.c.d
    const struct zones_key *key; // or NULL
    bool probe;                  // ask it which serial it answers; true when not given
    bool signs;                  // its serials are its own
};
struct zones_network {
    uint8_t address[16]; // IPv4 as ::ffff:a.b.c.d
    unsigned prefix;     // 0..128
};
struct zones_group {
    char *name;
    uint8_t catalog[DNAME_MAX];
    size_t catalog_len; // 0: none; CATALOG_APEX_MAX at most
    struct zones_server *servers;
    size_t server_count;
    struct zones_network *transfer_from;
    size_t network_count;
    // What its servers take at one name; 0: any number. 100 when not given, as in named.
    uint32_t max_records_per_type;
    uint32_t max_types_per_name;
};
struct zones_claim {
    char **patterns;
    size_t pattern_count;
    char **namespaces;
    size_t namespace_count;
};
struct zones_config {
    struct zones_key *keys;
    size_t key_count;
    struct zones_group *groups;
    size_t group_count;
    bool has_claims; // the list is there, be it empty
    struct zones_claim *claims;
    size_t claim_count;
};

// `secret` fetches the text of a key's file (base64; surrounding blanks are fine) into `out`, which
// is cleansed here; it grows without leaving parts behind only if it is reserved at once. Findings
// of level error: NULL is returned; texts name the file, never what is in it. A key with hmac-sha1
// is warned of. All findings have line and column, where the tree has.
struct zones_config *zones_config_new(const struct value *tree,
                                      bool (*secret)(void *context, const char *file,
                                                     struct buffer *out, struct error *err),
                                      void *context, struct findings *findings);
void zones_config_free(struct zones_config *config); // secrets are cleansed
DEFINE_CLEANUP(zones_config, zones_config_free)
const struct zones_group *zones_config_group(const struct zones_config *config, struct text name);
// The group whose catalog has that name, or NULL.
const struct zones_group *zones_config_catalog(const struct zones_config *config,
                                               struct dname name);
const struct zones_key *zones_config_key(const struct zones_config *config, struct dname name);
// An IPv4 address lies in networks of IPv4 alone, and ::/0 is one of IPv6.
bool zones_network_holds(const struct zones_network *network, const uint8_t address[16]);
// May that peer have zones of the group: a server at its address, with its key if it has one, or an
// address of transferFrom? At the address of a server that has a key, transferFrom does not help
// without that. `key` is what the request was signed with, or NULL. *server is which (elsewhere:
// the one with that key), or NULL.
bool zones_group_admits(const struct zones_group *group, const uint8_t address[16],
                        const struct tsig_key *key, const struct zones_server **server);
