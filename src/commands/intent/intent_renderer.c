#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "commands/intent/intent_subject.h"
#include "commands/report.h"
#include "controllers/intent/intent_controller.h"
#include "controllers/intent/model.h"
#include "controllers/intent/publication.h"
#include "kinds/dnspublication/dnspublication_kind.h"
#include "store/folder/document.h"

// The DNSEndpoints of the publications in manifests, as their controller decides: once for the
// status that is written ahead, and once on top of it.

struct rendered { // an object of the shared model
    const struct kind *kind;
    const struct object *object; // own reference
    struct value *tree;
    struct spot place;
};
struct intent_renderer {
    struct arena *arena;
    struct report *report;
    void *model;
    struct rendered *items;
    size_t count;
    size_t capacity;
};

static void *make(const struct invocation *invocation, struct report *report)
{
    struct intent_renderer *renderer = mem_new_of(struct intent_renderer);
    *renderer = (struct intent_renderer){
        .arena = invocation->arena, .report = report, .model = intent_shared_model.make(NULL)};
    return renderer;
}

static void free_renderer(void *item)
{
    struct intent_renderer *renderer = item;
    intent_shared_model.free(renderer->model);
    for (size_t i = 0; i < renderer->count; i++)
        object_unref(renderer->items[i].object);
    free(renderer->items);
    free(renderer);
}

static bool takes(const struct kind *kind)
{
    for (const struct kind *const *of = intent_shared_model.kinds; *of; of++)
        if (*of == kind)
            return true;
    return false;
}

// ---- objects ------------------------------------------------------------------------------------

// Gives the shared model the object as a store would hold it.
static void renew_object(const struct intent_renderer *renderer, struct rendered *rendered)
{
    struct object *object = object_new(rendered->kind, NULL, rendered->tree);
    object->has_finalizer = rendered->kind == &dnspublication_kind;
    intent_shared_model.put(renderer->model, object);
    object_unref(rendered->object);
    rendered->object = object;
}

static void put(void *item, const struct document *document, const char *path)
{
    struct intent_renderer *renderer = item;
    struct value *tree = value_copy(renderer->arena, document->tree);
    mem_reserve(&renderer->items, &renderer->capacity, renderer->count + 1);
    struct rendered *rendered = &renderer->items[renderer->count];
    *rendered = (struct rendered){
        .kind = document->kind, .tree = tree, .place = {path, document->line, document->column}};
    value_remove(tree, "status");
    if (document->kind->is_namespaced && !value_text_at(tree, "metadata.namespace").len)
        value_put_text(renderer->arena, tree, "metadata.namespace", "default");
    value_put_text(renderer->arena, tree, "metadata.uid",
                   arena_printf(renderer->arena, "%zu", renderer->count));
    value_put_text(renderer->arena, tree, "metadata.resourceVersion", "1");
    renderer->count++;
    renew_object(renderer, rendered);
}

static void wake(void *context, const struct object *object)
{
    (void)context;
    (void)object;
}

static void count_programmed(void *context, const struct object *object, int64_t took_ms)
{
    (void)context;
    (void)object;
    (void)took_ms;
}

static void settle(const struct intent_renderer *renderer)
{
    const struct shared_model_calls calls = {wake, count_programmed, NULL};
    intent_shared_model.settle(renderer->model, 0, &calls);
}

// ---- decisions ----------------------------------------------------------------------------------

static void decide(const struct intent_renderer *renderer, const struct rendered *rendered,
                   struct decision *out)
{
    struct input_objects inputs[PUBLICATION_INPUTS] = {0};
    for (size_t i = 0; i < PUBLICATION_INPUTS; i++)
        inputs[i].is_synced = true;
    const struct snapshot snapshot = {
        .arena = renderer->arena,
        .namespace_ = object_namespace(rendered->object),
        .name = object_name(rendered->object),
        .subject = rendered->object,
        .inputs = inputs,
        .is_leading = true,
    };
    *out = (struct decision){0};
    publication_decide(&snapshot, renderer->model, out);
}

static void write_ahead(const struct intent_renderer *renderer, struct rendered *rendered)
{
    struct decision decision;
    decide(renderer, rendered, &decision);
    if (decision.status)
        value_set(rendered->tree, TEXT("status"), value_copy(renderer->arena, decision.status));
}

static int compare_wants(const void *a, const void *b)
{
    const struct object_want *left = a;
    const struct object_want *right = b;
    int order = text_compare(left->key.namespace_, right->key.namespace_);
    return order ? order : text_compare(left->key.name, right->key.name);
}

