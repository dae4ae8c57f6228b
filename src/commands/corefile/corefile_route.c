#include "commands/corefile/corefile_route.h"

#include <string.h>

#include "base/value.h"
#include "commands/commands.h"
#include "commands/configured_store.h"
#include "commands/corefile/corefile_build.h"
#include "commands/corefile/corefile_files.h"
#include "commands/corefile/corefile_store.h"
#include "commands/print.h"
#include "commands/process.h"
#include "dns/corefile/route.h"
#include "dns/rr_type.h"

enum { ARGUMENTS_MAX = 2 };

static const char *const output_names[] = {"text", "json", NULL};

struct routing {
    const struct invocation *invocation;
    struct corefile_files files;
    struct corefile_lint_options options;
    const struct corefile *corefile;
    struct corefile_query query;
    const char *type; // of the query, as a mnemonic
    char type_digits[10];
    struct corefile_routes routes;
};

static const char *transport_name(const char *transport)
{
    static const struct {
        const char *transport;
        const char *name;
    } names[] = {
        {"tls", "DNS over TLS"}, {"quic", "DNS over QUIC"},      {"https", "DNS over HTTPS"},
        {"grpc", "gRPC"},        {"https3", "DNS over HTTPS/3"}, {"unix", "a Unix socket"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(names[i].transport, transport))
            return names[i].name;
    return "DNS";
}

static const struct corefile_token *token_of(const struct routing *routing, uint32_t token)
{
    return &routing->corefile->tokens[token];
}

static const char *path_of(const struct routing *routing, uint32_t token)
{
    return routing->corefile->files[token_of(routing, token)->file].path;
}

// ---- text ---------------------------------------------------------------------------------------

static void write_address(struct buffer *out, const struct corefile_route *route)
{
    if (strcmp(route->transport, "dns") != 0)
        buffer_printf(out, " by %s", transport_name(route->transport));
    if (route->host.len)
        buffer_printf(out, " at %.*s", TEXT_ARGS(route->host));
    if (route->port.len)
        buffer_printf(out, " on port %.*s", TEXT_ARGS(route->port));
}

static void write_keys(struct buffer *out, const struct corefile_block *block)
{
    for (size_t i = 0; i < block->key_count; i++)
        buffer_printf(out, "%s%.*s",
                      !i                         ? ""
                      : i + 1 < block->key_count ? ", "
                                                 : " and ",
                      TEXT_ARGS(block->keys[i]));
}

static void write_reason(struct buffer *out, const struct corefile_route *route)
{
    static const char *const reasons[] = {
        [ROUTE_LONGEST] = "is the longest zone there that the name lies in",
        [ROUTE_PARENT] = ("is the shortest zone there that the name lies in, and a query for DS "
                          "goes to the parent of a zone"),
        [ROUTE_ROOT] = "takes what lies in no other zone there",
    };
    buffer_printf(out, "    Its zone %.*s %s.\n", TEXT_ARGS(route->zone), reasons[route->reason]);
}

static void write_step(struct buffer *out, const struct routing *routing,
                       const struct route_step *step)
{
    const struct corefile_token *token = token_of(routing, step->token);
    buffer_printf(out, "    %.*s (", TEXT_ARGS(step->plugin));
    if (token->file)
        buffer_printf(out, "%s:%u", path_of(routing, step->token), token->line);
    else
        buffer_printf(out, "line %u", token->line);
    if (step->zone.len && !text_is(step->zone, "."))
        buffer_printf(out, ", zone %.*s", TEXT_ARGS(step->zone));
    buffer_printf(out, ") %s", step->text);
    buffer_add_text(out, step->is_last ? "; the query goes no further.\n" : ".\n");
}

static void write_steps(struct buffer *out, const struct routing *routing,
                        const struct corefile_block *block)
{
    static const char *const ends[] = {
        [ROUTE_ENDS_ANSWERED] = "",
        [ROUTE_ENDS_FAILED] = "    No plugin is left to answer what these do not: SERVFAIL.\n",
        [ROUTE_ENDS_REFUSED] = "    No plugin of the block handles queries: REFUSED.\n",
    };
    struct route_steps steps;
    corefile_find_steps(routing->invocation->arena, routing->corefile, block, &routing->query,
                        &steps);
    for (size_t i = 0; i < steps.count; i++)
        write_step(out, routing, &steps.items[i]);
    if (steps.end == ROUTE_ENDS_FAILED && !steps.count)
        buffer_add_text(out, "    No plugin of the block answers it: SERVFAIL.\n");
    else
        buffer_add_text(out, ends[steps.end]);
}

static void write_route(struct buffer *out, const struct routing *routing,
                        const struct corefile_route *route)
{
    buffer_printf(out, "%.*s %s", TEXT_ARGS(routing->query.name), routing->type);
    write_address(out, route);
    if (!route->block) {
        buffer_add_text(out, ": no server block has the name, and CoreDNS answers REFUSED.\n");
        return;
    }
    buffer_printf(out, ": the server block at %s:%u%s.\n", path_of(routing, route->block->first),
                  token_of(routing, route->block->first)->line,
                  route->is_conditional ? ", if its view lets the query pass" : " answers");
    buffer_add_text(out, "    It serves ");
    write_keys(out, route->block);
    buffer_add_text(out, ".\n");
    write_reason(out, route);
    write_steps(out, routing, route->block);
}

// ---- JSON ---------------------------------------------------------------------------------------

static void put_text(struct arena *arena, struct value *map, const char *key, struct text text)
{
    value_put_text(arena, map, key, arena_copy(arena, text.at ? text.at : "", text.len));
}

static struct value *list_texts(struct arena *arena, const struct text *texts, size_t count)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count; i++)
        value_append(list, value_make_text(arena, texts[i]));
    return list;
}

