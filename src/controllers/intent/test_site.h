#pragma once

// For tests of this folder: a project's objects in memory, with the shared model, in which the
// decisions on a publication are carried out at once. Comes behind cmocka.h.

#include <stdlib.h>

#include "controllers/test_bench.h"

#include "base/labels.h"
#include "base/test_arena.h"
#include "controllers/intent/intent_controller.h"
#include "controllers/intent/model.h"
#include "controllers/intent/publication.h"
#include "controllers/intent/update_record.h"
#include "dns/record.h"
#include "kinds/dnsendpoint/dnsendpoint_kind.h"
#include "kinds/dnspublication/dnspublication_kind.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"
#include "kinds/edgecluster/edgecluster_kind.h"
#include "kinds/logicalcloud/logicalcloud_kind.h"
#include "kinds/namespace/namespace_kind.h"
#include "kinds/node/node_kind.h"
#include "kinds/service/service_kind.h"
#include "kinds/trafficgroupintent/trafficgroupintent_kind.h"

enum { BEGAN_S = 1767088800, OBJECTS_MAX = 32768 };

struct site_object {
    const struct kind *kind;
    struct value *tree; // NULL: it is gone
    const struct object *object;
};
static struct site {
    void *model;
    struct site_object *objects;
    size_t count;
    int64_t now_ms;
    unsigned version;
    size_t writes; // of DNSEndpoints by the last reconciliation
    struct decision decision;
    bool has_no_endpoints;   // the server does not have the kind
    const char *answer;      // of all clusters that are asked, as JSON; NULL: they are silent
    const char *text_answer; // of those asked for a TXT record set; NULL: as of the others
    const char *silence;     // why they cannot be asked; NULL: they can
    struct error refused;    // why the store refuses objects; no text: it does not
    // What becomes of claims, and what became of those of the last decision.
    enum receipt_state outcome;
    const char *failure;        // of the last attempt, or NULL
    const char *failure_reason; // NULL: the server does not answer
    struct receipt *receipts;
    size_t receipt_count;
    const struct object *shared; // a DNSEndpoint of another publication of the share group, or NULL
    const char *namespace_;      // of what is put
} site;

static void model_wake(void *context, const struct object *object)
{
    (void)context;
    (void)object;
}
static void model_programmed(void *context, const struct object *object, int64_t took_ms)
{
    (void)context;
    (void)object;
    (void)took_ms;
}

static inline int open_site(void **state)
{
    int code = set_up(state);
    site =
        (struct site){.now_ms = BEGAN_S * 1000LL, .outcome = RECEIPT_SETTLED, .namespace_ = "shop"};
    site.objects = mem_new_array(struct site_object, OBJECTS_MAX);
    site.model = intent_shared_model.make(NULL);
    return code;
}

// Before the next one; the secrets of its backends are its own.
static inline void drop_decision(void)
{
    for (size_t i = 0; i < site.decision.backend_count; i++)
        secret_unref(site.decision.backends[i].secret);
    site.decision = (struct decision){0};
}

static inline int close_site(void **state)
{
    drop_decision();
    for (size_t i = 0; i < site.count; i++)
        object_unref(site.objects[i].object);
    free(site.objects);
    intent_shared_model.free(site.model);
    return tear_down(state);
}

// OBJECTS_MAX: there is none.
static inline size_t index_at_site(const struct kind *kind, const char *name)
{
    for (size_t i = 0; i < site.count; i++)
        if (site.objects[i].tree && site.objects[i].kind == kind &&
            text_is(value_text_at(site.objects[i].tree, "metadata.name"), name))
            return i;
    return OBJECTS_MAX;
}

// NULL: there is none.
static inline struct site_object *find_at_site(const struct kind *kind, const char *name)
{
    size_t at = index_at_site(kind, name);
    return at == OBJECTS_MAX ? NULL : &site.objects[at];
}

