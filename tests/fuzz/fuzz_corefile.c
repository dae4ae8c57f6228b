#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "dns/corefile/identity.h"
#include "dns/corefile/lint.h"
#include "dns/corefile/route.h"
#include "dns/rr_type.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { IMPORTED_MAX = 64 }; // octets of a text that may import itself

struct seen {
    struct text text;
};

static struct text variable(void *context, struct text name)
{
    (void)context;
    return name.len % 2 ? TEXT("{ a }") : (struct text){0};
}

static bool files(void *context, struct arena *arena, const char *pattern,
                  struct corefile_file **out, size_t *count, struct error *err)
{
    const struct seen *seen = context;
    must(*pattern);
    if (seen->text.len > IMPORTED_MAX)
        return error_set(err, FAULT_SPEC, "", "no such file");
    *out = arena_new_of(arena, struct corefile_file);
    **out = (struct corefile_file){"imported", seen->text};
    *count = 1;
    return true;
}

static void check_token(const struct corefile *corefile, size_t index)
{
    const struct corefile_token *token = &corefile->tokens[index];
    must(token->file < corefile->file_count && token->line);
    size_t end = corefile_token_end(corefile, index);
    must(token->start < end && end <= corefile->files[token->file].text.len);
}

static void check_blocks(const struct corefile *corefile)
{
    for (size_t i = 0; i < corefile->block_count; i++) {
        const struct corefile_block *block = &corefile->blocks[i];
        must(block->last < corefile->token_count);
        for (size_t at = 0; at < block->directive_count; at++)
            must(block->directives[at].count &&
                 block->directives[at].first + block->directives[at].count <=
                     corefile->token_count);
    }
}

static void check_problems(const struct corefile_problems *problems)
{
    must(problems->error_count <= problems->count && problems->kept <= problems->count);
    for (size_t i = 0; i < problems->kept; i++) {
        AUTO_BUFFER shown = {0};
        corefile_write_problem(&shown, &problems->items[i]);
        must(shown.len && *problems->items[i].rule && *problems->items[i].text);
    }
}

static void check_steps(struct arena *arena, const struct corefile *corefile,
                        const struct corefile_block *block, const struct corefile_query *query)
{
    struct route_steps steps;
    corefile_find_steps(arena, corefile, block, query, &steps);
    must(steps.count <= block->directive_count);
    for (size_t i = 0; i < steps.count; i++) {
        must(*steps.items[i].text && steps.items[i].token < corefile->token_count);
        must(steps.items[i].is_last == (i + 1 == steps.count && steps.end == ROUTE_ENDS_ANSWERED));
    }
}

static void check_routes(struct arena *arena, const struct corefile *corefile, uint16_t type)
{
    const struct corefile_query query = {TEXT("www.a.b.example."), type};
    const struct served_options served = {.version = coredns_newest};
    struct corefile_routes routes;
    corefile_find_routes(arena, corefile, &served, &query, &routes);
    for (size_t i = 0; i < routes.count; i++) {
        const struct corefile_route *route = &routes.items[i];
        must((route->reason == ROUTE_NONE) == !route->block);
        must(!route->block || corefile_zone_has(route->zone, query.name));
        if (i < IMPORTED_MAX && route->block)
            check_steps(arena, corefile, route->block, &query);
    }
    must(!routes.count || !routes.items[routes.count - 1].is_conditional);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    char id[CONFIG_ID_LEN + 1];
    char hash[RELOAD_HASH_LEN + 1];
    struct seen seen = {{len ? (const char *)at + 1 : "", len ? len - 1 : 0}};
    const struct corefile_world world = {&seen, variable, files};
    const struct corefile_lint_options options = {
        .world = &world,
        .version = len && *at & 1 ? coredns_newest : (struct coredns_version){1, 10, 1},
        .is_override = len && *at & 2,
    };
    const struct corefile_file file = {"Corefile", seen.text};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct corefile_problems problems = {.arena = arena};
    CLEANUP(corefile) struct corefile *corefile = corefile_lint(&file, &options, &problems);
    for (size_t i = 0; i < corefile->token_count && i < IMPORTED_MAX; i++)
        check_token(corefile, i);
    check_blocks(corefile);
    check_problems(&problems);
    if (!options.is_override)
        check_routes(arena, corefile, len && *at & 4 ? RR_DS : RR_A);
    config_id_of(seen.text, id);
    corefile_reload_hash(corefile, hash);
    return 0;
}