// The object as a manifest. The uid of its owner is known to the store alone.
static void write_object(struct arena *arena, const struct object_want *want, struct buffer *out)
{
    struct value *tree = value_make(arena, VALUE_MAP);
    value_put_text(arena, tree, "apiVersion",
                   arena_printf(arena, "%s/%s", want->key.kind->group, want->key.kind->version));
    value_put_text(arena, tree, "kind", want->key.kind->name);
    value_put(arena, tree, "metadata.name", value_make_text(arena, want->key.name));
    value_put(arena, tree, "metadata.namespace", value_make_text(arena, want->key.namespace_));
    tree = value_merge_patch(arena, tree, value_copy(arena, want->tree));
    value_remove(value_find(tree, "metadata"), "ownerReferences");
    buffer_add_text(out, "---\n");
    value_write_yaml(out, tree, 0);
}

// ---- what is in the way -------------------------------------------------------------------------

// A name without an address may be complete in a cluster, so that it is no error here.
static enum report_level level_of(struct text state)
{
    bool is_pending = text_is(state, dnspublication_name_states[NAME_ADDRESS_PENDING]);
    return is_pending ? REPORT_WARNING : REPORT_ERROR;
}

static void report_name(const struct intent_renderer *renderer, const struct rendered *rendered,
                        const struct value *name)
{
    struct text reason = value_text_at(name, "reason");
    struct text message = value_text_at(name, "message");
    struct text shown = value_text_at(name, "name");
    if (reason.len && !value_count(value_list_at(name, "targets")))
        report_add(renderer->report, level_of(value_text_at(name, "state")), rendered->place,
                   "%.*s: %.*s: %.*s", TEXT_ARGS(shown), TEXT_ARGS(reason), TEXT_ARGS(message));
    else if (reason.len)
        report_add(renderer->report, REPORT_WARNING, rendered->place, "%.*s: %.*s: %.*s",
                   TEXT_ARGS(shown), TEXT_ARGS(reason), TEXT_ARGS(message));
}

static void report_condition(const struct intent_renderer *renderer,
                             const struct rendered *rendered, const struct value *condition,
                             enum report_level level)
{
    struct text reason = value_text_at(condition, "reason");
    struct text message = value_text_at(condition, "message");
    report_add(renderer->report, level, rendered->place, "%.*s: %.*s", TEXT_ARGS(reason),
               TEXT_ARGS(message));
}

// A publication may publish nothing because somebody wants it so, which is no error.
static enum report_level level_of_reason(struct text reason)
{
    static const enum reason harmless[] = {REASON_NOT_INSTANTIATED, REASON_NO_PROVIDER,
                                           REASON_ADDRESS_PENDING, REASON_PROGRESSING};
    for (size_t i = 0; i < COUNT_OF(harmless); i++)
        if (text_is(reason, reason_name(harmless[i])))
            return REPORT_WARNING;
    return REPORT_ERROR;
}

static void report_findings(const struct intent_renderer *renderer, const struct rendered *rendered,
                            const struct decision *decision)
{
    bool is_reported = false;
    value_each (name, value_list_at(decision->status, "names")) {
        is_reported |= value_text_at(name, "reason").len > 0;
        report_name(renderer, rendered, name);
    }
    value_each (condition, value_list_at(decision->status, "conditions")) {
        struct text type = value_text_at(condition, "type");
        if (text_is(value_text_at(condition, "status"), "True"))
            continue;
        if (text_is(type, "Accepted"))
            report_condition(renderer, rendered, condition, REPORT_ERROR);
        else if (text_is(type, "Published") && !is_reported && !decision->object_count)
            report_condition(renderer, rendered, condition,
                             level_of_reason(value_text_at(condition, "reason")));
    }
}

// ---- rendering ----------------------------------------------------------------------------------

static void render_publication(const struct intent_renderer *renderer,
                               const struct rendered *rendered, struct buffer *out)
{
    struct decision decision;
    decide(renderer, rendered, &decision);
    if (decision.object_count)
        qsort(decision.objects, decision.object_count, sizeof *decision.objects, compare_wants);
    for (size_t i = 0; i < decision.object_count; i++)
        write_object(renderer->arena, &decision.objects[i], out);
    report_findings(renderer, rendered, &decision);
}

static size_t render(void *item, struct buffer *out)
{
    struct intent_renderer *renderer = item;
    size_t count = 0;
    settle(renderer);
    for (size_t i = 0; i < renderer->count; i++)
        if (renderer->items[i].kind == &dnspublication_kind)
            write_ahead(renderer, &renderer->items[i]);
    for (size_t i = 0; i < renderer->count; i++)
        renew_object(renderer, &renderer->items[i]);
    settle(renderer);
    for (size_t i = 0; i < renderer->count; i++) {
        if (renderer->items[i].kind != &dnspublication_kind)
            continue;
        render_publication(renderer, &renderer->items[i], out);
        count++;
    }
    return count;
}

const struct manifest_renderer intent_renderer = {
    .make = make,
    .free = free_renderer,
    .takes = takes,
    .put = put,
    .render = render,
};