// One that is there.
static inline struct site_object *at_site(const struct kind *kind, const char *name)
{
    size_t at = index_at_site(kind, name);
    must(at < site.count);
    return &site.objects[at];
}

static inline bool is_of_model(const struct kind *kind)
{
    for (const struct kind *const *of = intent_shared_model.kinds; *of; of++)
        if (*of == kind)
            return true;
    return false;
}

static inline const char *finalizer_of(const struct kind *kind)
{
    return kind == &dnspublication_kind    ? INTENT_PUBLICATION_FINALIZER
           : kind == &dnsupdaterecord_kind ? UPDATE_RECORD_FINALIZER
                                           : NULL;
}

static inline void store_tree(struct site_object *stored)
{
    value_put_text(arena, stored->tree, "metadata.resourceVersion",
                   arena_printf(arena, "%u", ++site.version));
    object_unref(stored->object);
    stored->object = object_new(stored->kind, finalizer_of(stored->kind), stored->tree);
    if (is_of_model(stored->kind))
        intent_shared_model.put(site.model, stored->object);
}

// Adds an object or replaces what stands in it beside metadata. It is in the site's namespace,
// which is a project.
static inline struct site_object *put(const struct kind *kind, const char *name,
                                      const char *members)
{
    size_t at = index_at_site(kind, name);
    if (at == OBJECTS_MAX) {
        must(site.count < OBJECTS_MAX);
        at = site.count++;
        site.objects[at] = (struct site_object){.kind = kind};
    }
    struct site_object *stored = &site.objects[at];
    stored->tree =
        quote(arena, arena_printf(arena,
                                  "{'metadata':{'name':'%s','uid':'00000000-0000-0000-0000-%012zu',"
                                  "'creationTimestamp':'2025-12-30T10:%02zu:00Z'},%s}",
                                  name, (size_t)(stored - site.objects) + 1,
                                  (size_t)(stored - site.objects) % 60, members));
    if (kind->is_namespaced)
        value_put_text(arena, stored->tree, "metadata.namespace", site.namespace_);
    value_put_int(arena, stored->tree, "metadata.generation", 1);
    store_tree(stored);
    return stored;
}

static inline void put_away(const struct kind *kind, const char *name)
{
    struct site_object *stored = at_site(kind, name);
    if (is_of_model(kind))
        intent_shared_model.remove(site.model, stored->object);
    stored->tree = NULL;
}

// ---- a reconciliation ---------------------------------------------------------------------------

static inline void carry_out(const struct object_want *want)
{
    const char *name = arena_copy(arena, want->key.name.at, want->key.name.len);
    site.writes++;
    if (!want->tree) {
        put_away(want->key.kind, name);
        return;
    }
    struct site_object *stored = index_at_site(want->key.kind, name) == OBJECTS_MAX
                                     ? put(want->key.kind, name, "'spec':{}")
                                     : at_site(want->key.kind, name);
    struct text namespace_ = want->key.namespace_; // it may go with the object that it is of
    value_put_text(arena, stored->tree, "metadata.namespace",
                   arena_copy(arena, namespace_.at, namespace_.len));
    const struct value *before = value_copy(arena, value_find(stored->tree, "spec"));
    stored->tree = value_merge_patch(arena, stored->tree, value_copy(arena, want->tree));
    int64_t generation = value_int_at(stored->tree, "metadata.generation", 0);
    if (!value_equal(before, value_find(stored->tree, "spec")))
        value_put_int(arena, stored->tree, "metadata.generation", generation + 1);
    store_tree(stored);
}

static inline void settle_model(void)
{
    const struct shared_model_calls calls = {model_wake, model_programmed, NULL};
    intent_shared_model.settle(site.model, site.now_ms, &calls);
}

static inline const struct object **list_endpoints(size_t *count)
{
    const struct object **found = arena_new_array(arena, const struct object *, site.count + 1);
    *count = 0;
    for (size_t i = 0; i < site.count; i++)
        if (site.objects[i].tree && site.objects[i].kind == &dnsendpoint_kind)
            found[(*count)++] = site.objects[i].object;
    return found;
}

