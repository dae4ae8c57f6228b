#include <string.h>

#include "commands/commands.h"
#include "commands/dry_run.h"
#include "commands/print.h"
#include "commands/process.h"

static const struct {
    const char *name;
    void (*write)(struct buffer *out, const struct proposal *proposal);
} forms[] = {
    {"text", proposal_write_text},
    {"json", proposal_write_json},
    {"markdown", proposal_write_markdown},
};

static const char *const form_names[] = {"text", "json", "markdown", NULL};

static bool put(const struct invocation *invocation, const struct proposal *proposal,
                struct error *err)
{
    AUTO_BUFFER text = {0};
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (!strcmp(forms[i].name, option_text(invocation, "output")))
            forms[i].write(&text, proposal);
    return print_out(&text, err);
}

static int report_plan(const struct invocation *invocation, const struct proposal *proposal)
{
    struct error err;
    if (!put(invocation, proposal, &err))
        return command_fail(1, "%s", err.text);
    const struct proposal_trouble *unread = proposal_unread(proposal, NULL);
    if (unread)
        return command_fail(2, "not all could be read: %s: %s", unread->class_name,
                            unread->message);
    return proposal->count && option_flag(invocation, "exit-code") ? 1 : 0;
}

// ---- what is no part of it ----------------------------------------------------------------------

// Own kinds of controllers that are not enabled.
struct left_out {
    const struct controller *controllers[ENABLED_CONTROLLERS_MAX];
    size_t object_counts[ENABLED_CONTROLLERS_MAX];
    size_t count;
};

static void find_left_out(const struct setup *setup, struct left_out *out)
{
    for (size_t i = 0; i < controller_count && out->count < ENABLED_CONTROLLERS_MAX; i++)
        if (!controllers[i]->kind->is_foreign && !setup_reads(setup, controllers[i]->kind))
            out->controllers[out->count++] = controllers[i];
}

static void count_left_out(void *context, const struct folder_entry *entry)
{
    struct left_out *left_out = context;
    for (size_t i = 0; i < left_out->count; i++)
        left_out->object_counts[i] += entry->kind == left_out->controllers[i]->kind &&
                                      !entry->is_gone && !entry->is_duplicate;
}

// A folder may have objects of which the enabled controllers know nothing. (In a cluster nobody
// looks for them: whoever runs `plan` there need not have the right.)
static void report_left_out(const struct setup *setup)
{
    struct left_out left_out = {0};
    const struct kind *of[ENABLED_CONTROLLERS_MAX];
    CLEANUP(arena) struct arena *arena = arena_new();
    find_left_out(setup, &left_out);
    for (size_t i = 0; i < left_out.count; i++)
        of[i] = left_out.controllers[i]->kind;
    if (!setup_read_kinds(setup, of, left_out.count, arena, count_left_out, &left_out))
        return;
    for (size_t i = 0; i < left_out.count; i++)
        if (left_out.object_counts[i])
            command_fail(0,
                         "no part of this plan: objects of kind %s, %zu of them: name their "
                         "controller with --controllers %s",
                         of[i]->name, left_out.object_counts[i], left_out.controllers[i]->name);
}

static int plan_run(struct invocation *invocation)
{
    struct setup setup;
    struct error err;
    struct proposal proposal = {.arena = invocation->arena};
    struct previews previews;
    if (!setup_init(&setup, invocation, &err))
        return command_fail(2, "%s", err.text);
    if (!previews_open(&previews, &setup, &err)) {
        setup_done(&setup);
        return command_fail(2, "%s", err.text);
    }
    struct dry_run dry_run = {
        .setup = &setup,
        .timeout_ms = option_ms(invocation, "timeout"),
        .takes_part = true,
        .previews = &previews,
    };
    int code = run_dry(&dry_run, &proposal, &err) ? report_plan(invocation, &proposal)
                                                  : command_fail(2, "%s", err.text);
    previews_close(&previews);
    report_left_out(&setup);
    if (dry_run.is_part)
        code = 2;
    proposal_done(&proposal);
    setup_done(&setup);
    return code;
}

static const struct option plan_rows[] = {
    FILENAME_OPTION,
    OUTPUT_OPTION(form_names,
                  "For people, as one JSON document, or as a table for a merge request."),
    {.name = "exit-code", .type = OPTION_FLAG, .doc = "Exit code 1 when there are changes."},
    TIMEOUT_OPTION("30s", "How long reading all objects may take."),
};

