#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "commands/option.h"
#include "commands/report.h"
#include "dns/zone_compiler.h"

// A zone file with what it includes, or a zone of a server, in a compiler of its own: what `zone
// check`, `zone render`, `zone diff` and `import zone` begin with. Its SOA is the zone's frame;
// DNSSEC records of a signed file (RRSIG, NSEC, NSEC3, NSEC3PARAM, ZONEMD) are passed over.
//
//     struct zone_input *input = zone_input_new(apex, REPORT_WARNING, &report);
//     if (!zone_input_read(input, "shop.zone", &err))
//         return command_fail(2, "%s", err.text);

// "shop.example" or "shop.example." of an argument.
bool zone_name_read(const char *text, uint8_t out[DNAME_MAX], struct dname *name,
                    struct error *err);
// The same of an option that was given; a fault names it.
bool zone_name_of_option(const struct invocation *invocation, const char *option,
                         uint8_t out[DNAME_MAX], struct dname *name, struct error *err);

struct zone_input;
// The report is borrowed, and its arena used. What zone files may hold and objects may not is told
// with `unfit`: a warning, or an error where objects are to be made.
struct zone_input *zone_input_new(struct dname apex, enum report_level unfit,
                                  struct report *report);
// May an object hold a record of that owner and that data?
bool zone_input_is_fit(struct dname apex, struct dname owner, uint16_t type, struct text rdata,
                       struct error *err);
void zone_input_free(struct zone_input *input);
DEFINE_CLEANUP(zone_input, zone_input_free)
// Once. Reads, compiles, and reports all that is wrong or odd. $INCLUDE reaches the file's folder
// and those in it. False: the file itself cannot be read.
bool zone_input_read(struct zone_input *input, const char *path, struct error *err);
// The same of a zone as a server gave it; the server stands for the place of what is reported.
void zone_input_take(struct zone_input *input, const struct zone *zone, const char *server);
size_t zone_input_unreadable(const struct zone_input *input); // files that are included
size_t zone_input_file_count(const struct zone_input *input);
size_t zone_input_entry_count(const struct zone_input *input); // those passed over too
bool zone_input_has_soa(const struct zone_input *input);
// The zone under the serial of its SOA, at fault or not; the caller's.
struct zone *zone_input_zone(struct zone_input *input);
