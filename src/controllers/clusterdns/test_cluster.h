#pragma once

// For tests of this folder: a cluster of a few objects in memory, in which the controller's
// decisions are carried out at once. Comes behind cmocka.h.

#include <stdlib.h>

#include "controllers/test_bench.h"

#include "base/labels.h"
#include "base/test_arena.h"
#include "controllers/clusterdns/clusterdns_controller.h"
#include "controllers/clusterdns/reconcile.h"
#include "kinds/network/network_kind.h"
#include "kinds/serviceaccount/serviceaccount_kind.h"
#include "kinds/servicemonitor/servicemonitor_kind.h"

enum { BEGAN_S = 1767088800, OBJECTS_MAX = 64, PODS_MAX = 48 };

struct stored {
    const struct kind *kind;
    struct value *tree; // NULL: it is gone
};

static struct test_cluster {
    struct clusterdns_settings settings;
    struct stored objects[OBJECTS_MAX];
    size_t count;
    int64_t now_ms;
    unsigned version;
    struct decision decision;
    struct question *questions; // of the last decision
    size_t question_count;
    size_t writes; // of the last reconciliation
    // What each address answers: an id, "" for another answer; absent: silence.
    struct {
        const char *address;
        const char *id;
    } answers[PODS_MAX];
    struct {
        const char *path;
        const char *text;
    } files[2];                  // of mode file
    const char *unreadable;      // why ConfigMaps and Deployments can't be read, or NULL
    bool prunes_config;          // the CRD has no status.config
    bool prunes_copies;          // it has no status.config.copies
    bool has_monitors;           // the Prometheus operator's kinds are there
    const struct error *refused; // what the store said of the last writes, or NULL
    const char *reload_hash;     // that all metrics show, or NULL
    int64_t reload_failures;
    const char *failing; // the upstream that all metrics show as failing; "": none; NULL: silence
} cluster;

static const struct clusterdns_settings usual_settings = {
    .mode = "auto",
    .layout = "plain",
    .update = "rolling",
    .preflight = "off",
    .deadline_ms = 180 * 1000,
    .dns_namespace = "openshift-dns",
    .ca_namespace = "openshift-config",
    .dns_port = 5353,
    .has_fragments = true,
};

static inline int open_cluster(void **state)
{
    int code = set_up(state);
    cluster = (struct test_cluster){.settings = usual_settings, .now_ms = BEGAN_S * 1000LL};
    return code;
}

static inline struct stored *find_stored(const struct kind *kind, const char *namespace_,
                                         const char *name)
{
    for (size_t i = 0; i < cluster.count; i++) {
        struct stored *stored = &cluster.objects[i];
        if (stored->tree && stored->kind == kind &&
            text_is(value_text_at(stored->tree, "metadata.name"), name) &&
            (!kind->is_namespaced ||
             text_is(value_text_at(stored->tree, "metadata.namespace"), namespace_)))
            return stored;
    }
    return NULL;
}

static inline void touch(struct value *tree)
{
    value_put_text(arena, tree, "metadata.resourceVersion",
                   arena_printf(arena, "%u", ++cluster.version));
}

// Adds an object or replaces it. `members` are those of its tree but for metadata.
static inline struct value *put(const struct kind *kind, const char *namespace_, const char *name,
                                const char *metadata, const char *members)
{
    struct stored *stored = find_stored(kind, namespace_, name);
    if (!stored) {
        must(cluster.count < OBJECTS_MAX);
        stored = &cluster.objects[cluster.count++];
    }
    struct value *tree =
        quote(arena, arena_printf(arena,
                                  "{'metadata':{'name':'%s','uid':'00000000-0000-0000-0000-%012zu',"
                                  "'creationTimestamp':'2025-12-30T10:%02zu:00Z'%s%s}%s%s}",
                                  name, (size_t)(stored - cluster.objects) + 1,
                                  (size_t)(stored - cluster.objects) % 60, *metadata ? "," : "",
                                  metadata, *members ? "," : "", members));
    if (kind->is_namespaced)
        value_put_text(arena, tree, "metadata.namespace", namespace_);
    value_put_int(arena, tree, "metadata.generation", 1);
    touch(tree);
    *stored = (struct stored){kind, tree};
    return tree;
}

