#pragma once

#include "commands/option.h"
#include "commands/process.h"
#include "commands/setup.h"
#include "dns/zones_config.h"
#include "engine/engine.h"
#include "store/store.h"

// The zones configuration of `signpost run` (its file, followed as it changes) and the hidden
// primary that its servers ask. Resident, one a process.

// Who serves no zones has use for the first alone.
enum { ZONES_LOOK_OPTION_COUNT = 1, ZONES_OPTION_COUNT = 3 };
extern const struct option
    zones_options[ZONES_OPTION_COUNT]; // zones-config, primary-listen, zone-file-dir

// The configuration that --zones-config names, its keys pretended: nobody is talked to. True with
// *out NULL: none is named.
bool zones_config_look(const struct invocation *invocation, struct zones_config **out,
                       struct error *err);
// The same of what such a file has in it; `path` for its faults, which live in the arena.
struct zones_config *zones_config_parse(struct arena *arena, const char *path, struct text content,
                                        struct error *err);
// Points the controllers' settings at the configuration, behind a pointer that stays. Not here: it
// is another process that has it, so what it says is not known.
void zones_config_use(const struct setup *setup, const struct zones_config *const *config,
                      bool is_here);

struct zones_place;
// Reads the file, if one is given. NULL: the text says what is wrong with it.
struct zones_place *zones_place_new(struct process_world *process,
                                    const struct invocation *invocation, struct error *err);
void zones_place_free(struct zones_place *place); // accepts NULL; after the engine
// What settings point to: behind it the configuration of now, or NULL.
const struct zones_config *const *zones_place_config(const struct zones_place *place);
// Opens the frontend once there is a group of servers. Fails with the address that will never be
// listened at; one that is taken or not there is tried again, and a check fails meanwhile.
bool zones_place_open(struct zones_place *place, struct engine *engine, bool is_cluster,
                      struct error *err);
void zones_place_close(struct zones_place *place);  // the frontend; before the engine
void zones_place_reload(struct zones_place *place); // SIGHUP
// Lines of /readyz: `zones-config`, which never makes the whole unready as the configuration before
// stays in use, and `primary`, once there is a group of servers. Texts live until the next turn of
// the loop.
size_t zones_place_checks(const struct zones_place *place, struct store_check *out,
                          size_t capacity);
void zones_place_write_metrics(const struct zones_place *place, struct buffer *out);
