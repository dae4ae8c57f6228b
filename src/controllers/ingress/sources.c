#include "controllers/ingress/sources.h"

#include <stdarg.h>

#include "controllers/ingress/reconcile.h"
#include "kinds/gateway/gateway_kind.h"
#include "kinds/ingress/ingress_kind.h"
#include "kinds/route/route_kind.h"

// ---- Ingresses ----------------------------------------------------------------------------------

static void input_ingress(struct arena *arena, struct text body, const struct input_objects *inputs,
                          struct source *out)
{
    struct ingress_spec spec;
    (void)inputs;
    ingress_unpack(arena, body, &spec);
    struct text *addresses = arena_new_array(arena, struct text, spec.point_count + 1);
    for (size_t i = 0; i < spec.point_count; i++)
        if (spec.points[i].ip.len)
            addresses[out->address_count++] = spec.points[i].ip;
    out->hosts = spec.hosts;
    out->host_count = spec.host_count;
    out->addresses = addresses;
    out->annotations = spec.pihole;
    out->no_addresses = "the status has no address yet";
}

// ---- routes -------------------------------------------------------------------------------------

static void wants_gateways(const struct object *subject, struct strings *out)
{
    struct route_spec spec;
    route_unpack(out->arena, object_spec(subject), &spec);
    for (size_t i = 0; i < spec.gateway_count; i++)
        strings_add(out, "%.*s", TEXT_ARGS(spec.gateways[i]));
}

const struct input sources_gateways = {.kind = &gateway_kind, .lookup_keys = wants_gateways};

static size_t count_addresses(struct arena *arena, const struct input_objects *gateways)
{
    size_t all = 0;
    for (size_t i = 0; i < gateways->count; i++) {
        size_t count;
        gateway_unpack(arena, object_spec(gateways->objects[i]), &count);
        all += count;
    }
    return all;
}

static void input_addresses(struct arena *arena, const struct input_objects *gateways,
                            struct source *out)
{
    struct text *addresses =
        arena_new_array(arena, struct text, count_addresses(arena, gateways) + 1);
    out->addresses = addresses;
    for (size_t i = 0; i < gateways->count; i++) {
        size_t count;
        const struct text *its = gateway_unpack(arena, object_spec(gateways->objects[i]), &count);
        for (size_t k = 0; k < count; k++)
            addresses[out->address_count++] = its[k];
    }
}

static const char *why_no_addresses(struct arena *arena, const struct route_spec *spec,
                                    const struct input_objects *gateways)
{
    if (!spec->gateway_count)
        return "it names no Gateway: write addresses into pihole.io/target-ip";
    if (gateways && gateways->unreadable)
        return arena_printf(arena, "its Gateways cannot be read: %s", gateways->unreadable);
    return "no Gateway that it names has an address yet";
}

static void input_route(struct arena *arena, struct text body, const struct input_objects *inputs,
                        struct source *out)
{
    struct route_spec spec;
    route_unpack(arena, body, &spec);
    out->hosts = spec.hosts;
    out->host_count = spec.host_count;
    out->annotations = spec.pihole;
    out->no_addresses = why_no_addresses(arena, &spec, inputs);
    if (inputs)
        input_addresses(arena, inputs, out);
}

// ---- any of them --------------------------------------------------------------------------------

struct row {
    const struct kind *kind;
    const char *word;
    const char *skipped;
    const char *no_hosts;
    // `inputs`: as of the snapshot; NULL: nothing is known of others.
    void (*input)(struct arena *arena, struct text body, const struct input_objects *inputs,
                  struct source *out);
};

#define NO_HOST "it names no host"

static const struct row rows[] = {
    {&ingress_kind, "ingress", "ingress skipped (no hosts)", NO_HOST, input_ingress},
    {&httproute_kind, "httproute", "httproute skipped (no hosts)", NO_HOST, input_route},
    {&grpcroute_kind, "grpcroute", "grpcroute skipped (no hosts)", NO_HOST, input_route},
    {&tlsroute_kind, "tlsroute", "tlsroute skipped (no hosts)", NO_HOST, input_route},
    {&tcproute_kind, "tcproute", "tcproute skipped (no hosts)",
     "a TCPRoute has no host names: write them into pihole.io/hosts", input_route},
};

static const struct row *row_of(struct text kind)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (text_is(kind, rows[i].kind->name))
            return &rows[i];
    return NULL;
}

static void fill_source(struct arena *arena, const struct row *row, struct text body,
                        const struct input_objects *inputs, struct source *out)
{
    *out = (struct source){.word = row->word, .skipped = row->skipped, .no_hosts = row->no_hosts};
    row->input(arena, body, inputs, out);
}

void sources_decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct source source;
    const struct object *subject = snapshot->subject;
    const struct row *row = subject ? row_of(text_of(subject->kind->name)) : NULL;
    (void)model;
    if (row) {
        fill_source(snapshot->arena, row, object_spec(subject), snapshot->inputs, &source);
        pihole_managed_unpack(snapshot->arena, object_spec(subject), object_managed(subject),
                              &source.ours);
    }
    reconcile_decide(snapshot, row ? &source : NULL, out);
}

// ---- admission ----------------------------------------------------------------------------------

static bool is_ours(struct text key)
{
    static const char *const ours[] = {PIHOLE_MANAGED_HOSTS, PIHOLE_SATISFIED_HOSTS,
                                       PIHOLE_MANAGED_BY, PIHOLE_STATUS};
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (text_is(key, ours[i]))
            return true;
    return false;
}

static bool is_annotation(struct text key)
{
    for (size_t i = 0; i < PIHOLE_ANNOTATIONS; i++)
        if (text_is(key, pihole_annotation_names[i]))
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
        if (!text_starts(item->key, PIHOLE_PREFIX) || is_ours(item->key) ||
            is_annotation(item->key))
            continue;
        AUTO_BUFFER clean = {0};
        const char *nearest = text_nearest(item->key, pihole_annotation_names, PIHOLE_ANNOTATIONS);
        text_clean(&clean, item->key, sizeof PIHOLE_PREFIX + 63);
        warn_at(findings, item, "%s is not known and does nothing%s%s%s", clean.at,
                nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    }
}

static void warn_of_annotations(const struct row *row, const struct value *object,
                                const struct value *annotations, struct findings *findings)
{
    struct pack_writer writer;
    struct source source;
    struct wants wants;
    struct problems problems = {.arena = findings->arena};
    pack_init(&writer);
    row->kind->pack_spec(object, &writer);
    fill_source(findings->arena, row, buffer_text(&writer.out), NULL, &source);
    wants_read(findings->arena, &source, &pihole_targets_defaults,
               value_text_at(object, "metadata.namespace"), &wants, &problems);
    for (size_t i = 0; i < problems.count; i++) {
        const struct problem *problem = &problems.items[i];
        const struct value *item =
            problem->annotation ? value_find(annotations, problem->annotation) : NULL;
        warn_at(findings, item, "%s: %s", problem->reason, problem->text);
    }
    pack_done(&writer);
}

void sources_admit(const struct value *object, struct findings *findings)
{
    const struct row *row = row_of(value_text_at(object, "kind"));
    const struct value *annotations = value_at(object, "metadata.annotations", NULL);
    if (row)
        warn_of_annotations(row, object, annotations, findings);
    warn_of_unknown(annotations, findings);
}