static void put_place(const struct routing *routing, struct value *map, uint32_t token)
{
    struct arena *arena = routing->invocation->arena;
    value_put_text(arena, map, "file", path_of(routing, token));
    value_put_int(arena, map, "line", token_of(routing, token)->line);
}

static struct value *value_of_step(const struct routing *routing, const struct route_step *step)
{
    struct arena *arena = routing->invocation->arena;
    struct value *map = value_make(arena, VALUE_MAP);
    put_text(arena, map, "plugin", step->plugin);
    put_place(routing, map, step->token);
    if (step->zone.len)
        put_text(arena, map, "zone", step->zone);
    if (step->upstream_count)
        value_put(arena, map, "upstreams",
                  list_texts(arena, step->upstreams, step->upstream_count));
    value_put_text(arena, map, "text", step->text);
    value_put_bool(arena, map, "last", step->is_last);
    return map;
}

static void put_steps(const struct routing *routing, struct value *map,
                      const struct corefile_block *block)
{
    static const char *const rcodes[] = {
        [ROUTE_ENDS_ANSWERED] = NULL,
        [ROUTE_ENDS_FAILED] = "SERVFAIL",
        [ROUTE_ENDS_REFUSED] = "REFUSED",
    };
    struct arena *arena = routing->invocation->arena;
    struct route_steps steps;
    struct value *list = value_put(arena, map, "steps", value_make(arena, VALUE_LIST));
    corefile_find_steps(arena, routing->corefile, block, &routing->query, &steps);
    for (size_t i = 0; i < steps.count; i++)
        value_append(list, value_of_step(routing, &steps.items[i]));
    if (rcodes[steps.end])
        value_put_text(arena, map, "rcode", rcodes[steps.end]);
}

static struct value *value_of_route(const struct routing *routing,
                                    const struct corefile_route *route)
{
    static const char *const reasons[] = {
        [ROUTE_LONGEST] = "LongestZone",
        [ROUTE_PARENT] = "ParentOfZone",
        [ROUTE_ROOT] = "RootZone",
        [ROUTE_NONE] = "NoZone",
    };
    struct arena *arena = routing->invocation->arena;
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_text(arena, map, "transport", route->transport);
    if (route->host.len)
        put_text(arena, map, "host", route->host);
    put_text(arena, map, "port", route->port);
    value_put_text(arena, map, "reason", reasons[route->reason]);
    if (!route->block) {
        value_put_text(arena, map, "rcode", "REFUSED");
        return map;
    }
    put_place(routing, map, route->block->first);
    value_put(arena, map, "zones", list_texts(arena, route->block->keys, route->block->key_count));
    put_text(arena, map, "zone", route->zone);
    value_put_bool(arena, map, "conditional", route->is_conditional);
    put_steps(routing, map, route->block);
    return map;
}