extern const struct command plan_command;
const struct command plan_command = {
    .name = "plan",
    .summary = "show what `signpost run` would change, and change nothing",
    .positional = "[PATH]",
    .path_option = "dir",
    .doc = "Reads the store, reconciles what `signpost run` would reconcile, and shows every "
           "change that it would send: + create, ~ update, - delete, with the class, the object "
           "that wants it, always in the same order. What stands at a server is taken from the "
           "status. Where a class looks before its first write (spec.preflight), the server is "
           "asked as `signpost run` would ask it, and what is not ours there is shown as an "
           "update with what it replaces. A plan also works while a server is down, and then says "
           "so; it does not know what a server would refuse. A Pi-hole is read and never written, "
           "even while `signpost run` writes it: names that belong to somebody else are known and "
           "stay as they are, and of a Pi-hole that does not answer only the reason is shown. "
           "Nothing is written, and no lock and no Lease is taken: run beside `signpost run`, a "
           "plan shows what is not done yet.\n\n"
           "A zone that Signpost serves itself is shown as a whole (zone), as a member of the "
           "catalog of its servers (member), and record set by record set, compared with what the "
           "status of its Zone says is served. Its SOA has the serial 0, because the serial "
           "depends on the time. Of a zone that is too large for status.entries only the numbers "
           "of its records are shown. --zones-config names the same file as for `signpost run`; "
           "keys in it are not read. Without it every zone stays with its servers, limits and "
           "claims do not count, and catalogs are not shown. A catalog that is added, removed or "
           "renamed in the configuration is not shown, as no status has its name. In a cluster, a "
           "Zone that is deleted leaves nothing to compare with: its Records are shown as "
           "blocked. The guard of a catalog against mass deletion is not part of the plan: "
           "members that it would keep are shown as deleted. Where not all namespaces are read, "
           "zones are left out, unless --zones-config is given and its namespaces are those that "
           "--namespaces names.\n\n"
           "Names of DNSPublications are shown by the DNSUpdateRecord that carries them, as the "
           "class update-record-NAMESPACE/NAME: those of an external-dns as its DNSEndpoints "
           "would change, with \"external-dns\" as the server. `signpost plan apply` writes those "
           "objects, and does not wait for external-dns. A record with engine: native does not "
           "remember what stands at its server, and each process sends all of its names again: "
           "such a name is shown as created while it is new, and as an update afterwards.\n\n"
           "Of objects in the folder whose controller is not among those of --controllers no "
           "change is shown: stderr names their kind and the controller.\n\n"
           "The last line has the counts and the checksum, by which `signpost plan apply` does "
           "exactly this plan. The same objects, and the same data of others where they go, give "
           "the same checksum, whenever and wherever the plan is made.\n\n"
           "--output json prints one document: \"changes\", a list of maps with \"action\" "
           "(create, update, delete), \"class\", \"server\", \"name\", \"type\", \"domain\", "
           "\"subdomain\", \"object\" (\"kind\", \"namespace\", \"name\") and, but for deletions, "
           "\"ttl\", \"values\" and where the type has them \"priority\", \"weight\", \"port\", "
           "and \"replaces\", what is not ours there and would be overwritten; in place of class, "
           "server, domain and subdomain a change of a zone has \"zone\", and \"servers\" (its "
           "group) where that is known: its type is that of the records, or zone, with "
           "\"records\" and \"recordsBefore\", their numbers, \"note\", and \"hash\" where it is "
           "not known which records change, or member, with \"catalog\"; \"blocked\", objects "
           "that are not Ready or not accepted and would not be after these changes, with "
           "\"reason\", \"message\" and \"object\"; \"refused\", documents that cannot be read, "
           "as \"file:line:column: text\"; \"troubles\", Pi-holes that cannot be worked with now, "
           "with \"class\", \"server\", \"reason\", \"message\" and \"unread\", whether nothing "
           "is known of changes there; \"counts\"; and \"checksum\", the SHA-256 of the list of "
           "changes in canonical JSON: without blanks, as it is printed.\n\n"
           "In a cluster you need the right to list what the controllers read (`signpost "
           "manifests --rbac`) and to get Zones, and none to watch or write. Controllers that "
           "lack it are left out, and named on stderr.",
    .exit_docs =
        {
            "done",
            "there are changes, with --exit-code",
            "not all could be read",
        },
    .examples = "signpost plan --dir ./manifests\n"
                "signpost plan --dir ./manifests --zones-config zones.yaml\n"
                "signpost plan --exit-code --output markdown > plan.md\n"
                "signpost plan --output json | jq -r .checksum\n",
    .groups = {SUBJECT_OPTIONS(SUBJECT_PLAN, false),
               SETUP_OPTION_GROUPS,
               {plan_rows, COUNT_OF(plan_rows), false},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = plan_run,
};
