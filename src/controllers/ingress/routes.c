#include "controllers/ingress/routes.h"

#include "controllers/ingress/ingress_controller.h"
#include "controllers/ingress/sources.h"
#include "kinds/pihole_annotations.h"
#include "kinds/route/route_kind.h"

static const char *const follow[] = {"get", "list", "watch", NULL};
static const char *const follow_and_patch[] = {"get", "list", "watch", "patch", NULL};

#define RIGHTS(plural)                                                                             \
    {                                                                                              \
        {.group = "gateway.networking.k8s.io",                                                     \
         .resource = plural,                                                                       \
         .verbs = follow_and_patch,                                                                \
         .scope = RIGHT_OBJECTS,                                                                   \
         .is_dispensable = true,                                                                   \
         .why = "Hosts for Pi-hole, where the Gateway API is installed; the annotations that say " \
                "what became of them."},                                                           \
            {.group = "gateway.networking.k8s.io",                                                 \
             .resource = "gateways",                                                               \
             .verbs = follow,                                                                      \
             .scope = RIGHT_OBJECTS,                                                               \
             .is_dispensable = true,                                                               \
             .why = "Addresses of routes whose pihole.io/target-ip is status."},                   \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

static const struct kube_right httproute_rights[] = RIGHTS("httproutes");
static const struct kube_right grpcroute_rights[] = RIGHTS("grpcroutes");
static const struct kube_right tlsroute_rights[] = RIGHTS("tlsroutes");
static const struct kube_right tcproute_rights[] = RIGHTS("tcproutes");

#define METRICS(word, Name)                                                                        \
    {                                                                                              \
        {.name = "signpost_" word "s",                                                             \
         .title = Name "s",                                                                        \
         .type = METRIC_KEYS,                                                                      \
         .reason = "Synced",                                                                       \
         .help = Name "s that are registered for Pi-hole, by what keeps their names from being "   \
                      "served, or Synced, or Pending."},                                           \
        {                                                                                          \
            .name = "signpost_" word "_retries_total",                                             \
            .title = "Changes for " Name "s that were sent again", .type = METRIC_RETRIES,         \
            .help = "Changes for " Name "s that were sent again, by the worst problem of "         \
                    "each.",                                                                       \
        }                                                                                          \
    }

static const struct controller_metric httproute_metrics[] = METRICS("httproute", "HTTPRoute");
static const struct controller_metric grpcroute_metrics[] = METRICS("grpcroute", "GRPCRoute");
static const struct controller_metric tlsroute_metrics[] = METRICS("tlsroute", "TLSRoute");
static const struct controller_metric tcproute_metrics[] = METRICS("tcproute", "TCPRoute");

static const struct change_messages httproute_words = INGRESS_WORDS("httproute");
static const struct change_messages grpcroute_words = INGRESS_WORDS("grpcroute");
static const struct change_messages tlsroute_words = INGRESS_WORDS("tlsroute");
static const struct change_messages tcproute_words = INGRESS_WORDS("tcproute");

static const struct dependency dependencies[] = {
    {.type = REUSES_BACKENDS, .controller = &ingress_controller},
    {.type = DEPENDS_END},
};

#define ROUTE(word)                                                                                \
    {                                                                                              \
        .name = #word, .kind = &word##_kind, .finalizer = PIHOLE_FINALIZER,                        \
        .inputs = &sources_gateways, .input_count = 1, .dependencies = dependencies,               \
        .messages = &word##_words, .decide = sources_decide, .admit = sources_admit,               \
        .rights = word##_rights, .metrics = word##_metrics,                                        \
        .metric_count = COUNT_OF(word##_metrics)                                                   \
    }

const struct controller httproute_controller = ROUTE(httproute);
const struct controller grpcroute_controller = ROUTE(grpcroute);
const struct controller tlsroute_controller = ROUTE(tlsroute);
const struct controller tcproute_controller = ROUTE(tcproute);
