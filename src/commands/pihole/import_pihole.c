#include <stdlib.h>
#include <string.h>

#include "commands/backend.h"
#include "commands/commands.h"
#include "commands/dry_run.h"
#include "commands/pihole/adopt.h"
#include "commands/pihole/release.h"
#include "commands/print.h"
#include "commands/read_probe.h"
#include "commands/writer.h"
#include "kinds/pihole_annotations.h"
#include "store/cache.h"

enum { LEFT_SHOWN = 20 };

// A name that a predecessor says it keeps for an object.
struct kept {
    struct text name;
    const char *object; // "Ingress shop/web"
};

struct import {
    struct invocation *invocation;
    struct arena *arena;
    struct setup setup;
    struct kept *kept;
    size_t kept_count;
    size_t kept_capacity;
    struct adoptions adoptions;
    struct ledger_memory memory;
    struct buffer out;
    size_t left_count; // of a Pi-hole that is given up
    bool has_failed;
};

// ---- what predecessors kept ---------------------------------------------------------------------

static void keep_name(struct import *import, struct text name, const char *object)
{
    name = text_trim(name);
    if (!name.len)
        return;
    mem_reserve(&import->kept, &import->kept_capacity, import->kept_count + 1);
    import->kept[import->kept_count++] =
        (struct kept){{arena_copy(import->arena, name.at, name.len), name.len}, object};
}

static void look_at(void *context, const struct object *object)
{
    struct import *import = context;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct pihole_managed ours;
    struct text namespace_ = object_namespace(object), name = object_name(object), piece;
    if (object->kind->pack_managed != pihole_managed_pack)
        return;
    pihole_managed_unpack(arena, object_spec(object), object_managed(object), &ours);
    if (ours.managed_by.len)
        return;
    const char *shown = arena_printf(import->arena, "%s %.*s/%.*s", object->kind->name,
                                     TEXT_ARGS(namespace_), TEXT_ARGS(name));
    while (text_cut(&ours.managed_hosts, ',', &piece))
        keep_name(import, piece, shown);
}

static void look(void *context, const struct cache *cache)
{
    cache_each(cache, NULL, look_at, context);
}

static const struct kept *find_kept(const struct import *import, struct text name)
{
    for (size_t i = 0; i < import->kept_count; i++)
        if (text_equal_nocase(import->kept[i].name, name))
            return &import->kept[i];
    return NULL;
}

// ---- what stands there --------------------------------------------------------------------------

// Whatever others wrote there.
static void write_line(struct import *import, const char *what, struct text line)
{
    buffer_printf(&import->out, "  %-5s  ", what);
    text_clean(&import->out, line, SIZE_MAX);
}

static void write_adoption(struct import *import, struct text line, const struct kept *kept)
{
    write_line(import, "adopt", line);
    buffer_printf(&import->out, " (%s)\n", kept->object);
}

static void report_adoption(struct import *import, const struct configured_backend *backend,
                            struct text line)
{
    struct text name = line, address;
    if (!text_cut(&name, ' ', &address))
        return;
    name = text_trim(name);
    const struct kept *kept = find_kept(import, name);
    if (!kept)
        return;
    write_adoption(import, line, kept);
    adoptions_add(&import->adoptions, import->arena, backend, name, address);
}

static void report_alias(struct import *import, const struct configured_backend *backend,
                         struct text line)
{
    struct text rest = line, name;
    const struct kept *kept =
        text_cut(&rest, ',', &name) ? find_kept(import, text_trim(name)) : NULL;
    if (!kept)
        return;
    write_adoption(import, line, kept);
    adoptions_add_alias(&import->adoptions, import->arena, backend, line);
}

static void report_left(struct import *import, const struct value *left)
{
    size_t count = 0;
    value_each (line, left) {
        if (count++ >= LEFT_SHOWN)
            continue;
        write_line(import, "left", line->text);
        buffer_add_char(&import->out, '\n');
    }
    if (count > LEFT_SHOWN)
        buffer_printf(&import->out, "  and %zu more of other owners\n", count - LEFT_SHOWN);
}

