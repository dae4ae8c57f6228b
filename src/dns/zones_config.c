#include "dns/zones_config.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "dns/catalog.h"
#include "dns/record.h"

enum {
    DNS_PORT = 53,
    MAPPED_BITS = 96,
    ADDRESS_BITS = 128,
    LIST_MAX = 256,
    NAME_OCTETS_MAX = 1024,
    FILE_OCTETS_MAX = 4096,
    PER_NAME_MAX = 100,
};

// ---- shape --------------------------------------------------------------------------------------

#define PLAIN_NAME "^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$"
#define PLAIN_NAME_TEXT(path)                                                                      \
    path " must be letters, digits, - _ and ., with a letter or digit at both ends"

static const struct field fields[] = {
    {.path = "keys", .type = FIELD_LIST, .max = LIST_MAX},
    {.path = "keys[]", .type = FIELD_MAP},
    {.path = "keys[].name",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = NAME_OCTETS_MAX},
    {.path = "keys[].algorithm", .type = FIELD_TEXT, .flags = FIELD_REQUIRED, .min = 1, .max = 64},
    {.path = "keys[].secretFile",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = FILE_OCTETS_MAX,
     .pattern = "^[^[:cntrl:]]+$"},
    {.path = "groups", .type = FIELD_LIST, .max = LIST_MAX},
    {.path = "groups[]", .type = FIELD_MAP},
    {.path = "groups[].name",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = 253,
     .pattern = PLAIN_NAME,
     .refused_text = PLAIN_NAME_TEXT("a group's name")},
    {.path = "groups[].catalog", .type = FIELD_TEXT, .min = 1, .max = NAME_OCTETS_MAX},
    {.path = "groups[].servers", .type = FIELD_LIST, .max = LIST_MAX},
    {.path = "groups[].servers[]", .type = FIELD_MAP},
    {.path = "groups[].servers[].name",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = 253,
     .pattern = PLAIN_NAME,
     .refused_text = PLAIN_NAME_TEXT("a server's name")},
    {.path = "groups[].servers[].address",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = 64},
    {.path = "groups[].servers[].port", .type = FIELD_INT, .min = 1, .max = UINT16_MAX},
    {.path = "groups[].servers[].key", .type = FIELD_TEXT, .min = 1, .max = NAME_OCTETS_MAX},
    {.path = "groups[].servers[].probe", .type = FIELD_BOOL},
    {.path = "groups[].servers[].signs", .type = FIELD_BOOL},
    {.path = "groups[].transferFrom", .type = FIELD_LIST, .max = LIST_MAX},
    {.path = "groups[].transferFrom[]", .type = FIELD_TEXT, .min = 1, .max = 64},
    {.path = "groups[].maxRecordsPerType", .type = FIELD_INT, .min = 0, .max = UINT16_MAX},
    {.path = "groups[].maxTypesPerName", .type = FIELD_INT, .min = 0, .max = UINT16_MAX},
    {.path = "claims", .type = FIELD_LIST, .max = LIST_MAX},
    {.path = "claims[]", .type = FIELD_MAP},
    {.path = "claims[].names",
     .type = FIELD_LIST,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = LIST_MAX},
    {.path = "claims[].names[]", .type = FIELD_TEXT, .min = 1, .max = NAME_OCTETS_MAX},
    {.path = "claims[].namespaces",
     .type = FIELD_LIST,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = LIST_MAX},
    {.path = "claims[].namespaces[]",
     .type = FIELD_TEXT,
     .min = 1,
     .max = 63,
     .pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
     .refused_text = "a namespace's name must be lower-case letters, digits and -, with a letter "
                     "or digit at both ends"},
};

static const struct kind file = {
    .name = "zones configuration",
    .is_plain = true,
    .fields = fields,
    .field_count = COUNT_OF(fields),
};

// ---- reading ------------------------------------------------------------------------------------

struct reader {
    struct arena *arena;
    struct findings *findings;
    struct zones_config *config;
    bool (*secret)(void *context, const char *file, struct buffer *out, struct error *err);
    void *context;
};

// Of the field of what stands at `path`; NULL: of all of it.
static void fault(struct reader *reader, const char *path, const char *field, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));

static void fault(struct reader *reader, const char *path, const char *field, const char *format,
                  ...)
{
    AUTO_BUFFER text = {0};
    const char *at = field ? arena_printf(reader->arena, "%s.%s", path, field) : path;
    buffer_printf(&text, "%s: ", at);
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    findings_add(reader->findings, FINDING_ERROR, at, "%s", text.at);
}

