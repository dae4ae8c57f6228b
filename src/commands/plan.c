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
    .doc =
        "Reads the store, reconciles what `signpost run` would reconcile, and shows every change "
        "that it would send: + create, ~ update, - delete, with the class, the object for which it "
        "is, and the order that never varies. What is known to stand at a server is what the "
        "status remembers; where a class looks before its first write (spec.preflight), the server "
        "is asked as `signpost run` would ask it, and what is not ours there is shown as an update "
        "with what it replaces. A plan works while a server is down, which it tells then; what a "
        "server would refuse is not known. A Pi-hole is asked what stands there, as a visitor "
        "beside whoever keeps it: so it is known which names are somebody's and stay as they are, "
        "and of one that does not answer nothing is shown but why. Nothing is written, no lock and "
        "no lease is taken: it may be run beside `signpost run`, where it shows what is not done "
        "yet.\n"
        "\n"
        "Zones that Signpost serves itself are told of as a whole (zone), as members of their "
        "servers' catalog (member), and record set by record set, beside what the status of their "
        "Zones says is served; their SOA stands with 0 for its serial, which depends on when it is "
        "made. Where a zone is too large for status.entries only the numbers of its records are "
        "told. --zones-config is that of `signpost run`, whose keys are not read; without it zones "
        "are taken to stay with their servers, whatever limits and claims stand in it, and nothing "
        "is told of catalogs. No status has the name of a catalog: one that gets another name, "
        "comes or goes with a change of the configuration is not told. In a cluster a Zone that is "
        "deleted leaves nothing behind to compare with: its Records are told as blocked. A "
        "catalog's guard against mass deletion is no part of the plan: members that it would keep "
        "are told to go. Where not all namespaces are read, zones are left out, unless "
        "--zones-config is "
        "given and the namespaces are those that --namespaces names.\n"
        "\n"
        "The last line has the counts and the checksum, by which `signpost plan apply` does "
        "exactly this plan. The same objects, and the same data of others where they go, give the "
        "same checksum, whenever and wherever the plan is made.\n"
        "\n"
        "--output json prints one document: \"changes\", a list of maps with \"action\" (create, "
        "update, delete), \"class\", \"server\", \"name\", \"type\", \"domain\", \"subdomain\", "
        "\"object\" (\"kind\", \"namespace\", \"name\") and, but for deletions, \"ttl\", "
        "\"values\" and where the type has them \"priority\", \"weight\", \"port\", and "
        "\"replaces\", "
        "what is not ours there and would be overwritten; in place of class, server, domain and "
        "subdomain a change of a zone has \"zone\", and \"servers\" (its group) where that is "
        "known: its type is that of the records, or zone, with \"records\" and "
        "\"recordsBefore\", their numbers, \"note\", and \"hash\" where it is not known which "
        "records change, or member, with \"catalog\"; \"blocked\", "
        "objects that are not Ready or not accepted and would not be after these changes, with "
        "\"reason\", "
        "\"message\" and \"object\"; \"refused\", documents that cannot be read, as "
        "\"file:line:column: text\"; \"troubles\", Pi-holes that cannot be worked with now, with "
        "\"class\", \"server\", \"reason\", \"message\" and \"unread\", whether nothing is known "
        "of "
        "changes there; \"counts\"; and \"checksum\", the SHA-256 of the list of "
        "changes in canonical JSON: without blanks, as it is printed.\n"
        "\n"
        "In a cluster you need the right to list what the controllers read (`signpost manifests "
        "--rbac`) and to get Zones, and none to watch or write. Controllers that lack it are left "
        "out, which is "
        "told "
        "on stderr.\n"
        "\n"
        "Exit code 0: done; 1: there are changes, with --exit-code; 2: not all could be read.",
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