static void seen(void *context, const struct configured_backend *backend, const struct job *job,
                 const struct error *trouble)
{
    struct import *import = context;
    buffer_printf(&import->out, "%s (%s)\n", backend->label, backend->url);
    const struct value *answer = job ? job->answer : NULL;
    if (!answer) {
        write_line(import, "error", text_of(trouble->text));
        buffer_add_char(&import->out, '\n');
        import->has_failed = true;
        return;
    }
    value_each (line, value_at(answer, "visit.plain", NULL))
        report_adoption(import, backend, line->text);
    value_each (line, value_at(answer, "visit.plainAliases", NULL))
        report_alias(import, backend, line->text);
    report_left(import, value_at(answer, "visit.left", NULL));
}

// ---- doing it -----------------------------------------------------------------------------------

static void adopted(void *context, const struct adoption *adoption, const char *fault)
{
    struct import *import = context;
    buffer_printf(&import->out, fault ? "failed   %s %.*s: %s\n" : "adopted  %s %.*s\n",
                  adoption->backend->label, TEXT_ARGS(adoption->name), fault);
    import->has_failed = import->has_failed || fault;
}

static bool apply(struct import *import, struct error *err)
{
    const struct adopt adopt = {
        .setup = &import->setup,
        .adoptions = &import->adoptions,
        .timeout_ms = option_ms(import->invocation, "timeout"),
        .reported = adopted,
        .context = import,
    };
    return !import->adoptions.count || !option_flag(import->invocation, "apply") ||
           pihole_adopt(&adopt, err);
}

static void remember(void *context, const struct store_shard *shards, size_t count)
{
    struct import *import = context;
    ledger_memory_take(&import->memory, shards, count);
}

static bool read_objects(struct import *import, const char **owner_id, struct error *err)
{
    struct proposal proposal = {.arena = import->arena};
    struct dry_run dry_run = {
        .setup = &import->setup,
        .leaves_backends = true,
        .timeout_ms = option_ms(import->invocation, "timeout"),
        .look = look,
        .shards = remember,
        .context = import,
    };
    bool is_read = run_dry(&dry_run, &proposal, err);
    *owner_id = dry_run.owner_id;
    proposal_done(&proposal);
    return is_read;
}

static bool import_all(struct import *import, struct error *err)
{
    const char *owner_id;
    if (!read_objects(import, &owner_id, err))
        return false;
    const char *given = option_text(import->invocation, "owner-id");
    const struct read_probe probe = {
        .invocation = import->invocation,
        .backends = &import->setup.backends,
        .owner_id = given ? given : owner_id,
        .memory = &import->memory,
        .timeout_ms = option_ms(import->invocation, "timeout"),
        .seen = seen,
        .context = import,
    };
    return read_probe(&probe, err);
}

static void write_summary(struct import *import)
{
    if (option_flag(import->invocation, "apply"))
        return;
    print_count(&import->out, import->adoptions.count, "name");
    buffer_add_text(&import->out, " to adopt\n");
}

static int import_with(struct import *import)
{
    struct error err, out;
    bool is_read = import_all(import, &err);
    bool is_done = is_read && apply(import, &err);
    int code = is_done && !import->has_failed ? 0 : 1;
    if (is_read)
        write_summary(import);
    if (import->out.len && !print_out(&import->out, &out))
        return command_fail(1, "%s", out.text);
    return is_done ? code : command_fail(is_read ? 1 : 2, "%s", err.text);
}

// ---- giving one up ------------------------------------------------------------------------------

static void released(void *context, const struct record_set *set, const char *fault)
{
    struct import *import = context;
    const char *type = record_type_name(set->type);
    if (fault)
        buffer_printf(&import->out, "failed   %.*s %s: %s\n", TEXT_ARGS(set->domain), type, fault);
    else
        buffer_printf(&import->out, "removed  %.*s %s\n", TEXT_ARGS(set->domain), type);
    import->has_failed = import->has_failed || fault;
}

static void left_there(void *context, const struct record_set *set)
{
    struct import *import = context;
    if (import->left_count++ < LEFT_SHOWN)
        buffer_printf(&import->out, "left     %.*s %s\n", TEXT_ARGS(set->domain),
                      record_type_name(set->type));
}

