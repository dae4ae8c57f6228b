#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/corefile/corefile_files.h"
#include "commands/corefile/corefile_manifests.h"
#include "dns/corefile/address.h"
#include "dns/corefile/identity.h"

// The Corefile that DNS objects come to, printed or compared with another one.

// Reads and merges; what is wrong is told on stderr. Returns the exit code of a failure, or 0.
static int take_manifests(const struct invocation *invocation, const char *layout,
                          struct report *report, struct merged *out)
{
    struct error err;
    struct corefile_manifests manifests = {
        .arena = invocation->arena, .report = report, .layout = layout};
    corefile_manifests_read(&manifests, invocation->arguments, invocation->argument_count);
    bool is_merged =
        !manifests.unreadable_count && corefile_manifests_merge(&manifests, invocation, out, &err);
    free(manifests.config_maps);
    AUTO_BUFFER text = {0};
    report_write(&text, report, false);
    if (text.len && write(STDERR_FILENO, text.at, text.len) < 0)
        return 1;
    if (manifests.unreadable_count)
        return 2;
    return is_merged ? 0 : command_fail(2, "%s", err.text);
}

static int render_run(struct invocation *invocation)
{
    AUTO_BUFFER text = {0};
    char id[CONFIG_ID_LEN + 1];
    struct merged merged;
    struct report report = {.arena = invocation->arena};
    if (!invocation->argument_count)
        return command_fail(2, "give the manifests of the DNS objects, or - for stdin");
    int code = take_manifests(invocation, option_text(invocation, "layout"), &report, &merged);
    size_t errors = report.counts[REPORT_ERROR];
    report_done(&report);
    if (code)
        return code;
    corefile_render(&text, &merged.input, id);
    struct value *tree = value_make(invocation->arena, VALUE_MAP);
    value_put_text(invocation->arena, tree, "id", id);
    value_put_text(invocation->arena, tree, "corefile", text.at);
    code = corefile_print(invocation, &text, tree);
    return errors ? 1 : code;
}

static const char *const layouts[] = {"plain", "openshift", NULL};

static const struct option render_rows[] = {
    {.name = "layout",
     .type = OPTION_CHOICE,
     .placeholder = "LAYOUT",
     .choices = layouts,
     .doc = "In place of --corefile-layout."},
    COREFILE_OUTPUT_OPTION,
};

extern const struct command corefile_render_command;
const struct command corefile_render_command = {
    .name = "corefile render",
    .summary = "print the Corefile that DNS objects come to",
    .positional = "PATH...",
    .doc = "Reads the DNS objects (operator.openshift.io/v1) of manifests, files or folders, and "
           "prints the Corefile that `signpost run` would give a CoreDNS of its own: the object "
           "`default`, and the others as fragments of it. Entries that break a rule are left out "
           "and told on stderr. --output json prints a map with the \"id\" and the \"corefile\".",
    .exit_docs =
        {
            "every entry is in it",
            "some are not",
            "there is nothing to print",
        },
    .examples = "signpost corefile render dns.yaml\n"
                "signpost corefile render --layout openshift dns.yaml | \\\n"
                "    signpost corefile check -\n",
    .groups = {{render_rows, COUNT_OF(render_rows), false}},
    .has_settings = true,
    .run = render_run,
};

// ---- comparing by meaning -----------------------------------------------------------------------

enum { DNS_PORT = 53 };

// A line says: zone, plugin, tokens. Order of blocks, blanks and comments mean nothing.
struct lines {
    const char **items;
    size_t count;
    size_t capacity;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *line_of(struct arena *arena, const struct corefile *corefile,
                           const struct text key, const struct corefile_directive *directive)
{
    AUTO_BUFFER out = {0};
    buffer_printf(&out, "%.*s:", TEXT_ARGS(key));
    for (uint32_t i = 0; i < directive->count; i++)
        buffer_printf(&out, " %.*s", TEXT_ARGS(corefile_text(corefile, directive->first + i)));
    return arena_copy(arena, out.at, out.len);
}

static void add_lines(struct arena *arena, const struct corefile *corefile,
                      const struct corefile_block *block, struct text key, struct lines *out)
{
    for (size_t i = 0; i < block->directive_count; i++) {
        mem_reserve(&out->items, &out->capacity, out->count + 1);
        out->items[out->count++] = line_of(arena, corefile, key, &block->directives[i]);
    }
}

// Zones are written in many ways, and a network is several of them.
static void add_zones(struct arena *arena, const struct corefile *corefile,
                      const struct corefile_block *block, struct text key, struct lines *out)
{
    struct corefile_address address;
    if (corefile_address_read(arena, key, &address)) {
        add_lines(arena, corefile, block, key, out);
        return;
    }
    bool is_plain = !strcmp(address.transport, "dns");
    struct text port = corefile_address_port(arena, &address, DNS_PORT);
    for (size_t i = 0; i < address.zone_count; i++) {
        struct text zone = corefile_zone_name(arena, address.zones[i], false);
        zone.len -= zone.len > 1; // the final dot
        const char *name = arena_printf(arena, "%s%s%.*s:%.*s", is_plain ? "" : address.transport,
                                        is_plain ? "" : "://", TEXT_ARGS(zone), TEXT_ARGS(port));
        add_lines(arena, corefile, block, text_of(name), out);
    }
}

static void list_lines(struct arena *arena, const struct corefile *corefile, struct lines *out)
{
    for (size_t b = 0; b < corefile->block_count; b++)
        for (size_t k = 0; k < corefile->blocks[b].key_count; k++)
            add_zones(arena, corefile, &corefile->blocks[b], corefile->blocks[b].keys[k], out);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_lines);
}

