#include <stdarg.h>

#include "base/digest.h"
#include "controllers/ingress/ingress_controller.h"
#include "controllers/ingress/turn.h"
#include "kinds/ingress/ingress_kind.h"

enum {
    SECOND_MS = 1000,
    RETRY_BASE_MS = 30 * SECOND_MS,
    RETRY_MAX_MS = 300 * SECOND_MS,
    RETRY_SLOW_MS = 3600 * SECOND_MS,
};

// ---- what an Ingress asks for -------------------------------------------------------------------

static void gather(struct arena *arena, const struct ingress_spec *spec, struct source *out)
{
    struct text *addresses = arena_new_array(arena, struct text, spec->point_count + 1);
    *out = (struct source){
        .word = "ingress",
        .skipped = "ingress skipped (no hosts)",
        .hosts = spec->hosts,
        .host_count = spec->host_count,
        .addresses = addresses,
        .wishes = spec->pihole,
    };
    for (size_t i = 0; i < spec->point_count; i++)
        if (spec->points[i].ip.len)
            addresses[out->address_count++] = spec->points[i].ip;
}

static void decide(const struct snapshot *snapshot, void *memo, struct verdict *out)
{
    struct source source;
    struct ingress_spec spec;
    const struct object *subject = snapshot->subject;
    (void)memo;
    if (subject) {
        ingress_unpack(snapshot->arena, object_spec(subject), &spec);
        gather(snapshot->arena, &spec, &source);
        pihole_ours_unpack(snapshot->arena, object_spec(subject), object_ours(subject),
                           &source.ours);
    }
    turn_decide(snapshot, subject ? &source : NULL, out);
}

// ---- admission ----------------------------------------------------------------------------------

static bool is_ours(struct text key)
{
    static const char *const ours[] = {PIHOLE_MANAGED_HOSTS, PIHOLE_MANAGED_BY, PIHOLE_STATUS};
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (text_is(key, ours[i]))
            return true;
    return false;
}

static bool is_wish(struct text key)
{
    for (size_t i = 0; i < PIHOLE_WISHES; i++)
        if (text_is(key, pihole_wish_names[i]))
            return true;
    return false;
}

// Where it stands, for who reads a file.
static void warn_at(struct findings *findings, const struct value *item, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void warn_at(struct findings *findings, const struct value *item, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    size_t count = findings->count;
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    findings_add(findings, FINDING_WARNING, "", "%s", text.at);
    if (findings->count == count || !item)
        return;
    findings->items[count].line = item->key_line;
    findings->items[count].column = item->key_column;
}

static void warn_of_unknown(const struct value *annotations, struct findings *findings)
{
    value_each (item, annotations && annotations->type == VALUE_MAP ? annotations : NULL) {
        if (!text_starts(item->key, PIHOLE_PREFIX) || is_ours(item->key) || is_wish(item->key))
            continue;
        AUTO_BUFFER clean = {0};
        const char *nearest = text_nearest(item->key, pihole_wish_names, PIHOLE_WISHES);
        text_clean(&clean, item->key, sizeof PIHOLE_PREFIX + 63);
        warn_at(findings, item, "%s is not known and does nothing%s%s%s", clean.at,
                nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    }
}

static void admit(const struct value *object, struct findings *findings)
{
    struct pack_writer writer;
    struct ingress_spec spec;
    struct source source;
    struct wants wants;
    struct problems problems = {.arena = findings->arena};
    const struct value *annotations = value_at(object, "metadata.annotations", NULL);
    pack_init(&writer);
    ingress_kind.pack_spec(object, &writer);
    ingress_unpack(findings->arena, buffer_text(&writer.out), &spec);
    gather(findings->arena, &spec, &source);
    wants_read(findings->arena, &source, &pihole_targets_defaults,
               value_text_at(object, "metadata.namespace"), &wants, &problems);
    for (size_t i = 0; i < problems.count; i++) {
        const struct problem *problem = &problems.items[i];
        const struct value *item =
            problem->annotation ? value_find(annotations, problem->annotation) : NULL;
        warn_at(findings, item, "%s: %s", problem->reason, problem->text);
    }
    pack_done(&writer);
    warn_of_unknown(annotations, findings);
}

// ---- lanes --------------------------------------------------------------------------------------

static bool open_lane(const void *settings, size_t at, struct arena *arena, struct lane_want *want,
                      struct question *question)
{
    const struct pihole_targets *targets = settings;
    if (!targets || targets->is_left_alone || at >= targets->count)
        return false;
    const struct pihole_target *target = &targets->items[at];
    const struct value *config = pihole_target_config(arena, targets, target);
    *want = (struct lane_want){
        .name = target->lane,
        .provider = "pihole",
        .book = target->url,
        .config = config,
        .secret = secret_ref(target->secret),
        .max_in_flight = 1,
        .retry_base_ms = RETRY_BASE_MS,
        .retry_max_ms = RETRY_MAX_MS,
        .retry_attempts = UINT32_MAX,
        .retry_slow_ms = RETRY_SLOW_MS,
        .basis = value_hash(config),
        .guard_percent = (unsigned)targets->max_delete_percent,
    };
    *question = (struct question){.name = "health", .good_for_ms = targets->verify_s * SECOND_MS};
    return true;
}

// ---- the controller -----------------------------------------------------------------------------

static const struct change_words words = {
    .started = "reconcile started",
    .created = "dns record created",
    .updated = "dns record updated",
    .deleted = "dns record deleted",
    .failed = "pihole api error",
    .object = "ingress",
    .name = "host",
    .address = "ip",
    .target = "target",
    .before = "old_",
    .after = "new_",
    .lane = "pihole",
    .prefix = "pihole-",
};

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
     .type = METRIC_KEYS,
     .help = "Ingresses that are registered for Pi-hole, by what keeps their names from being "
             "served, or Synced, or Pending."},
    {.name = "signpost_ingress_retries_total",
     .type = METRIC_RETRIES,
     .help = "Changes for Ingresses that were sent again, by the worst that is told of them."},
};

static const char *const joins_with[] = {"pihole-url", "pihole-targets", NULL};

const struct controller ingress_controller = {
    .name = "ingress",
    .joins_with = joins_with,
    .keeps_ledgers = true,
    .kind = &ingress_kind,
    .finalizer = PIHOLE_FINALIZER,
    .open = open_lane,
    .words = &words,
    .decide = decide,
    .admit = admit,
    .rights = rights,
    .settings_size = sizeof(struct pihole_targets),
    .metrics = metrics,
    .metric_count = COUNT_OF(metrics),
};
