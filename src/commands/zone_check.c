#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/print.h"
#include "commands/zone_input.h"

enum { FINDINGS_MAX = 10000 };

static const char *const output_names[] = {"text", "json", NULL};

// ---- outcome ------------------------------------------------------------------------------------

static void write_counts(struct buffer *out, const struct zone_input *input,
                         const struct report *report)
{
    print_count(out, zone_input_file_count(input), "file");
    buffer_add_text(out, ", ");
    print_count(out, zone_input_entry_count(input), "record");
    buffer_add_text(out, ": ");
    print_count(out, report->counts[REPORT_ERROR], "error");
    buffer_add_text(out, ", ");
    print_count(out, report->counts[REPORT_WARNING], "warning");
    if (zone_input_unreadable(input))
        buffer_printf(out, "; %zu not read", zone_input_unreadable(input));
    if (report_is_full(report))
        buffer_printf(out, "; the first %zu are shown", report->count);
    buffer_add_char(out, '\n');
}

static void write_text(struct buffer *out, const struct zone_input *input, struct report *report)
{
    report_write(out, report, terminal_of(STDOUT_FILENO).has_colour);
    write_counts(out, input, report);
}

static void write_json(struct buffer *out, const struct zone_input *input, struct report *report)
{
    buffer_add_text(out, "{\"findings\": ");
    report_write_json(out, report);
    buffer_printf(out, ",\n\"records\": %zu, \"errors\": %zu, \"warnings\": %zu}\n",
                  zone_input_entry_count(input), report->counts[REPORT_ERROR],
                  report->counts[REPORT_WARNING]);
}

static int code_of(const struct invocation *invocation, const struct zone_input *input,
                   const struct report *report)
{
    bool is_strict = option_flag(invocation, "strict");
    if (zone_input_unreadable(input))
        return 2;
    return report->counts[REPORT_ERROR] || (is_strict && report->counts[REPORT_WARNING]) ? 1 : 0;
}

static int tell(const struct invocation *invocation, const struct zone_input *input,
                struct report *report)
{
    AUTO_BUFFER text = {0};
    struct error err;
    if (!strcmp(option_text(invocation, "output"), "json"))
        write_json(&text, input, report);
    else
        write_text(&text, input, report);
    if (!print_out(&text, &err))
        return command_fail(1, "%s", err.text);
    return code_of(invocation, input, report);
}

// ---- the command --------------------------------------------------------------------------------

static int check_file(const struct invocation *invocation, struct report *report, const char *path,
                      struct dname origin)
{
    struct error err;
    CLEANUP(zone_input) struct zone_input *input = zone_input_new(origin, report);
    if (!zone_input_read(input, path, &err))
        return command_fail(2, "%s", err.text);
    return tell(invocation, input, report);
}

static int check_run(struct invocation *invocation)
{
    const char *path = option_text(invocation, "zonefile");
    const char *origin = option_text(invocation, "origin");
    uint8_t octets[DNAME_MAX];
    struct dname name;
    struct error err;
    if (!path || !origin)
        return command_fail(2, "flag --%s is needed: the %s", path ? "origin" : "zonefile",
                            path ? "name of the zone in the file" : "zone file to check");
    if (!zone_name_read(origin, octets, &name, &err)) {
        option_blame(invocation, "origin", origin, &err);
        return command_fail(2, "%s", err.text);
    }
    struct report report = {.arena = invocation->arena, .limit = FINDINGS_MAX};
    int code = check_file(invocation, &report, path, name);
    report_done(&report);
    return code;
}

static const struct option check_rows[] = {
    {.name = "zonefile",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "The zone file to check (RFC 1035 5; $GENERATE as in BIND). $INCLUDE reaches files of "
            "its folder and of those in it."},
    {.name = "origin",
     .type = OPTION_TEXT,
     .placeholder = "ZONE",
     .doc = "The name of the zone, which completes the file's relative names."},
    {.name = "strict", .type = OPTION_FLAG, .doc = "Exit code 1 for warnings, too."},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_CHOICE,
     .fallback = "text",
     .placeholder = "FORMAT",
     .choices = output_names,
     .doc = "For people, or as one JSON document."},
};

extern const struct command zone_check_command;
const struct command zone_check_command = {
    .name = "zone check",
    .summary = "find every fault in a zone file, without a network",
    .doc =
        "Reads a zone file and prints one line for each fault: file, line, column, name and type, "
        "the reason, and what is wrong. Errors are records that Signpost would keep out of the "
        "zone, because name servers refuse them or would answer with them what nobody meant, and "
        "what keeps the zone as a whole from being served; lines marked `warning:` are worth a "
        "look.\n"
        "\n"
        "The file's own SOA is taken as it is. Records of a signed file that its signer made "
        "(RRSIG, NSEC, NSEC3, NSEC3PARAM, ZONEMD) are passed over; one line says how many.\n"
        "\n"
        "--output json prints one document: \"findings\", a list of maps with \"level\" (error, "
        "warning, info), \"file\", \"line\", \"column\", \"object\", \"reason\" and \"text\"; and "
        "the numbers of \"records\", \"errors\" and \"warnings\". At most 10,000 findings are "
        "shown; all are counted.",
    .examples = "signpost zone check --zonefile shop.example.zone --origin shop.example\n"
                "signpost zone check --zonefile db.shop --origin shop.example --strict -o json\n",
    .groups = {{check_rows, COUNT_OF(check_rows)}},
    .run = check_run,
};