// Those of one publication.
static inline const struct object **list_endpoints_of(const struct object *publication,
                                                      size_t *count)
{
    size_t all;
    const struct object **found = list_endpoints(&all);
    const char *place = arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(object_namespace(publication)),
                                     TEXT_ARGS(object_name(publication)));
    *count = 0;
    for (size_t i = 0; i < all; i++) {
        struct dnsendpoint endpoint;
        dnsendpoint_unpack(arena, object_spec(found[i]), &endpoint);
        if (text_is(text_map_find(endpoint.annotations, endpoint.annotation_count,
                                  TEXT(INTENT_PUBLICATION_ANNOTATION)),
                    place))
            found[(*count)++] = found[i];
    }
    return found;
}

// As the engine tells questions apart.
static inline struct content_id id_of_question(const struct question *question)
{
    struct content_id about = value_content_id(question->about);
    struct content_hash hash = content_hash_new();
    content_hash_add_text(&hash, text_of(question->backend));
    content_hash_add_text(&hash, text_of(question->name));
    content_hash_add(&hash, about.words[0]);
    content_hash_add(&hash, about.words[1]);
    return content_hash_end(&hash);
}

// Of the questions of the last decision.
static inline const struct answer_view *list_answers(void)
{
    struct answer_view *answers =
        arena_new_array(arena, struct answer_view, site.decision.question_count + 1);
    for (size_t i = 0; i < site.decision.question_count; i++) {
        struct error *why = arena_new_of(arena, struct error);
        answers[i].id = id_of_question(&site.decision.questions[i]);
        answers[i].is_ok = !site.silence;
        if (site.silence || site.answer)
            answers[i].answered_ms = site.now_ms;
        bool is_text = text_is(value_text_at(site.decision.questions[i].about, "type"), "TXT");
        if (site.answer)
            answers[i].value =
                quote(arena, is_text && site.text_answer ? site.text_answer : site.answer);
        if (site.silence)
            error_set(why, FAULT_AGAIN, "ServerUnreachable", "%s", site.silence);
        answers[i].error = site.silence ? why : NULL;
    }
    return answers;
}

static inline void take_claims(void)
{
    site.receipts = arena_new_array(arena, struct receipt, site.decision.claim_count + 1);
    site.receipt_count = site.decision.claim_count;
    for (size_t i = 0; i < site.decision.claim_count; i++) {
        const struct claim_want *claim = &site.decision.claims[i];
        struct receipt *receipt = &site.receipts[i];
        *receipt = (struct receipt){.registry = claim->registry,
                                    .type = claim->set.type,
                                    .domain = claim->set.domain,
                                    .subdomain = claim->set.subdomain,
                                    .intent = claim->intent,
                                    .state = claim->is_suspended ? RECEIPT_SUSPENDED : site.outcome,
                                    .attempts = site.failure ? 1 : 0};
        if (site.failure)
            error_set(&receipt->error, FAULT_AGAIN,
                      site.failure_reason ? site.failure_reason : "ServerUnreachable", "%s",
                      site.failure);
    }
}

// "SET A www example.org 192.0.2.1; ..." of the last decision's claims.
static inline const char *claimed(void)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < site.decision.claim_count; i++) {
        const struct claim_want *claim = &site.decision.claims[i];
        buffer_printf(&out, "%s%s%s %s %.*s %.*s", out.len ? "; " : "",
                      claim->is_suspended ? "suspended " : "",
                      claim->intent == CLAIM_SET ? "SET" : "REMOVE",
                      record_type_name(claim->set.type), TEXT_ARGS(claim->set.subdomain),
                      TEXT_ARGS(claim->set.domain));
        for (size_t at = 0; at < claim->set.value_count; at++)
            buffer_printf(&out, " %.*s", TEXT_ARGS(claim->set.values[at]));
    }
    return arena_copy(arena, out.at ? out.at : "", out.len);
}