static void write_json(struct buffer *out, const struct routing *routing)
{
    struct arena *arena = routing->invocation->arena;
    struct value *root = value_make(arena, VALUE_MAP);
    put_text(arena, root, "name", routing->query.name);
    value_put_text(arena, root, "type", routing->type);
    struct value *list = value_put(arena, root, "routes", value_make(arena, VALUE_LIST));
    for (size_t i = 0; i < routing->routes.count; i++)
        value_append(list, value_of_route(routing, &routing->routes.items[i]));
    value_write_json(out, root);
    buffer_add_char(out, '\n');
}

// ---- the command --------------------------------------------------------------------------------

static bool take_question(struct routing *routing, struct error *err)
{
    const struct invocation *invocation = routing->invocation;
    const char *name = invocation->arguments[0];
    const char *type = option_text(invocation, "type");
    if (!corefile_query_name(invocation->arena, text_of(name), &routing->query.name, err))
        return error_prefix(err, "%s: ", name);
    if (!rr_type_read(text_of(type), &routing->query.type)) {
        error_set(err, FAULT_SPEC, "", "expected a type of records such as A, DS or TYPE65");
        return option_blame(invocation, "type", type, err);
    }
    routing->type = rr_type_write(routing->query.type, routing->type_digits);
    return true;
}

static bool read_file(const struct routing *routing, struct corefile_file *file, struct error *err)
{
    const struct invocation *invocation = routing->invocation;
    if (invocation->argument_count < ARGUMENTS_MAX)
        return corefile_store_read(invocation, file, err);
    return corefile_files_read(&routing->files, invocation->arguments[1], file, err);
}

static bool has_answer(const struct routing *routing)
{
    for (size_t i = 0; i < routing->routes.count; i++)
        if (routing->routes.items[i].block)
            return true;
    return false;
}

static void write_routes(struct buffer *out, const struct routing *routing)
{
    for (size_t i = 0; i < routing->routes.count; i++)
        write_route(out, routing, &routing->routes.items[i]);
}

static int report(const struct routing *routing)
{
    AUTO_BUFFER out = {0};
    struct error err;
    if (!strcmp(option_text(routing->invocation, "output"), "json"))
        write_json(&out, routing);
    else
        write_routes(&out, routing);
    if (!print_out(&out, &err))
        return command_fail(1, "%s", err.text);
    return has_answer(routing) ? 0 : 1;
}

// The caller frees what is returned. NULL: err says why CoreDNS answers nothing.
static struct corefile *find_routes(struct routing *routing, const struct corefile_file *file,
                                    struct error *err)
{
    struct arena *arena = routing->invocation->arena;
    const struct served_options served = {.version = routing->options.version};
    struct corefile_problems problems = {.arena = arena};
    CLEANUP(corefile)
    struct corefile *corefile = corefile_lint(file, &routing->options, &problems);
    for (size_t i = 0; i < problems.kept; i++)
        if (!problems.items[i].is_warning) {
            AUTO_BUFFER text = {0};
            corefile_write_problem(&text, &problems.items[i]);
            error_set(err, FAULT_SPEC, "",
                      "CoreDNS would refuse this file, so it answers nothing: %s", text.at);
            return NULL;
        }
    routing->corefile = corefile;
    corefile_find_routes(arena, corefile, &served, &routing->query, &routing->routes);
    if (routing->routes.count)
        return steal(corefile);
    error_set(err, FAULT_SPEC, "", "%s has no server block", file->path);
    return NULL;
}

