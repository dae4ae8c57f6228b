#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "commands/option.h"
#include "commands/report.h"
#include "dns/zone.h"

// Where the commands that show and compare zones take one from: manifests, a zone file, the
// configured store, or a name server that allows a transfer.

enum { ZONE_SOURCE_OPTION_COUNT = 4 };
extern const struct option zone_source_options[ZONE_SOURCE_OPTION_COUNT];

// A zone file, manifests (a folder, or *.yaml, *.yml, *.json), server:ADDR[:PORT], or store: for
// the configured store; the command has place.h's options and those of the log. What is kept out of
// the zone is told on stderr, in one line. NULL: err says why it cannot be read (exit 2).
struct zone *zone_source_read(const struct invocation *invocation, const char *source,
                              struct dname apex, struct error *err);
// From that server by AXFR, as it is.
struct zone *zone_source_fetch(const struct invocation *invocation, const char *server,
                               struct dname apex, struct error *err);
// From all these manifests together, or without any from the configured store.
struct zone *zone_source_compile(const struct invocation *invocation, const char *const *paths,
                                 size_t count, struct dname apex, struct error *err);
// From a zone file; its findings go to the report, and with `unfit` what objects may not hold.
struct zone *zone_source_load(const char *path, struct dname apex, enum report_level unfit,
                              struct report *report, struct error *err);
