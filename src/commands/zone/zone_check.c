#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/configured_store.h"
#include "commands/print.h"
#include "commands/process.h"
#include "commands/zone/zone_input.h"
#include "commands/zone/zone_manifests.h"
#include "commands/zone/zone_store.h"

enum { SHOWN_MAX = 10000 };

static const char *const output_names[] = {"text", "json", NULL};

// ---- outcome ------------------------------------------------------------------------------------

// What was looked at.
struct looked {
    size_t file_count;
    size_t count;
    const char *noun;
    size_t unreadable_count;
    bool is_cluster; // which has no files
};

static void write_counts(struct buffer *out, const struct looked *looked,
                         const struct report *report)
{
    if (!looked->is_cluster) {
        print_count(out, looked->file_count, "file");
        buffer_add_text(out, ", ");
    }
    print_count(out, looked->count, looked->noun);
    buffer_add_text(out, ": ");
    print_count(out, report->counts[REPORT_ERROR], "error");
    buffer_add_text(out, ", ");
    print_count(out, report->counts[REPORT_WARNING], "warning");
    if (looked->unreadable_count)
        buffer_printf(out, "; %zu not read", looked->unreadable_count);
    if (report_is_full(report))
        buffer_printf(out, "; the first %zu are shown", report->count);
    buffer_add_char(out, '\n');
}

static void write_text(struct buffer *out, const struct looked *looked, struct report *report)
{
    report_write(out, report, terminal_of(STDOUT_FILENO).has_colour);
    write_counts(out, looked, report);
}

static void write_json(struct buffer *out, const struct looked *looked, struct report *report)
{
    buffer_add_text(out, "{\"findings\": ");
    report_write_json(out, report);
    buffer_printf(out, ",\n\"%ss\": %zu, \"errors\": %zu, \"warnings\": %zu}\n", looked->noun,
                  looked->count, report->counts[REPORT_ERROR], report->counts[REPORT_WARNING]);
}

static int code_of(const struct invocation *invocation, const struct looked *looked,
                   const struct report *report)
{
    bool is_strict = option_flag(invocation, "strict");
    if (looked->unreadable_count)
        return 2;
    return report->counts[REPORT_ERROR] || (is_strict && report->counts[REPORT_WARNING]) ? 1 : 0;
}

static int report_zone(const struct invocation *invocation, const struct looked *looked,
                       struct report *report)
{
    AUTO_BUFFER text = {0};
    struct error err;
    if (!strcmp(option_text(invocation, "output"), "json"))
        write_json(&text, looked, report);
    else
        write_text(&text, looked, report);
    if (!print_out(&text, &err))
        return command_fail(1, "%s", err.text);
    return code_of(invocation, looked, report);
}

// ---- the command --------------------------------------------------------------------------------

static int check_file(const struct invocation *invocation, struct report *report, const char *path,
                      struct dname origin)
{
    struct error err;
    CLEANUP(zone_input) struct zone_input *input = zone_input_new(origin, REPORT_WARNING, report);
    if (!zone_input_read(input, path, &err))
        return command_fail(2, "%s", err.text);
    const struct looked looked = {zone_input_file_count(input), zone_input_entry_count(input),
                                  "record", zone_input_unreadable(input), false};
    // Not to free: that takes longer, record by record, than reading them.
    exit(report_zone(invocation, &looked, report));
}

// Of the store that `signpost run` would read when none is named.
static int check_manifests(const struct invocation *invocation, struct report *report,
                           const struct dname *only)
{
    struct zone_store store = {0};
    struct error err;
    CLEANUP(zone_manifests)
    struct zone_manifests *zones = zone_manifests_new(invocation, report, &err);
    if (!zones)
        return command_fail(2, "%s", err.text);
    if (invocation->argument_count)
        store.unreadable_count =
            zone_manifests_read(zones, invocation->arguments, invocation->argument_count);
    else if (!zone_store_read(zones, invocation, &store, &err))
        return command_fail(2, "%s", err.text);
    if (option_flag(invocation, "kubizone"))
        zone_manifests_judge_kubizone(zones, only);
    else
        zone_manifests_judge(zones, only, false);
    const struct looked looked = {zone_manifests_file_count(zones), zone_manifests_count(zones),
                                  "object", store.unreadable_count, store.is_cluster};
    return report_zone(invocation, &looked, report);
}