// One decision on the publication.
static inline void decide_site(const char *name)
{
    struct input_objects inputs[PUBLICATION_INPUTS] = {0};
    struct site_object *subject = at_site(&dnspublication_kind, name);
    settle_model();
    inputs[PUBLICATION_ENDPOINTS].objects =
        list_endpoints_of(subject->object, &inputs[PUBLICATION_ENDPOINTS].count);
    inputs[PUBLICATION_ENDPOINTS].is_synced = true;
    inputs[PUBLICATION_ENDPOINTS].is_missing = site.has_no_endpoints;
    inputs[PUBLICATION_SHARED].objects = &site.shared;
    inputs[PUBLICATION_SHARED].count = site.shared != NULL;
    const struct snapshot snapshot = {
        .arena = arena,
        .namespace_ = object_namespace(subject->object),
        .name = text_of(name),
        .subject = subject->object,
        .inputs = inputs,
        .answers = list_answers(),
        .answer_count = site.decision.question_count,
        .receipts = site.receipts,
        .receipt_count = site.receipt_count,
        .now_ms = site.now_ms,
        .refused = *site.refused.text ? &site.refused : NULL,
        .is_leading = true,
    };
    drop_decision();
    publication_decide(&snapshot, site.model, &site.decision);
    take_claims();
}

static inline bool has_row(const struct value *status, const char *list, struct text name)
{
    value_each (row, value_list_at(status, list))
        if (text_equal(value_text_at(row, "name"), name))
            return true;
    return false;
}

// What stands is in the status at every step, so that whoever looks there knows that it is used; of
// names, as many as it can hold.
static inline void check_memory(const struct object *publication, const struct value *status)
{
    size_t count;
    bool is_full = value_count(value_list_at(status, "names")) >= DNSPUBLICATION_NAMES_MAX;
    const struct object **found = list_endpoints_of(publication, &count);
    for (size_t i = 0; i < count; i++) {
        struct dnsendpoint endpoint;
        dnsendpoint_unpack(arena, object_spec(found[i]), &endpoint);
        must(has_row(status, "records",
                     text_map_find(endpoint.annotations, endpoint.annotation_count,
                                   TEXT(INTENT_RECORD_ANNOTATION))));
        for (size_t at = 0; at < endpoint.count; at++)
            must(is_full || has_row(status, "names", endpoint.endpoints[at].dns_name));
    }
}

// Carries decisions out until there is nothing left to do.
static inline void reconcile_site(const char *name)
{
    site.writes = 0;
    for (int round = 0; round < 8; round++) {
        size_t before = site.writes;
        size_t asked = site.decision.question_count;
        size_t claims_before = site.receipt_count;
        struct site_object *subject = at_site(&dnspublication_kind, name);
        decide_site(name);
        bool is_new = site.decision.finalizer == FINALIZER_ADD && !subject->object->has_finalizer;
        for (size_t i = 0; i < site.decision.object_count; i++)
            carry_out(&site.decision.objects[i]);
        subject = at_site(&dnspublication_kind, name);
        if (is_new)
            value_put(arena, subject->tree, "metadata.finalizers",
                      quote(arena, "['" INTENT_PUBLICATION_FINALIZER "']"));
        bool is_claimed = site.receipt_count != claims_before;
        bool is_asked = site.decision.question_count != asked;
        bool is_same = !site.decision.status ||
                       value_equal(value_find(subject->tree, "status"), site.decision.status);
        if (site.decision.status)
            value_set(subject->tree, TEXT("status"), value_copy(arena, site.decision.status));
        store_tree(subject);
        check_memory(subject->object, value_find(subject->tree, "status"));
        if (!is_new && !is_claimed && !is_asked && is_same && site.writes == before)
            return;
    }
    must(false); // the decisions do not come to an end
}

static inline const struct value *status_of(const char *name)
{
    return value_find(at_site(&dnspublication_kind, name)->tree, "status");
}

