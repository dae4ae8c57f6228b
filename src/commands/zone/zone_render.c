#include "commands/commands.h"
#include "commands/configured_store.h"
#include "commands/print.h"
#include "commands/process.h"
#include "commands/report.h"
#include "commands/zone/zone_input.h"
#include "commands/zone/zone_source.h"

static int print(const struct invocation *invocation, const struct zone *zone)
{
    AUTO_BUFFER text = {0};
    struct error err;
    if (option_flag(invocation, "kubizone"))
        zone_write_kubizone(&text, zone);
    else
        zone_write_file(&text, zone);
    return print_out(&text, &err) ? 0 : command_fail(1, "%s", err.text);
}

// Several paths are manifests, and none is the store that `signpost run` would read.
static struct zone *take(const struct invocation *invocation, struct dname apex, struct error *err)
{
    const char *server = option_text(invocation, "from-server");
    const char *const *paths = invocation->arguments + 1;
    size_t count = invocation->argument_count - 1;
    if (server)
        return zone_source_fetch(invocation, server, apex, err);
    if (count == 1)
        return zone_source_read(invocation, *paths, apex, err);
    return zone_source_compile(invocation, paths, count, apex, err);
}

static int render_run(struct invocation *invocation)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    struct error err;
    if (!invocation->argument_count)
        return command_fail(2, "give the name of the zone");
    if (option_text(invocation, "from-server") && invocation->argument_count > 1)
        return command_fail(2, "give --from-server or files, not both");
    if (!zone_name_read(invocation->arguments[0], octets, &apex, &err))
        return command_fail(2, "%s", err.text);
    CLEANUP(zone) struct zone *zone = take(invocation, apex, &err);
    return zone ? print(invocation, zone) : command_fail(2, "%s", err.text);
}

static const struct option render_rows[] = {
    FILENAME_OPTION,
    {.name = "from-server",
     .type = OPTION_TEXT,
     .placeholder = "ADDR[:PORT]",
     .doc = "Take the zone from this name server by a transfer (AXFR). Port 53 when none is "
            "given."},
    {.name = "kubizone",
     .type = OPTION_FLAG,
     .doc = "Print it to the octet as Kubizone's zonefile program wrote it."},
};

extern const struct command zone_render_command;
const struct command zone_render_command = {
    .name = "zone render",
    .summary = "print a zone as master-file text",
    .positional = "ZONE [PATH...]",
    .exit_docs =
        {
            "the zone is printed",
            "it cannot be written out",
            "an argument is wrong, or there is no such zone to print",
        },
    .doc =
        "Reads a zone from manifests, from a zone file, or from a name server, and prints it as "
        "Signpost would serve it: without what the zone must not hold, in canonical order, "
        "every name and every text in one form. Two zones are the same when their texts are.\n"
        "\n"
        "PATH is one zone file, or files (*.yaml, *.yml, *.json) and folders of manifests; "
        "without it they are those that `signpost run` would read, from a folder or, within "
        "--timeout, "
        "from a cluster. Of objects the serial number is minimumSerial, or 1. What is left out is "
        "counted on stderr; `signpost zone check` says why.",
    .examples = "signpost zone render shop.example manifests/\n"
                "signpost zone render shop.example shop.example.zone\n"
                "signpost zone render shop.example --from-server 192.0.2.53\n",
    .groups = {{render_rows, COUNT_OF(render_rows), false},
               {zone_source_options, ZONE_SOURCE_OPTION_COUNT, false},
               {store_options, STORE_LOOK_OPTION_COUNT, true},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = render_run,
};