static int check_with(const struct invocation *invocation, struct report *report)
{
    const char *path = option_text(invocation, "zonefile");
    const char *option = path ? "origin" : "zone";
    bool has_name = option_text(invocation, option) != NULL;
    uint8_t octets[DNAME_MAX];
    struct dname name;
    struct error err;
    if (path && !has_name)
        return command_fail(2, "flag --origin is needed: the name of the zone in the file");
    if (path && option_flag(invocation, "kubizone"))
        return command_fail(2, "flag --kubizone is about objects: leave out --zonefile");
    if (path && invocation->argument_count)
        return command_fail(2, "give --zonefile or manifests, not both");
    if (has_name && !zone_name_of_option(invocation, option, octets, &name, &err))
        return command_fail(2, "%s", err.text);
    return path ? check_file(invocation, report, path, name)
                : check_manifests(invocation, report, has_name ? &name : NULL);
}

static int check_run(struct invocation *invocation)
{
    struct report report = {.arena = invocation->arena, .limit = SHOWN_MAX};
    int code = check_with(invocation, &report);
    report_done(&report);
    return code;
}

static const struct option check_rows[] = {
    FILENAME_OPTION,
    {.name = "zonefile",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "The zone file to check (RFC 1035 5; $GENERATE as in BIND). $INCLUDE reaches files of "
            "its folder and of those in it."},
    {.name = "origin",
     .type = OPTION_TEXT,
     .placeholder = "ZONE",
     .doc = "The name of the zone in --zonefile, which completes its relative names."},
    {.name = "zone",
     .type = OPTION_TEXT,
     .placeholder = "ZONE",
     .doc = "Of manifests: tell only of this zone and its records."},
    {.name = "kubizone",
     .type = OPTION_FLAG,
     .doc = "List instead what the programs of Kubizone could not decode (reason KubizoneDecode): "
            "one such object stops them for all."},
    TIMEOUT_OPTION("30s", "How long a cluster may take to list its objects."),
    STRICT_OPTION,
    OUTPUT_OPTION(output_names, "For people, or as one JSON document."),
};

extern const struct command zone_check_command;
const struct command zone_check_command = {
    .name = "zone check",
    .summary = "find every fault in zones, before a name server does",
    .positional = "[PATH...]",
    .exit_docs =
        {
            "there is no error and, with --strict, no warning",
            "there are errors, or with --strict warnings",
            "an argument is wrong, or a source cannot be read",
        },
    .doc =
        "Reads manifests, or a zone file, and prints one line for each fault: file, line, column, "
        "the object or the name and type, the reason, and what is wrong. Errors are records that "
        "Signpost would keep out of the zone, because name servers refuse them or would answer "
        "with them what nobody meant, and what keeps a zone as a whole from being served; lines "
        "marked `warning:` are worth a look.\n"
        "\n"
        "Files and folders of manifests are looked at all together: which zone has which record, "
        "what is delegated, and which of several wins. The reasons are those of the objects' "
        "conditions. Without PATH they are those that `signpost run` would read, from a folder or "
        "a "
        "cluster, whose objects have no file and line.\n"
        "\n"
        "A zone file's own SOA is taken as it is. Records of a signed file, which has a DNSKEY at "
        "its apex, that its signer made (RRSIG, NSEC, NSEC3, NSEC3PARAM, ZONEMD) are passed over; "
        "one line says how many. What `import zone` would leave out is named, too.\n"
        "\n"
        "--output json prints one document: \"findings\", a list of maps with \"level\" (error, "
        "warning, info), \"file\", \"line\", \"column\", \"object\", \"reason\" and \"text\"; and "
        "the numbers of \"records\" (of manifests: \"objects\"), \"errors\" and \"warnings\". At "
        "most 10,000 findings are "
        "shown; all are counted.",
    .examples = "signpost zone check manifests/ --zone shop.example\n"
                "signpost zone check --kubeconfig ~/.kube/config --kubizone\n"
                "signpost zone check --zonefile shop.example.zone --origin shop.example\n"
                "signpost zone check --zonefile db.shop --origin shop.example --strict -o json\n",
    .groups = {{check_rows, COUNT_OF(check_rows), false},
               {store_options, STORE_LOOK_OPTION_COUNT, true},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = check_run,
};
