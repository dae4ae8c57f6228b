#include "base/digest.h"
#include "controllers/ingress/ingress_controller.h"
#include "controllers/ingress/routes.h"
#include "controllers/ingress/sources.h"
#include "kinds/ingress/ingress_kind.h"

enum {
    SECOND_MS = 1000,
    RETRY_BASE_MS = 30 * SECOND_MS,
    RETRY_MAX_MS = 300 * SECOND_MS,
    RETRY_SLOW_MS = 3600 * SECOND_MS,
};

// ---- backends -----------------------------------------------------------------------------------

// A hash of the settings that is the same over a restart.
static uint64_t basis_of(const struct value *config)
{
    AUTO_BUFFER json = {0};
    value_write_json(&json, config);
    return digest_word(json.at, json.len);
}

static bool open_backend(const void *settings, size_t at, struct arena *arena,
                         struct backend_want *want, struct question *question)
{
    const struct pihole_targets *targets = settings;
    if (!targets || targets->access.is_left_alone || at >= targets->count)
        return false;
    const struct pihole_target *target = &targets->items[at];
    const struct value *config = pihole_target_config(arena, targets, target);
    *want = (struct backend_want){
        .name = target->backend,
        .provider = "pihole",
        .registry = target->url,
        .config = config,
        .secret = secret_ref(target->secret),
        .max_in_flight = 1,
        .retry_base_ms = RETRY_BASE_MS,
        .retry_max_ms = RETRY_MAX_MS,
        .retry_attempts = UINT32_MAX,
        .retry_slow_ms = RETRY_SLOW_MS,
        .basis = basis_of(config),
        .guard_percent = (unsigned)targets->max_delete_percent,
    };
    *question = (struct question){.name = "health", .good_for_ms = targets->verify_s * SECOND_MS};
    return true;
}

// ---- the controller -----------------------------------------------------------------------------

static const struct change_messages words = INGRESS_WORDS("ingress");

static const char *const follow_and_patch[] = {"get", "list", "watch", "patch", NULL};
static const struct kube_right rights[] = {
    {.group = "networking.k8s.io",
     .resource = "ingresses",
     .verbs = follow_and_patch,
     .scope = RIGHT_OBJECTS,
     .why = "Hosts for Pi-hole; the annotations that say what became of them."},
    {0},
};

static const struct controller_metric metrics[] = {
    {.name = "signpost_ingresses",
     .title = "Ingresses",
     .type = METRIC_KEYS,
     .reason = "Synced",
     .help = "Ingresses that are registered for Pi-hole, by what keeps their names from being "
             "served, or Synced, or Pending."},
    {.name = "signpost_ingress_retries_total",
     .title = "Changes for Ingresses that were sent again",
     .type = METRIC_RETRIES,
     .help = "Changes for Ingresses that were sent again, by the worst problem of each."},
};

static const struct dependency dependencies[] = {
    {.type = RUNS_WITH_OPTION, .option = "pihole-url"},
    {.type = RUNS_WITH_OPTION, .option = "pihole-targets"},
    {.type = BRINGS_CONTROLLER, .controller = &httproute_controller},
    {.type = BRINGS_CONTROLLER, .controller = &grpcroute_controller},
    {.type = BRINGS_CONTROLLER, .controller = &tlsroute_controller},
    {.type = BRINGS_CONTROLLER, .controller = &tcproute_controller},
    {.type = DEPENDS_END},
};

const struct controller ingress_controller = {
    .name = "ingress",
    .dependencies = dependencies,
    .keeps_ledgers = true,
    .kind = &ingress_kind,
    .finalizer = PIHOLE_FINALIZER,
    .open = open_backend,
    .messages = &words,
    .decide = sources_decide,
    .admit = sources_admit,
    .rights = rights,
    .settings_size = sizeof(struct pihole_targets),
    .metrics = metrics,
    .metric_count = COUNT_OF(metrics),
};
