#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/value.h"
#include "controllers/dnsclass/dnsclass_controller.h"
#include "controllers/dnsrecord/dnsrecord_controller.h"
#include "controllers/ingress/targets.h"
#include "controllers/zone/zone_controller.h"
#include "engine/engine.h"
#include "engine/published.h"
#include "frontends/primary/primary_frontend.h"
#include "model/model_api.h"
#include "model/model_backend.h"
#include "model/model_dns.h"
#include "model/model_server.h"

// What a scenario plays on: the virtual loop, the servers, a store of either sort, and one Signpost
// that can be dropped and started anew at any moment while all else stays.

enum stage_store { STAGE_CLUSTER, STAGE_FOLDER };
enum { STAGE_CONTROLLERS_MAX = 16, STAGE_CONFIGS_MAX = 16, STAGE_NAMESERVERS_MAX = 4 };

struct stage_note {
    bool is_warning;
    char *object; // "default/web"
    char *reason;
    char *text;
};

struct stage_file {
    char *name;
    char *content;
};

struct stage_server {
    char *name;
    const struct model_host *host;
    struct model_webhook *webhook; // one of the two
    struct model_pihole *pihole;
};

// The zones configuration, and what it was before: servers of before still hold on to those.
struct stage_zones {
    struct zone_settings settings;
    const char *nameservers[STAGE_NAMESERVERS_MAX + 1];
    struct zones_config *configs[STAGE_CONFIGS_MAX];
    size_t config_count;
    const struct zones_config *config; // in force; NULL: none
};

// Which Pi-holes names go to, from the next start on.
struct stage_piholes {
    struct pihole_targets targets;
    struct arena *arena; // of all that there were
};

struct stage {
    enum stage_store store_kind;
    bool renews_models;
    bool is_recorded; // and what was recorded is done again at the end of each process
    size_t crowd;     // see struct engine_options
    struct loop *loop;
    struct model_backend *backend;
    struct model_dns *dns;
    struct disk *disk;
    struct random *random;
    struct log *log;
    struct buffer log_text;
    struct world world;
    struct dnsclass_settings class_settings;
    struct dnsrecord_settings record_settings;
    struct stage_zones zones;
    struct stage_piholes piholes;
    char *owner;      // as it was known last
    bool allow_empty; // folder: of the next start

    struct store_kind *kinds;
    size_t kind_count;
    struct model_server *server; // cluster
    struct model_api *api;       // cluster
    char *dir;                   // folder
    char *refused;               // why the last manifest was refused (cluster)
    struct store *inner;
    struct store *store;
    const struct controller *controllers[STAGE_CONTROLLERS_MAX]; // with those that they bring
    size_t controller_count;
    struct recorder *recorder; // NULL: nothing is recorded
    struct buffer replayed;    // what came out otherwise than it was recorded
    struct engine *engine;     // NULL: not started
    struct primary_frontend *frontend;
    bool is_started;        // shall run
    bool is_without_lease;  // cluster: another process has it
    bool may_fail_to_start; // and is started again when the clock moves on next
    unsigned starts;

    struct stage_file *files;
    size_t file_count;
    size_t file_capacity;
    struct stage_server *servers;
    size_t server_count;
    size_t server_capacity;
    struct stage_note *notes;
    size_t note_count;
    size_t note_capacity;
    size_t next_request; // of those not looked at yet
    int64_t last_request_ms;
    int64_t sync_period_ms;
    size_t last_items;
    int64_t last_sample; // of the metric that was looked at last
};

struct stage *stage_new(enum stage_store store_kind, bool renews_models);
void stage_free(struct stage *stage);

// The process starts, dies, and starts again.
bool stage_start(struct stage *stage, struct error *err);
void stage_crash(struct stage *stage); // the lease is free, as if it had run out by then
void stage_kill(struct stage *stage);  // the lease stays
// The clock moves on; what dies on the way is started again.
bool stage_advance(struct stage *stage, int64_t ms, struct error *err);

// The parts of a process, for those that play beside it (replica.h). They take the zones
// configuration of now.
struct engine *stage_engine_new(const struct stage *stage, const struct world *world,
                                struct store *store);
struct primary_frontend *stage_frontend_new(const struct stage *stage, struct loop *loop,
                                            struct engine *engine);

// What a dry run beside it would send, and what is in the way of the rest: a line for each, sorted.
//     "+ www.example.com A 192.0.2.1", "- www.example.com A", "! DNSRecord default/late Conflict"
bool stage_plan(struct stage *stage, struct buffer *out, struct error *err);
// A companion that a setting switches on runs from the next start on.
void stage_switch_on(struct stage *stage, const char *setting);
void stage_settings(const struct stage *stage, const void *settings[STAGE_CONTROLLERS_MAX]);

// The zones configuration from now on, as YAML; secretFile has the secret itself.
bool stage_set_zones(struct stage *stage, const char *yaml, struct error *err);

// The Pi-holes that names go to from the next start on: a document of PIHOLE_TARGETS, in which
// tokenEnv has the token itself; all else is as in `settings`.
bool stage_set_piholes(struct stage *stage, const struct pihole_targets *settings, const char *yaml,
                       struct error *err);
// Whose is what this Signpost makes; "" before it was known for the first time.
const char *stage_owner(const struct stage *stage);

// The file has this content from now on; NULL removes it.
// Somebody edits a field of an object that Signpost made.
bool stage_edit(struct stage *stage, const struct object_ref_key *key, const char *path,
                const char *value, struct error *err);
bool stage_write_file(struct stage *stage, const char *name, const char *content,
                      struct error *err);
const char *stage_file(const struct stage *stage, const char *name); // NULL: none

// NULL: there is none of that name and sort.
struct model_webhook *stage_server(const struct stage *stage, const char *name);
struct model_pihole *stage_pihole(const struct stage *stage, const char *name);
const struct model_host *stage_host(const struct stage *stage, const char *name);
struct model_webhook *stage_add_server(struct stage *stage, const char *name, const char *url);
struct model_pihole *stage_add_pihole(struct stage *stage, const char *name, const char *url,
                                      const char *password);
// What was done to any server that nobody may do, or NULL.
const char *stage_breach(const struct stage *stage);

// The whole object in the arena, as the store shows it, or NULL.
struct value *stage_find(struct stage *stage, struct arena *arena,
                         const struct object_ref_key *key);
// As it is published; NULL: it is not known.
const struct published_zone *stage_zone(const struct stage *stage, struct dname apex);
const char *stage_zone_state(const struct published_zone *zone); // "held", "served", "frozen"

// "DNSRecord/default/web" or "DNSClass/home"; false: no such kind.
bool stage_key(const struct stage *stage, struct arena *arena, const char *text,
               struct object_ref_key *out);
// Everything that shall be the same at the end of every run: records at the servers and what the
// objects say, without times, counts of attempts, uids and versions.
void stage_dump(struct stage *stage, struct buffer *out);
// Every request with its time: the same whether models are renewed or not.
void stage_dump_requests(const struct stage *stage, struct buffer *out);