// "A 192.0.2.1 192.0.2.2 300; AAAA ..." of all DNSEndpoints, by name.
static inline const char *published(void)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < site.count; i++) {
        if (!site.objects[i].tree || site.objects[i].kind != &dnsendpoint_kind)
            continue;
        value_each (set, value_list_at(site.objects[i].tree, "spec.endpoints")) {
            buffer_printf(&out, "%s%.*s", out.len ? "; " : "",
                          TEXT_ARGS(value_text_at(set, "recordType")));
            value_each (target, value_list_at(set, "targets"))
                buffer_printf(&out, " %.*s", TEXT_ARGS(value_text(target)));
            buffer_printf(&out, " %lld", (long long)value_int_at(set, "recordTTL", 0));
        }
    }
    return arena_copy(arena, out.at ? out.at : "", out.len);
}

// ---- a usual project ----------------------------------------------------------------------------

#define RECORD                                                                                     \
    "'provider':'rfc2136','external-dns-parameters':{'rfc2136-host':'192.0.2.53',"                 \
    "'rfc2136-insecure':true,'domain-filter':'example.org'%s}"

// Name servers are asked only where a test is about that.
static inline const char *unverified_unless(const char *members)
{
    return strstr(members, "'verify'") ? "" : ",'verify':{'enabled':false}";
}

static inline void put_record(const char *parameters, const char *more)
{
    put(&dnsupdaterecord_kind, "public",
        arena_printf(arena, "'spec':{" RECORD "%s%s}",
                     strstr(parameters, "rfc2136-zone")
                         ? parameters
                         : arena_printf(arena, ",'rfc2136-zone':'example.org'%s", parameters),
                     more, unverified_unless(more)));
}

static inline void put_cluster(const char *pairs, const char *more)
{
    put(&edgecluster_kind, "vendor.one",
        arena_printf(arena,
                     "'spec':{'provider':'vendor','cluster':'one','kvPairs':[{'name':'a','kv':["
                     "%s]}]%s}",
                     pairs, more));
}

static inline void put_cloud(const char *load_balancer, const char *list)
{
    put(&logicalcloud_kind, "cloud",
        arena_printf(arena,
                     "'spec':{'clusterReferences':[{'name':'r','clusterProvider':'vendor',"
                     "'cluster':'one'%s}],'kvPairs':[{'name':'dns-update-record-list','kv':[%s]}]}",
                     load_balancer, list));
}

static inline void put_intent(const char *name, const char *more)
{
    put(&trafficgroupintent_kind, "traffic",
        arena_printf(arena,
                     "'spec':{'compositeApp':'app','version':'v1','deploymentIntentGroup':'dig',"
                     "'inbound':[{'name':'in','app':'front','appLabel':'app=front',"
                     "'serviceName':'web','port':443,'protocol':'TCP','externalName':'%s',"
                     "'externalSupport':true%s}]}",
                     name, more));
}

static inline void put_publication(const char *more)
{
    struct site_object *there = find_at_site(&dnspublication_kind, "dig");
    struct value *status = there ? value_find(there->tree, "status") : NULL;
    struct value *finalizers = there ? value_at(there->tree, "metadata.finalizers", NULL) : NULL;
    there = put(&dnspublication_kind, "dig",
                arena_printf(arena,
                             "'spec':{'compositeApp':'app','version':'v1',"
                             "'deploymentIntentGroup':'dig','logicalCloud':'cloud',%s}",
                             more));
    if (status)
        value_set(there->tree, TEXT("status"), status);
    if (finalizers)
        value_put(arena, there->tree, "metadata.finalizers", finalizers);
    store_tree(there);
}

#define LISTED "{'one':'public'}"
#define WANTED "'desired':'Instantiated'"

static inline void put_usual(void)
{
    put_record("", "");
    put_cluster("{'dnsPublicAddress':'198.51.100.7'}", "");
    put_cloud("", LISTED);
    put_intent("shop.example.org", "");
    put_publication(WANTED);
}