static inline void remove_stored(const struct kind *kind, const char *namespace_, const char *name)
{
    struct stored *stored = find_stored(kind, namespace_, name);
    if (stored)
        stored->tree = NULL;
}

static inline struct value *put_text_map(const char *namespace_, const char *name, const char *key,
                                         const char *text)
{
    struct value *tree = put(&config_map_kind, namespace_, name, "", "");
    value_put(arena, tree, arena_printf(arena, "data[%s]", key),
              value_make_text(arena, text_of(arena_copy_text(arena, text))));
    return tree;
}

static inline const char *data_of(const char *namespace_, const char *name, const char *key)
{
    const struct stored *stored = find_stored(&config_map_kind, namespace_, name);
    struct text text = {0};
    if (stored)
        text = value_text(value_find(value_find(stored->tree, "data"), key));
    return text.at ? arena_copy(arena, text.at, text.len) : NULL;
}

// ---- a reconciliation ---------------------------------------------------------------------------

static inline const struct object *object_of(const struct stored *stored)
{
    return object_new(stored->kind, stored->kind == &dns_kind ? DNS_FINALIZER : NULL, stored->tree);
}

static inline bool is_looked_up(const struct input *input, const struct object *subject,
                                const struct object *object)
{
    AUTO_BUFFER name = {0};
    struct strings wanted = {.arena = arena, .settings = &cluster.settings};
    if (input->labels && !labels_match(input->labels, object_spec(object)))
        return false;
    if (!input->lookup_keys)
        return true;
    input->lookup_keys(subject, &wanted);
    object_write_name(&name, object);
    for (size_t i = 0; i < wanted.count; i++)
        if (!strcmp(wanted.items[i], name.at))
            return true;
    return false;
}

static inline void fill_input(const struct input *input, const struct object *subject,
                              struct input_objects *out)
{
    const struct object **found = arena_new_array(arena, const struct object *, OBJECTS_MAX);
    bool is_unreadable = input->kind == &config_map_kind || input->kind == &deployment_kind;
    *out = (struct input_objects){.objects = found,
                                  .is_synced = true,
                                  .is_missing =
                                      input->kind == &servicemonitor_kind && !cluster.has_monitors,
                                  .unreadable = is_unreadable ? cluster.unreadable : NULL};
    for (size_t i = 0; i < cluster.count; i++) {
        if (!cluster.objects[i].tree || cluster.objects[i].kind != input->kind)
            continue;
        const struct object *object = object_of(&cluster.objects[i]);
        if (is_looked_up(input, subject, object))
            found[out->count++] = object;
        else
            object_unref(object);
    }
}

static inline void drop_input(struct input_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        object_unref(objects->objects[i]);
}

static inline const char *answer_of(const char *address)
{
    for (size_t i = 0; i < PODS_MAX && cluster.answers[i].address; i++)
        if (!strcmp(cluster.answers[i].address, address))
            return cluster.answers[i].id;
    return NULL;
}

// Reads a file, or gives it that text.
static inline struct value *read_file_there(const struct question *question)
{
    struct text path = value_text_at(question->about, "path");
    struct text text = value_text_at(question->about, "text");
    struct value *value = value_make(arena, VALUE_MAP);
    size_t at = 0;
    while (cluster.files[at].path && !text_is(path, cluster.files[at].path))
        must(++at < COUNT_OF(cluster.files));
    cluster.files[at].path = arena_copy(arena, path.at, path.len);
    if (text.at)
        cluster.files[at].text = arena_copy(arena, text.at, text.len);
    if (cluster.files[at].text)
        value_put_text(arena, value, "text", cluster.files[at].text);
    return value;
}