static int route_in(struct routing *routing, const struct corefile_file *file)
{
    struct error err;
    CLEANUP(corefile) struct corefile *corefile = find_routes(routing, file, &err);
    return corefile ? report(routing) : command_fail(1, "%s", err.text);
}

void corefile_route_explain(const struct invocation *invocation, struct text name, uint16_t type,
                            struct buffer *out)
{
    struct error err;
    struct corefile_file file;
    struct routing routing = {
        .invocation = invocation, .options = {.version = coredns_newest}, .query = {.type = type}};
    routing.type = rr_type_write(type, routing.type_digits);
    if (!corefile_store_read(invocation, &file, &err) ||
        !corefile_query_name(invocation->arena, name, &routing.query.name, &err))
        return;
    CLEANUP(corefile) struct corefile *corefile = find_routes(&routing, &file, &err);
    if (corefile)
        write_routes(out, &routing);
    else
        buffer_printf(out, "%s: %s\n", file.path, err.text);
}

static int route_run(struct invocation *invocation)
{
    struct error err;
    struct corefile_file file;
    struct routing routing = {.invocation = invocation};
    if (!invocation->argument_count || invocation->argument_count > ARGUMENTS_MAX)
        return command_fail(2, "give the name to look up, and one Corefile, or - for stdin");
    if (!take_question(&routing, &err) || !corefile_files_init(&routing.files, invocation, &err) ||
        !corefile_build_read(invocation, &routing.options, &err) ||
        !read_file(&routing, &file, &err))
        return command_fail(2, "%s", err.text);
    routing.options.world = &routing.files.world;
    return route_in(&routing, &file);
}

static const struct option route_rows[] = {
    {.name = "type",
     .type = OPTION_TEXT,
     .fallback = "A",
     .placeholder = "TYPE",
     .doc = "The type of the query: DS goes to the parent of a zone, and plugins may take some "
            "types alone."},
    COREFILE_BUILD_OPTIONS,
    COREFILE_FILES_OPTIONS,
    COREFILE_STORE_TIMEOUT,
    OUTPUT_OPTION(output_names, "For people, or as one JSON document."),
};

extern const struct command corefile_route_command;
const struct command corefile_route_command = {
    .name = "corefile route",
    .summary = "say which server block answers a query, and why",
    .positional = "NAME [PATH]",
    .doc = "Says for each address that a CoreDNS with this Corefile listens on which server block "
           "takes a query for NAME, and what its plugins do with it, as far as the Corefile says. "
           "Of the zones at that address the longest wins that the name lies in, wherever it "
           "stands in the file; the root zone comes last, and without it the answer is REFUSED. A "
           "query for DS goes to the shortest of them, as it belongs to the parent of a zone.\n\n"
           "Plugins are named in the order in which they see the query, up to the one that passes "
           "nothing on. Those that only watch are left out. No query is sent, and files that "
           "plugins name are not read. Without PATH the Corefile of the configured store is read, "
           "as by `signpost corefile check`.\n\n"
           "--output json prints one document: \"name\", \"type\" and \"routes\", a list of maps "
           "with \"transport\", \"host\", \"port\", \"file\", \"line\", \"zones\", \"zone\", "
           "\"reason\" (LongestZone, ParentOfZone, RootZone, NoZone), \"conditional\", which a "
           "view makes it, \"steps\", and \"rcode\" if no plugin is left to answer. A step has "
           "\"plugin\", \"file\", \"line\", \"zone\", \"upstreams\", \"text\" and \"last\".",
    .exit_docs =
        {
            "a server block takes it",
            "none does, or CoreDNS would refuse the file",
            "an argument is wrong, or the file cannot be read",
        },
    .examples = "signpost corefile route db.corp.example Corefile\n"
                "signpost corefile route corp.example Corefile --type DS\n"
                "signpost corefile route 4.3.2.10.in-addr.arpa --type PTR --dir manifests\n",
    .groups = {{route_rows, COUNT_OF(route_rows), false},
               {store_options, STORE_PLACE_OPTION_COUNT, true},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .run = route_run,
};