// What was kept of this Pi-hole may have been lost, or nothing of the kind was ever ours.
static void report_left_there(struct import *import)
{
    if (import->left_count > LEFT_SHOWN)
        buffer_printf(&import->out, "and %zu more\n", import->left_count - LEFT_SHOWN);
    if (import->left_count)
        buffer_add_text(&import->out,
                        "no ledger tells whether what is left was ours: if it was, remove it on "
                        "Pi-hole's page\n");
}

static int release_one(struct import *import, const char *name)
{
    struct error err, out;
    const char *backend = arena_printf(import->arena, "pihole-%s", name);
    const struct release release = {
        .setup = &import->setup,
        .backend = backends_find(&import->setup.backends, text_of(backend)),
        .timeout_ms = option_ms(import->invocation, "timeout"),
        .reported = released,
        .left = left_there,
        .context = import,
    };
    if (!release.backend) {
        error_set(&err, FAULT_SPEC, "", "no such Pi-hole; --pihole-targets must name it still");
        option_blame(import->invocation, "release", name, &err);
        return command_fail(2, "%s", err.text);
    }
    bool is_done = pihole_release(&release, &err);
    report_left_there(import);
    if (import->out.len && !print_out(&import->out, &out))
        return command_fail(1, "%s", out.text);
    if (!is_done)
        return command_fail(1, "%s", err.text);
    return import->has_failed ? 1 : 0;
}

static int import_or_release(struct import *import)
{
    const char *name = option_text(import->invocation, "release");
    if (!import->setup.backends.count)
        return command_fail(2, "give --pihole-url or --pihole-targets: which Pi-holes?");
    return name ? release_one(import, name) : import_with(import);
}

static int import_run(struct invocation *invocation)
{
    struct import import = {.invocation = invocation, .arena = invocation->arena};
    struct error err;
    if (!writer_setup_init(&import.setup, invocation, &err))
        return command_fail(2, "%s", err.text);
    import.memory.backends = &import.setup.backends;
    int code = import_or_release(&import);
    adoptions_done(&import.adoptions);
    ledger_memory_done(&import.memory);
    free(import.kept);
    buffer_done(&import.out);
    setup_done(&import.setup);
    return code;
}

static const struct option import_rows[] = {
    {.name = "apply",
     .type = OPTION_FLAG,
     .doc = "Adopt them: each line gets our mark, in its place, or an entry in the ledger. Takes "
            "the lock of the folder or "
            "the Lease of the cluster; while a Signpost runs there, nothing is done."},
    {.name = "release",
     .type = OPTION_TEXT,
     .placeholder = "NAME",
     .doc = "Instead: remove all that is ours from the Pi-hole of that name, which is not to be "
            "kept any more. Nothing may run that keeps it; the lock or the Lease is taken, too."},
    TIMEOUT_OPTION("30s", "How long reading all objects may take, and each Pi-hole."),
};

extern const struct command import_pihole_command;
const struct command import_pihole_command = {
    .name = "import pihole",
    .summary = "take over what an earlier operator wrote into Pi-holes",
    .doc = "Lists, for each Pi-hole, the lines of its hosts and the aliases that an earlier "
           "operator made: those without a comment and with a single name that stands in the "
           "annotation pihole.io/managed-hosts of an object which Signpost has not marked yet. "
           "With --apply they become ours: a line of hosts gets our mark in its place, an alias, "
           "which can carry none, an entry in the ledger; `signpost run` does the same by itself "
           "at its first sync, unless PIHOLE_ADOPT is none. Lines that carry the mark of another "
           "owner are listed, too, and never touched.\n\n"
           "A Pi-hole that is taken out of PIHOLE_TARGETS keeps its names: --release removes "
           "them, of those that are still named by the options given here. Where its ledger is "
           "lost, nothing tells which aliases were ours: they stay, and are listed.",
    .exit_docs =
        {
            "done",
            "a Pi-hole could not be asked, or a line not be adopted",
            "not all could be read",
        },
    .examples = "signpost import pihole\n"
                "signpost import pihole --apply\n"
                "signpost import pihole --pihole-targets old.yaml --release upstairs\n",
    .groups = {{import_rows, COUNT_OF(import_rows), false},
               SETUP_OPTION_GROUPS,
               {writer_options, WRITER_OPTION_COUNT, true},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = import_run,
};