// As the engine tells questions apart.
static inline struct content_id id_of(const struct question *question)
{
    struct content_id about = value_content_id(question->about);
    struct content_hash hash = content_hash_new();
    content_hash_add_text(&hash, text_of(question->backend));
    content_hash_add_text(&hash, text_of(question->name));
    content_hash_add(&hash, about.words[0]);
    content_hash_add(&hash, about.words[1]);
    return content_hash_end(&hash);
}

static inline void answer(const struct question *question, struct answer_view *out)
{
    static const struct error silence = {.fault = FAULT_AGAIN, .text = "no answer"};
    struct text address = value_text_at(question->about, "address");
    bool is_metrics = !strcmp(question->name, "metrics");
    const char *id =
        is_metrics ? cluster.failing : answer_of(arena_copy(arena, address.at, address.len));
    const char *const failing[] = {id && *id ? id : NULL, NULL};
    struct value *value = value_make(arena, VALUE_MAP);
    if (is_metrics) {
        value_put_texts(arena, value, "failing", failing);
        value_put_int(arena, value, "reloadFailures", cluster.reload_failures);
        if (cluster.reload_hash)
            value_put_text(arena, value, "reloadHash", cluster.reload_hash);
    } else if (id && *id)
        value_put_text(arena, value, "id", id);
    bool is_file = !strcmp(question->name, "corefile");
    *out = (struct answer_view){
        .id = id_of(question),
        .backend = question->backend,
        .name = question->name,
        .answered_ms = cluster.now_ms,
        .is_ok = id || is_file,
        .value = is_file ? read_file_there(question)
                 : id    ? value
                         : NULL,
        .error = id || is_file ? NULL : &silence,
    };
}

// One write, as the store would do it.
static inline void carry_out(const struct object_want *want)
{
    const char *namespace_ = arena_copy(
        arena, want->key.namespace_.at ? want->key.namespace_.at : "", want->key.namespace_.len);
    const char *name = arena_copy(arena, want->key.name.at, want->key.name.len);
    struct stored *stored = find_stored(want->key.kind, namespace_, name);
    cluster.writes++;
    must((stored != NULL) == (want->seen != NULL));
    if (!want->tree) {
        stored->tree = NULL;
        return;
    }
    struct value *before = stored ? stored->tree : put(want->key.kind, namespace_, name, "", "");
    stored = find_stored(want->key.kind, namespace_, name);
    stored->tree = value_merge_patch(arena, before, value_copy(arena, want->tree));
    touch(stored->tree);
}

static inline void keep_finalizer(struct stored *subject)
{
    struct value *list = value_make(arena, VALUE_LIST);
    if (cluster.decision.finalizer == FINALIZER_LEAVE)
        return;
    if (cluster.decision.finalizer == FINALIZER_ADD)
        value_append(list, value_make_text(arena, TEXT(DNS_FINALIZER)));
    else if (value_at(subject->tree, "metadata.deletionTimestamp", NULL)) {
        subject->tree = NULL;
        return;
    }
    value_put(arena, subject->tree, "metadata.finalizers", list);
}

static inline void apply_status(struct stored *subject)
{
    if (!cluster.decision.status)
        return;
    struct value *before = value_find(subject->tree, "status");
    struct value *after =
        value_merge_patch(arena, before, value_copy(arena, cluster.decision.status));
    if (cluster.prunes_config)
        value_remove(after, "config");
    if (cluster.prunes_copies)
        value_remove(value_find(after, "config"), "copies");
    cluster.writes += !before || !value_equal(before, after);
    value_set(subject->tree, TEXT("status"), after);
}

