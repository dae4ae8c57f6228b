#include <string.h>

#include "base/must.h"
#include "commands/commands.h"
#include "commands/configured_store.h"
#include "commands/print.h"
#include "commands/process.h"
#include "commands/report.h"
#include "commands/zone/zone_input.h"
#include "commands/zone/zone_source.h"
#include "dns/rr_type.h"

enum { SERIAL_BEHIND = 20 }; // octets from the serial to the end of a SOA's rdata

// ---- text ---------------------------------------------------------------------------------------

static void write_set(struct buffer *out, const char *mark, const struct rrset *set)
{
    size_t cursor = 0;
    struct text rdata;
    while (rrset_next(set, &cursor, &rdata)) {
        buffer_add_text(out, mark);
        zone_write_record(out, set, rdata);
        buffer_add_char(out, '\n');
    }
}

// A signer's records are not the zone's content.
static void write_unless_reserved(struct buffer *out, const char *mark, const struct rrset *set)
{
    if (!rr_type_is_reserved(set->type))
        write_set(out, mark, set);
}

static void write_delta(struct buffer *out, const struct zone_delta *delta)
{
    size_t r = 0;
    size_t a = 0;
    while (r < delta->removed_count || a < delta->added_count) {
        bool is_removed =
            a == delta->added_count ||
            (r < delta->removed_count && rrset_compare(delta->removed[r], delta->added[a]) <= 0);
        if (is_removed)
            write_unless_reserved(out, "- ", delta->removed[r++]);
        else
            write_unless_reserved(out, "+ ", delta->added[a++]);
    }
}

static struct text first_of(const struct rrset *set)
{
    size_t cursor = 0;
    struct text rdata = {0};
    must(rrset_next(set, &cursor, &rdata));
    return rdata;
}

static bool is_same_soa(const struct rrset *a, const struct rrset *b, bool has_serial)
{
    if (has_serial)
        return rrset_equal(a, b);
    struct text left = first_of(a);
    struct text right = first_of(b);
    size_t names = left.len - SERIAL_BEHIND;
    return a->ttl_s == b->ttl_s && left.len == right.len && !memcmp(left.at, right.at, names) &&
           !memcmp(left.at + names + 4, right.at + names + 4, SERIAL_BEHIND - 4);
}

static void write_soa(struct buffer *out, const struct zone *a, const struct zone *b,
                      bool has_serial)
{
    if (is_same_soa(zone_soa(a), zone_soa(b), has_serial))
        return;
    write_set(out, "- ", zone_soa(a));
    write_set(out, "+ ", zone_soa(b));
}

static int compare(const struct invocation *invocation, const struct zone *a, const struct zone *b)
{
    AUTO_BUFFER text = {0};
    struct zone_delta delta;
    struct error err;
    write_soa(&text, a, b, option_flag(invocation, "serial"));
    zone_compare(a, b, &delta);
    write_delta(&text, &delta);
    zone_delta_done(&delta);
    if (!print_out(&text, &err))
        return command_fail(2, "%s", err.text);
    return text.len ? 1 : 0;
}

// ---- the command --------------------------------------------------------------------------------

static int diff_run(struct invocation *invocation)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    struct error err;
    if (invocation->argument_count != 2)
        return command_fail(2, "give two sources of the zone to compare");
    if (!option_text(invocation, "zone"))
        return command_fail(2, "flag --zone is needed: the name of the zone to compare");
    if (!zone_name_of_option(invocation, "zone", octets, &apex, &err))
        return command_fail(2, "%s", err.text);
    CLEANUP(zone)
    struct zone *a = zone_source_read(invocation, invocation->arguments[0], apex, &err);
    if (!a)
        return command_fail(2, "%s", err.text);
    CLEANUP(zone)
    struct zone *b = zone_source_read(invocation, invocation->arguments[1], apex, &err);
    return b ? compare(invocation, a, b) : command_fail(2, "%s", err.text);
}

static const struct option diff_rows[] = {
    {.name = "zone", .type = OPTION_TEXT, .placeholder = "ZONE", .doc = "The name of the zone."},
    {.name = "serial", .type = OPTION_FLAG, .doc = "Compare the serial numbers, too."},
};

extern const struct command zone_diff_command;
const struct command zone_diff_command = {
    .name = "zone diff",
    .summary = "compare a zone from two sources, record by record",
    .positional = "A B",
    .doc = "Prints what A has and B has not in lines that begin with -, and what only B has in "
           "lines that begin with +, in canonical order; a TTL that differs is both. A and B are "
           "zone files, manifests (a folder, or *.yaml, *.yml, *.json), or name servers that "
           "allow a transfer: server:ADDR[:PORT]. store: is what `signpost run` would read, from "
           "a folder or, within --timeout, from a cluster. The serial numbers may differ, and "
           "records that a signer made (RRSIG, NSEC, NSEC3, NSEC3PARAM, ZONEMD) do not count.",
    .exit_docs =
        {
            "the same",
            "different",
            "a source cannot be read",
        },
    .examples = "signpost zone diff --zone shop.example manifests/ server:192.0.2.53\n"
                "signpost zone diff --zone shop.example store: manifests/\n"
                "signpost zone diff --zone shop.example old.zone new.zone\n",
    .groups = {{diff_rows, COUNT_OF(diff_rows), false},
               {zone_source_options, ZONE_SOURCE_OPTION_COUNT, false},
               {store_options, STORE_LOOK_OPTION_COUNT, true},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = diff_run,
};