struct difference {
    struct arena *arena;
    struct buffer text;
    struct value *removed; // lists of lines
    struct value *added;
};

static void add_line(struct difference *out, char sign, const char *line)
{
    buffer_printf(&out->text, "%c %s\n", sign, line);
    value_append(sign == '-' ? out->removed : out->added,
                 value_make_text(out->arena, text_of(line)));
}

static void compare_sides(struct difference *out, const struct lines *a, const struct lines *b)
{
    size_t i = 0;
    size_t j = 0;
    while (i < a->count || j < b->count) {
        int order = i == a->count ? 1 : j == b->count ? -1 : strcmp(a->items[i], b->items[j]);
        if (order < 0)
            add_line(out, '-', a->items[i]);
        if (order > 0)
            add_line(out, '+', b->items[j]);
        i += order <= 0;
        j += order >= 0;
    }
}

static int print_difference(const struct invocation *invocation, const struct lines *a,
                            const struct lines *b)
{
    struct arena *arena = invocation->arena;
    struct value *tree = value_make(arena, VALUE_MAP);
    struct difference difference = {.arena = arena,
                                    .removed = value_make(arena, VALUE_LIST),
                                    .added = value_make(arena, VALUE_LIST)};
    compare_sides(&difference, a, b);
    value_set(tree, TEXT("removed"), difference.removed);
    value_set(tree, TEXT("added"), difference.added);
    bool is_same = !difference.text.len;
    int code = corefile_print(invocation, &difference.text, tree);
    buffer_done(&difference.text);
    return code ? 2 : !is_same;
}

// The answer of `chaos` is another one with each id; what it says is told by the other lines.
static struct text without_id(struct arena *arena, struct text text)
{
    struct text id = config_id_find(text);
    char *copy = arena_copy(arena, text.at, text.len);
    if (id.at)
        memset(copy + (id.at - text.at), '0', id.len);
    return (struct text){copy, text.len};
}

static bool add_side(struct arena *arena, const struct corefile_file *file, struct lines *out,
                     struct error *err)
{
    const struct corefile_file read = {file->path, without_id(arena, file->text)};
    const struct corefile_options options = {0};
    struct corefile_problems problems = {.arena = arena};
    CLEANUP(corefile) struct corefile *corefile = corefile_new(&read, &options, &problems);
    if (problems.error_count) {
        AUTO_BUFFER text = {0};
        corefile_write_problem(&text, &problems.items[0]);
        return error_set(err, FAULT_SPEC, NULL, "%s", text.at);
    }
    list_lines(arena, corefile, out);
    return true;
}

static int compare(struct invocation *invocation, const struct corefile_file *there,
                   const struct merged *merged)
{
    AUTO_BUFFER rendered = {0};
    char id[CONFIG_ID_LEN + 1];
    struct error err;
    struct lines a = {0};
    struct lines b = {0};
    corefile_render(&rendered, &merged->input, id);
    const struct corefile_file wanted = {"rendered", buffer_text(&rendered)};
    bool is_read = add_side(invocation->arena, there, &a, &err) &&
                   add_side(invocation->arena, &wanted, &b, &err);
    int code = is_read ? print_difference(invocation, &a, &b) : command_fail(2, "%s", err.text);
    free(a.items);
    free(b.items);
    return code;
}

static int diff_run(struct invocation *invocation)
{
    struct corefile_file file;
    struct error err;
    struct merged merged;
    struct report report = {.arena = invocation->arena};
    const struct corefile_files files = {.arena = invocation->arena};
    const char *against = option_text(invocation, "against");
    if (!invocation->argument_count)
        return command_fail(2, "give the manifests of the DNS objects, or - for stdin");
    if (!against)
        return command_fail(2, "flag --against is needed: the Corefile to compare with");
    if (!corefile_files_read(&files, against, &file, &err))
        return command_fail(2, "%s", err.text);
    int code = take_manifests(invocation, NULL, &report, &merged);
    report_done(&report);
    return code ? code : compare(invocation, &file, &merged);
}

static const struct option diff_rows[] = {
    {.name = "against",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "The Corefile that stands there now."},
    COREFILE_OUTPUT_OPTION,
};

extern const struct command corefile_diff_command;
const struct command corefile_diff_command = {
    .name = "corefile diff",
    .summary = "compare DNS objects with a Corefile, by meaning",
    .positional = "PATH...",
    .doc = "Prints what the Corefile of --against has and the one that the manifests come to has "
           "not in lines that begin with -, and what only the latter has in lines that begin with "
           "+. A line is a zone, a plugin and its arguments: blanks, comments, the order of "
           "server blocks and how a zone is written do not count, nor does the config id. "
           "--output json prints a map with the lists \"removed\" and \"added\" of such lines.",
    .exit_docs =
        {
            "they mean the same",
            "they do not",
            "something cannot be read",
        },
    .examples = "signpost corefile diff dns.yaml --against Corefile\n",
    .groups = {{diff_rows, COUNT_OF(diff_rows), false}},
    .has_settings = true,
    .run = diff_run,
};