static char *copy_at(const struct value *map, const char *key)
{
    struct text text = value_text_at(map, key);
    return text_dup(text.at ? text : TEXT(""));
}

static bool address_parse(struct text text, uint8_t out[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[INET6_ADDRSTRLEN];
    if (text.len >= sizeof copy || (text.len && memchr(text.at, '\0', text.len)))
        return false;
    memcpy(copy, text.len ? text.at : "", text.len);
    copy[text.len] = '\0';
    memcpy(out, mapped, sizeof mapped);
    return inet_pton(AF_INET, copy, out + sizeof mapped) == 1 ||
           inet_pton(AF_INET6, copy, out) == 1;
}

static bool is_mapped(const uint8_t address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(address, mapped, sizeof mapped) == 0;
}

// Reads a full name; a relative one is told to end in a dot.
static bool name_read(struct reader *reader, const char *path, struct text text,
                      enum dname_rules rules, uint8_t out[DNAME_MAX], struct dname *name)
{
    struct error err;
    if (!dname_text_is_full(text)) {
        fault(reader, path, NULL, "must be a full name with a final dot: %.*s.", TEXT_ARGS(text));
        return false;
    }
    if (dname_read(text, NULL, rules, out, name, &err))
        return true;
    fault(reader, path, NULL, "%s", err.text);
    return false;
}

// ---- keys ---------------------------------------------------------------------------------------

static bool secret_read(struct reader *reader, const char *path, const char *secret_file,
                        struct buffer *out)
{
    struct error err;
    if (reader->secret(reader->context, secret_file, out, &err))
        return true;
    fault(reader, path, "secretFile", "%s: %s", secret_file, err.text);
    return false;
}

static void key_load(struct reader *reader, const char *path, const struct value *map,
                     struct zones_key *key)
{
    struct error err;
    AUTO_BUFFER octets = {0};
    struct text name = value_text_at(map, "name");
    struct text algorithm = value_text_at(map, "algorithm");
    bool is_read = secret_read(reader, path, key->secret_file, &octets);
    if (is_read && !tsig_key_init(&key->key, name, algorithm, buffer_text(&octets), &err))
        fault(reader, path, "secretFile", "%s: %s", key->secret_file, err.text);
    if (octets.at)
        secret_wipe(octets.at, octets.capacity);
}

static const struct zones_key *key_find(const struct zones_config *config, const uint8_t *name,
                                        size_t len)
{
    for (size_t i = 0; i < config->key_count; i++) {
        const struct zones_key *key = &config->keys[i];
        if (len && key->name_len == len && memcmp(key->name, name, len) == 0)
            return key;
    }
    return NULL;
}

// As tsig_key_init takes it: the final dot may be missing. 0: it is no name.
static size_t key_name_read(struct reader *reader, struct text text, uint8_t out[DNAME_MAX])
{
    static const uint8_t root[] = {0};
    const struct dname origin = {root, sizeof root};
    struct text normalised;
    struct dname name;
    if (!domain_normalise(reader->arena, text, &normalised, NULL))
        return 0;
    return dname_read(normalised, &origin, DNAME_OF_FILE, out, &name, NULL) ? name.len : 0;
}

static void key_read(struct reader *reader, const struct value *map, size_t index)
{
    struct error err;
    struct tsig_key trial;
    struct zones_config *config = reader->config;
    struct zones_key *key = &config->keys[config->key_count];
    const char *path = arena_printf(reader->arena, "keys[%zu]", index);
    struct text name = value_text_at(map, "name");
    struct text algorithm = value_text_at(map, "algorithm");
    key->secret_file = copy_at(map, "secretFile");
    key->name_len = key_name_read(reader, name, key->name);
    if (key_find(config, key->name, key->name_len))
        fault(reader, path, "name", "there is a key %.*s already", TEXT_ARGS(name));
    config->key_count++;
    // First with any secret: what is wrong with name or algorithm is no fault of the file.
    if (!name.len || !algorithm.len)
        return;
    if (!tsig_key_init(&trial, name, algorithm, TEXT("AA=="), &err)) {
        fault(reader, path, NULL, "%s", err.text);
        return;
    }
    if (trial.algorithm == DIGEST_SHA1)
        findings_add(reader->findings, FINDING_WARNING,
                     arena_printf(reader->arena, "%s.algorithm", path),
                     "%s.algorithm: hmac-sha1 is weak: use hmac-sha256", path);
    tsig_key_done(&trial);
    if (*key->secret_file)
        key_load(reader, path, map, key);
}

static void keys_read(struct reader *reader, const struct value *list)
{
    size_t index = 0;
    reader->config->keys = mem_new_array(struct zones_key, value_count(list) + 1);
    value_each (item, list)
        key_read(reader, item, index++);
}

// ---- groups -------------------------------------------------------------------------------------

static void unknown_key(struct reader *reader, const char *path, struct text text)
{
    const struct zones_config *config = reader->config;
    const char **names = arena_new_array(reader->arena, const char *, config->key_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < config->key_count; i++)
        if (config->keys[i].key.secret)
            names[count++] = config->keys[i].key.name;
    const char *nearest = count ? text_nearest(text, names, count) : NULL;
    fault(reader, path, "key", "there is no key %.*s%s%s%s", TEXT_ARGS(text),
          nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static void server_key_read(struct reader *reader, const char *path, struct text text,
                            struct zones_server *server)
{
    uint8_t name[DNAME_MAX];
    if (!text.at)
        return;
    size_t len = key_name_read(reader, text, name);
    server->key = key_find(reader->config, name, len);
    if (!server->key)
        unknown_key(reader, path, text);
}

static void server_address_read(struct reader *reader, const char *path, const struct value *map,
                                struct zones_server *server)
{
    struct text text = value_text_at(map, "address");
    int64_t port = value_int_at(map, "port", DNS_PORT);
    server->address.port = port > 0 && port <= UINT16_MAX ? (uint16_t)port : DNS_PORT;
    if (!address_parse(text, server->octets)) {
        fault(reader, path, "address", "%.*s is no IPv4 or IPv6 address", TEXT_ARGS(text));
        return;
    }
    bool is_ipv4 = is_mapped(server->octets);
    must(inet_ntop(is_ipv4 ? AF_INET : AF_INET6, server->octets + (is_ipv4 ? 12 : 0),
                   server->address.host, sizeof server->address.host));
}

static bool is_same_place(const struct zones_server *a, const struct zones_server *b)
{
    return a->address.port == b->address.port && strcmp(a->address.host, b->address.host) == 0;
}

static void server_compare(struct reader *reader, const char *path, const struct zones_group *group,
                           const struct zones_server *server)
{
    for (size_t i = 0; i < group->server_count; i++) {
        const struct zones_server *other = &group->servers[i];
        if (*server->name && strcmp(other->name, server->name) == 0)
            fault(reader, path, "name", "there is a server %s in the group already", server->name);
        else if (*server->address.host && is_same_place(other, server))
            fault(reader, path, "address", "is that of server %s already", other->name);
    }
}

static void servers_read(struct reader *reader, const char *group_path, const struct value *list,
                         struct zones_group *group)
{
    size_t index = 0;
    group->servers = mem_new_array(struct zones_server, value_count(list) + 1);
    value_each (item, list) {
        struct zones_server *server = &group->servers[group->server_count];
        const char *path = arena_printf(reader->arena, "%s.servers[%zu]", group_path, index++);
        server->name = copy_at(item, "name");
        server->probe = value_bool_at(item, "probe", true);
        server->signs = value_bool_at(item, "signs", false);
        server_address_read(reader, path, item, server);
        server_key_read(reader, path, value_text_at(item, "key"), server);
        server_compare(reader, path, group, server);
        group->server_count++;
    }
}

static bool has_host_bits(const struct zones_network *network)
{
    for (unsigned bit = network->prefix; bit < ADDRESS_BITS; bit++)
        if (network->address[bit / 8] & (0x80U >> bit % 8))
            return true;
    return false;
}

static bool network_parse(struct text text, struct zones_network *out)
{
    struct text address;
    struct text rest = text;
    int64_t prefix;
    if (!text_cut(&rest, '/', &address) || !address_parse(address, out->address))
        return false;
    bool is_ipv4 = !memchr(address.at, ':', address.len);
    out->prefix = ADDRESS_BITS;
    if (!rest.at)
        return true;
    if (!text_to_int64(rest, &prefix) || prefix < 0 || prefix > (is_ipv4 ? 32 : ADDRESS_BITS))
        return false;
    out->prefix = (unsigned)prefix + (is_ipv4 ? MAPPED_BITS : 0);
    return true;
}

static void networks_read(struct reader *reader, const char *group_path, const struct value *list,
                          struct zones_group *group)
{
    size_t index = 0;
    group->transfer_from = mem_new_array(struct zones_network, value_count(list) + 1);
    value_each (item, list) {
        struct text text = value_text(item);
        struct zones_network *network = &group->transfer_from[group->network_count];
        const char *path = arena_printf(reader->arena, "%s.transferFrom[%zu]", group_path, index++);
        if (!network_parse(text, network))
            fault(reader, path, NULL, "%.*s is no address and no network such as 192.0.2.0/24",
                  TEXT_ARGS(text));
        else if (has_host_bits(network))
            fault(reader, path, NULL,
                  "%.*s has bits behind its prefix: clear them, or name the "
                  "address alone",
                  TEXT_ARGS(text));
        else
            group->network_count++;
    }
}

static void catalog_read(struct reader *reader, const char *group_path, struct text text,
                         struct zones_group *group)
{
    struct dname name;
    const struct zones_config *config = reader->config;
    const char *path = arena_printf(reader->arena, "%s.catalog", group_path);
    if (!text.at || !name_read(reader, path, text, DNAME_OF_OBJECT, group->catalog, &name))
        return;
    group->catalog_len = name.len;
    if (dname_is_root(name))
        fault(reader, path, NULL, "the root is no catalog");
    if (name.len > CATALOG_APEX_MAX)
        fault(reader, path, NULL,
              "is too long: at most %d octets in wire format leave room below it for its members",
              CATALOG_APEX_MAX);
    for (size_t i = 0; i < config->group_count; i++)
        if (config->groups[i].catalog_len == name.len &&
            memcmp(config->groups[i].catalog, group->catalog, name.len) == 0)
            fault(reader, path, NULL, "is that of group %s already", config->groups[i].name);
}

// What is out of its range was told by its shape.
static uint32_t limit_read(const struct value *map, const char *key)
{
    int64_t limit = value_int_at(map, key, PER_NAME_MAX);
    return limit >= 0 && limit <= UINT16_MAX ? (uint32_t)limit : PER_NAME_MAX;
}

static void groups_read(struct reader *reader, const struct value *list)
{
    size_t index = 0;
    struct zones_config *config = reader->config;
    config->groups = mem_new_array(struct zones_group, value_count(list) + 1);
    value_each (item, list) {
        struct zones_group *group = &config->groups[config->group_count];
        const char *path = arena_printf(reader->arena, "groups[%zu]", index++);
        group->name = copy_at(item, "name");
        if (*group->name && zones_config_group(config, text_of(group->name)))
            fault(reader, path, "name", "there is a group %s already", group->name);
        catalog_read(reader, path, value_text_at(item, "catalog"), group);
        servers_read(reader, path, value_list_at(item, "servers"), group);
        networks_read(reader, path, value_list_at(item, "transferFrom"), group);
        group->max_records_per_type = limit_read(item, "maxRecordsPerType");
        group->max_types_per_name = limit_read(item, "maxTypesPerName");
        config->group_count++;
    }
}

// ---- claims -------------------------------------------------------------------------------------

static char **texts_copy(const struct value *list, size_t *count)
{
    char **texts = mem_new_array(char *, value_count(list) + 1);
    value_each (item, list) {
        struct text text = value_text(item);
        texts[(*count)++] = text_dup(text.at ? text : TEXT(""));
    }
    return texts;
}

static void patterns_check(struct reader *reader, const char *claim_path, const struct value *list)
{
    size_t index = 0;
    uint8_t octets[DNAME_MAX];
    struct dname name;
    value_each (item, list)
        name_read(reader, arena_printf(reader->arena, "%s.names[%zu]", claim_path, index++),
                  value_text(item), DNAME_OF_PATTERN, octets, &name);
}

static void claims_read(struct reader *reader, const struct value *list)
{
    struct zones_config *config = reader->config;
    config->has_claims = list != NULL;
    config->claims = mem_new_array(struct zones_claim, value_count(list) + 1);
    value_each (item, list) {
        const char *path = arena_printf(reader->arena, "claims[%zu]", config->claim_count);
        struct zones_claim *claim = &config->claims[config->claim_count++];
        claim->patterns = texts_copy(value_list_at(item, "names"), &claim->pattern_count);
        claim->namespaces = texts_copy(value_list_at(item, "namespaces"), &claim->namespace_count);
        patterns_check(reader, path, value_list_at(item, "names"));
    }
}

// ---- life ---------------------------------------------------------------------------------------

static void texts_free(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

static void group_done(struct zones_group *group)
{
    for (size_t i = 0; i < group->server_count; i++)
        free(group->servers[i].name);
    free(group->servers);
    free(group->transfer_from);
    free(group->name);
}

void zones_config_free(struct zones_config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->key_count; i++) {
        tsig_key_done(&config->keys[i].key);
        free(config->keys[i].secret_file);
    }
    for (size_t i = 0; i < config->group_count; i++)
        group_done(&config->groups[i]);
    for (size_t i = 0; i < config->claim_count; i++) {
        texts_free(config->claims[i].patterns, config->claims[i].pattern_count);
        texts_free(config->claims[i].namespaces, config->claims[i].namespace_count);
    }
    free(config->keys);
    free(config->groups);
    free(config->claims);
    free(config);
}

struct zones_config *zones_config_new(const struct value *tree,
                                      bool (*secret)(void *context, const char *file,
                                                     struct buffer *out, struct error *err),
                                      void *context, struct findings *findings)
{
    CLEANUP(zones_config) struct zones_config *config = mem_new_of(struct zones_config);
    struct reader reader = {.arena = findings->arena,
                            .findings = findings,
                            .config = config,
                            .secret = secret,
                            .context = context};
    kind_check(&file, tree, findings);
    size_t shapes = findings->count;
    keys_read(&reader, value_list_at(tree, "keys"));
    groups_read(&reader, value_list_at(tree, "groups"));
    claims_read(&reader, value_list_at(tree, "claims"));
    findings_drop_echoes(findings, shapes);
    findings_locate(findings, tree);
    return findings_errors(findings) ? NULL : steal(config);
}

// ---- asking -------------------------------------------------------------------------------------

const struct zones_group *zones_config_group(const struct zones_config *config, struct text name)
{
    for (size_t i = 0; i < config->group_count; i++)
        if (text_is(name, config->groups[i].name))
            return &config->groups[i];
    return NULL;
}

const struct zones_group *zones_config_catalog(const struct zones_config *config, struct dname name)
{
    for (size_t i = 0; i < config->group_count; i++) {
        const struct zones_group *group = &config->groups[i];
        if (group->catalog_len &&
            dname_equal((struct dname){group->catalog, group->catalog_len}, name))
            return group;
    }
    return NULL;
}

const struct zones_key *zones_config_key(const struct zones_config *config, struct dname name)
{
    return key_find(config, name.at, name.len);
}

bool zones_network_holds(const struct zones_network *network, const uint8_t address[16])
{
    size_t whole = network->prefix / 8;
    unsigned rest = network->prefix % 8;
    if (network->prefix < MAPPED_BITS && is_mapped(address))
        return false;
    if (memcmp(network->address, address, whole) != 0)
        return false;
    return !rest || !((network->address[whole] ^ address[whole]) >> (8 - rest));
}

static bool is_key_of(const struct zones_server *server, const struct tsig_key *key)
{
    return server->key && key && strcmp(server->key->key.name, key->name) == 0;
}

static bool is_at(const struct zones_server *server, const uint8_t address[16])
{
    return memcmp(server->octets, address, sizeof server->octets) == 0;
}

static const struct zones_server *server_with(const struct zones_group *group,
                                              const struct tsig_key *key)
{
    for (size_t i = 0; i < group->server_count; i++)
        if (is_key_of(&group->servers[i], key))
            return &group->servers[i];
    return NULL;
}

// Of several at one address, the one with the key rather than the one without.
static const struct zones_server *server_at(const struct zones_group *group,
                                            const uint8_t address[16], const struct tsig_key *key,
                                            bool *needs_key)
{
    const struct zones_server *open = NULL;
    *needs_key = false;
    for (size_t i = 0; i < group->server_count; i++) {
        const struct zones_server *server = &group->servers[i];
        if (!is_at(server, address))
            continue;
        if (is_key_of(server, key))
            return server;
        *needs_key = *needs_key || server->key;
        open = open || server->key ? open : server;
    }
    return open;
}

bool zones_group_admits(const struct zones_group *group, const uint8_t address[16],
                        const struct tsig_key *key, const struct zones_server **server)
{
    bool needs_key;
    *server = server_at(group, address, key, &needs_key);
    if (*server || needs_key)
        return *server != NULL;
    for (size_t i = 0; i < group->network_count; i++) {
        if (!zones_network_holds(&group->transfer_from[i], address))
            continue;
        *server = server_with(group, key);
        return true;
    }
    return false;
}
