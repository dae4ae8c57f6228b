#include <string.h>

#include "base/must.h"
#include "dns/zones_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static bool fetch(void *context, const char *file, struct buffer *out, struct error *err)
{
    (void)context;
    must(*file);
    buffer_reserve(out, 64);
    buffer_add_text(out, "c2VjcmV0\n");
    return strcmp(file, "missing") != 0 || error_set(err, FAULT_WAIT, "", "no such file");
}

static void check_group(const struct zones_config *config, const struct zones_group *group)
{
    const struct zones_server *found;
    must(zones_config_group(config, text_of(group->name)) == group);
    for (size_t i = 0; i < group->server_count; i++) {
        const struct zones_server *server = &group->servers[i];
        const struct tsig_key *key = server->key ? &server->key->key : NULL;
        must(server->address.host[0] && server->address.port && server->name[0]);
        must(zones_group_admits(group, server->octets, key, &found) && found);
        must(!zones_group_admits(group, server->octets, NULL, &found) || !found->key);
    }
    for (size_t i = 0; i < group->network_count; i++)
        must(zones_network_holds(&group->transfer_from[i], group->transfer_from[i].address) ||
             group->transfer_from[i].prefix < 96);
}

static void check_config(const struct zones_config *config)
{
    for (size_t i = 0; i < config->key_count; i++) {
        const struct zones_key *key = &config->keys[i];
        const struct dname name = {key->name, key->name_len};
        must(zones_config_key(config, name) == key && secret_len(key->key.secret));
    }
    for (size_t i = 0; i < config->group_count; i++)
        check_group(config, &config->groups[i]);
    for (size_t i = 0; i < config->claim_count; i++)
        must(config->claims[i].pattern_count && config->claims[i].namespace_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    bool has;
    struct error err = {0};
    struct value *tree = NULL;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct findings findings = {.arena = arena};
    CLEANUP(yaml_reader)
    struct yaml_reader *reader =
        yaml_reader_new((struct text){(const char *)at, len}, &value_manifest_limits);
    if (!yaml_reader_next(reader, arena, &tree, &has, &err) || !has)
        return 0;
    CLEANUP(zones_config)
    struct zones_config *config = zones_config_new(tree, fetch, NULL, &findings);
    must(!config == (findings_errors(&findings) > 0));
    for (size_t i = 0; i < findings.count; i++)
        must(findings.items[i].path && findings.items[i].text[0]);
    if (config)
        check_config(config);
    return 0;
}