// Returns how much was written.
static inline size_t reconcile_once(const char *name)
{
    struct input_objects objects[INPUTS];
    struct stored *stored = find_stored(&dns_kind, "", name);
    must(stored);
    const struct object *subject = object_of(stored);
    struct answer_view *answers =
        arena_new_array(arena, struct answer_view, cluster.question_count + 1);
    for (size_t i = 0; i < INPUTS; i++)
        fill_input(&clusterdns_controller.inputs[i], subject, &objects[i]);
    for (size_t i = 0; i < cluster.question_count; i++)
        answer(&cluster.questions[i], &answers[i]);
    const struct snapshot snapshot = {
        .arena = arena,
        .namespace_ = TEXT(""),
        .name = text_of(name),
        .subject = subject,
        .inputs = objects,
        .answers = answers,
        .answer_count = cluster.question_count,
        .now_ms = cluster.now_ms,
        .settings = &cluster.settings,
        .refused = cluster.refused,
        .is_leading = true,
    };
    cluster.decision = (struct decision){0};
    cluster.writes = 0;
    clusterdns_controller.decide(&snapshot, NULL, &cluster.decision);
    cluster.questions = cluster.decision.questions;
    cluster.question_count = cluster.decision.question_count;
    for (size_t i = 0; i < cluster.decision.object_count; i++)
        carry_out(&cluster.decision.objects[i]);
    keep_finalizer(stored);
    if (stored->tree)
        apply_status(stored);
    for (size_t i = 0; i < INPUTS; i++)
        drop_input(&objects[i]);
    object_unref(subject);
    return cluster.writes;
}

// Until nothing is left to write or to ask for.
static inline void settle(const char *name)
{
    size_t asked;
    for (unsigned i = 0; find_stored(&dns_kind, "", name); i++) {
        asked = cluster.question_count;
        if (!reconcile_once(name) && asked == cluster.question_count)
            return;
        must(i < 20);
    }
}

// ---- what is to be seen -------------------------------------------------------------------------

static inline const struct value *status_of(const char *name)
{
    const struct stored *stored = find_stored(&dns_kind, "", name);
    return stored ? value_find(stored->tree, "status") : NULL;
}

static inline const char *config_id(void)
{
    struct text id = value_text_at(status_of(DNS_MAIN_NAME), "config.id");
    return arena_copy(arena, id.at ? id.at : "", id.len);
}

static inline const char *now(const char *type)
{
    return condition_of(arena, status_of(DNS_MAIN_NAME), type);
}

static inline void put_main(const char *spec)
{
    struct stored *before = find_stored(&dns_kind, "", DNS_MAIN_NAME);
    struct value *status = before ? value_find(before->tree, "status") : NULL;
    struct value *finalizers = before ? value_at(before->tree, "metadata.finalizers", NULL) : NULL;
    struct value *tree =
        put(&dns_kind, "", DNS_MAIN_NAME, "", arena_printf(arena, "'spec':{%s}", spec));
    if (status)
        value_set(tree, TEXT("status"), status);
    if (finalizers)
        value_put(arena, tree, "metadata.finalizers", finalizers);
    cluster.now_ms += 5000;
}

// A Pod of the DaemonSet, or one of kube-dns.
static inline void put_pod(bool is_own, const char *name, const char *ip)
{
    put(&pod_kind, is_own ? "openshift-dns" : "kube-system", name,
        is_own ? "'labels':{'dns.operator.openshift.io/daemonset-dns':'default'}"
               : "'labels':{'k8s-app':'kube-dns'}",
        arena_printf(arena,
                     "'spec':{'nodeName':'n1'},'status':{'phase':'Running','podIP':'%s',"
                     "'conditions':[{'type':'Ready','status':'True'}]}",
                     ip));
}

static inline void set_answer(size_t at, const char *address, const char *id)
{
    cluster.answers[at].address = address;
    cluster.answers[at].id = id;
}

#define SERVER(zones, upstreams)                                                                   \
    "{'zones':[" zones "],'forwardPlugin':{'upstreams':[" upstreams "]}}"
#define STORY(name) cmocka_unit_test_setup_teardown(name, open_cluster, tear_down)
