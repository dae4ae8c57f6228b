#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "base/digest.h"
#include "controllers/dnsrecord/dnsrecord_controller.h"
#include "controllers/test_bench.h"
#include "kinds/dnsclass/dnsclass.h"
#include "kinds/dnsrecord/dnsrecord.h"

// One record, the classes and backends around it, and what the registry says. Each test changes
// what it is about, decides once, and looks at the decision.

enum {
    NOW_S = 1767088800, // 2025-12-30T10:00:00Z
    STARTED_S = NOW_S - 1000,
    CLASSES_MAX = 4,
};
#define NOW "2025-12-30T10:00:00Z"
#define BEFORE "2025-12-30T09:00:00Z"
#define HOME "http://127.0.0.1:7100"
#define OTHER "http://127.0.0.1:7200"
#define WWW                                                                                        \
    "'type':'A','domain':'example.com','subdomain':'www','dnsClassRef':{'name':'home'},"           \
    "'values':['192.0.2.1']"

static struct world {
    struct arena *arena;
    // The record.
    const char *spec;
    const char *annotations; // beside claims
    const char *claims;      // JSON in single quotes, or NULL
    const char *status;
    const char *deleted;  // time, or NULL
    const char *previous; // spec before, or NULL
    bool has_finalizer;
    bool is_lost;
    unsigned generation;
    // Around it.
    const char *class_names[CLASSES_MAX];
    const char *class_specs[CLASSES_MAX];
    struct backend_view backends[CLASSES_MAX];
    bool has_backend[CLASSES_MAX];
    size_t class_count;
    bool is_unsynced;
    struct receipt receipts[16];
    size_t receipt_count;
    int64_t now_ms;
    struct dnsrecord_settings settings;
    struct decision decision;
    const struct object *objects[32];
    size_t object_count;
} world;

static struct backend_view *add_class(const char *name, const char *spec, const char *registry)
{
    size_t at = world.class_count++;
    must(at < CLASSES_MAX);
    world.class_names[at] = name;
    world.class_specs[at] = spec;
    world.has_backend[at] = true;
    world.backends[at] = (struct backend_view){
        .name = arena_printf(world.arena, "class-%s", name), .is_open = true, .registry = registry};
    return &world.backends[at];
}

static int set_up(void **state)
{
    (void)state;
    world = (struct world){
        .arena = arena_new(),
        .spec = WWW,
        .generation = 1,
        .now_ms = NOW_S * 1000LL,
        .settings = dnsrecord_defaults,
    };
    add_class("home", "'server':'" HOME "/'", HOME);
    return 0;
}

static void free_objects(void)
{
    while (world.object_count)
        object_unref(world.objects[--world.object_count]);
}

static int tear_down(void **state)
{
    (void)state;
    free_objects();
    arena_free(world.arena);
    return 0;
}

static const struct object *object_made(const struct kind *kind, const char *json)
{
    const char *finalizer = kind == &dnsrecord_kind ? DNSRECORD_FINALIZER : NULL;
    const struct object *object = object_new(kind, finalizer, quote(world.arena, json));
    must(world.object_count < COUNT_OF(world.objects));
    world.objects[world.object_count++] = object;
    return object;
}

static const char *escaped(const char *json)
{
    AUTO_BUFFER out = {0};
    AUTO_BUFFER text = {0};
    for (; *json; json++)
        buffer_add_char(&text, *json == '\'' ? '"' : *json);
    value_write_json_text(&out, buffer_text(&text));
    return arena_copy(world.arena, out.at, out.len);
}

static const struct object *record_made(const char *spec, unsigned generation)
{
    const char *claims = world.claims ? arena_printf(world.arena, ",'" DNSRECORD_CLAIMS "':%s",
                                                     escaped(world.claims))
                                      : "";
    return object_made(
        &dnsrecord_kind,
        arena_printf(world.arena,
                     "{'apiVersion':'dns.homelab.mortenolsen.pro/v1alpha1','kind':'DNSRecord',"
                     "'metadata':{'name':'web','namespace':'shop','generation':%u,"
                     "'uid':'00000000-0000-4000-8000-000000000001','resourceVersion':'7',"
                     "'creationTimestamp':'" BEFORE "'%s%s%s,'finalizers':[%s],"
                     "'annotations':{'x':'y'%s%s}},'spec':{%s},'status':{%s}}",
                     generation, world.deleted ? ",'deletionTimestamp':'" : "",
                     world.deleted ? world.deleted : "", world.deleted ? "'" : "",
                     world.has_finalizer ? "'" DNSRECORD_FINALIZER "'" : "",
                     world.annotations ? world.annotations : "", claims, spec,
                     world.status ? world.status : ""));
}

static bool is_named(const struct strings *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

static const struct backend_view *backend_named(const char *name)
{
    for (size_t i = 0; i < world.class_count; i++)
        if (world.has_backend[i] && strcmp(world.backends[i].name, name) == 0)
            return &world.backends[i];
    return NULL;
}

static const struct decision *decide(void)
{
    const struct controller *controller = &dnsrecord_controller;
    struct object *record = (struct object *)(uintptr_t)record_made(world.spec, world.generation);
    record->is_lost = world.is_lost;
    struct strings names = {.arena = world.arena};
    struct strings backend_names = {.arena = world.arena};
    controller->inputs[0].lookup_keys(record, &names);
    controller->backends->lookup_keys(record, &backend_names);
    const struct object *classes[CLASSES_MAX];
    struct input_objects input_objects = {.objects = classes, .is_synced = !world.is_unsynced};
    for (size_t i = 0; i < world.class_count; i++)
        if (world.class_specs[i] && is_named(&names, world.class_names[i]))
            classes[input_objects.count++] = object_made(
                &dnsclass_kind,
                arena_printf(world.arena,
                             "{'apiVersion':'dns.homelab.mortenolsen.pro/v1alpha1','kind':"
                             "'DNSClass','metadata':{'name':'%s'},'spec':{%s}}",
                             world.class_names[i], world.class_specs[i]));
    const struct backend_view *views[8];
    for (size_t i = 0; i < backend_names.count; i++)
        views[i] = backend_named(backend_names.items[i]);
    const struct snapshot snapshot = {
        .arena = world.arena,
        .namespace_ = TEXT("shop"),
        .name = TEXT("web"),
        .subject = record,
        .previous = world.previous ? record_made(world.previous, world.generation - 1) : NULL,
        .inputs = &input_objects,
        .backends = views,
        .backend_count = backend_names.count,
        .backend_names = backend_names.items,
        .receipts = world.receipts,
        .receipt_count = world.receipt_count,
        .now_ms = world.now_ms,
        .started_ms = STARTED_S * 1000LL,
        .settings = &world.settings,
        .trace = "0af7651916cd43dd8448eb211c80319c",
    };
    world.decision = (struct decision){0};
    controller->decide(&snapshot, NULL, &world.decision);
    return &world.decision;
}

// "A example.com www" with a state; more by the pointer.
static struct receipt *add_receipt(const char *registry, enum record_type type, const char *domain,
                                   const char *subdomain, enum receipt_state state)
{
    struct receipt *receipt = &world.receipts[world.receipt_count++];
    *receipt = (struct receipt){.registry = registry,
                                .type = type,
                                .domain = text_of(domain),
                                .subdomain = text_of(subdomain),
                                .state = state};
    return receipt;
}

static struct receipt *add_www(enum receipt_state state)
{
    return add_receipt(HOME, RECORD_A, "example.com", "www", state);
}

static void add_failure(struct receipt *receipt, enum fault fault, const char *reason,
                        const char *code, const char *text)
{
    receipt->state = RECEIPT_WAITING;
    receipt->attempts = 1;
    receipt->failed_ms = NOW_S * 1000LL - 2500;
    receipt->next_attempt_ms = NOW_S * 1000LL + 2500;
    receipt->trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    error_set(&receipt->error, fault, reason, "%s", text);
    snprintf(receipt->error.code, sizeof receipt->error.code, "%s", code);
}

#define CLAIM_AT(class, server, type, domain, subdomain)                                           \
    "{'class':'" class "','server':'" server "','type':'" type "','domain':'" domain               \
                       "','subdomain':'" subdomain "'}"
#define WWW_CLAIM CLAIM_AT("home", HOME, "A", "example.com", "www")
#define APPLIED_AT(class, server, type, domain, subdomain)                                         \
    "{'class':'" class "','server':'" server "','type':'" type "','domain':'" domain               \
                       "','subdomain':'" subdomain "','hash':'1111111111111111','time':'" BEFORE   \
                       "'}"
#define WWW_APPLIED APPLIED_AT("home", HOME, "A", "example.com", "www")
#define READY_AS(status, reason, state)                                                            \
    "'conditions':[{'type':'Ready','status':'" status "','reason':'" reason                        \
    "','lastTransitionTime':'" BEFORE "'},{'type':'Accepted','status':'True','reason':"            \
    "'Accepted','lastTransitionTime':'" BEFORE "'}],'state':'" state                               \
    "','observedGeneration':1,'lastSyncTime':'" BEFORE "'"
#define SETTLED_STATUS READY_AS("True", "RecordCreated", "Created") ",'applied':[" WWW_APPLIED "]"

// The record as it is after its first success.
static struct receipt *be_settled(void)
{
    world.has_finalizer = true;
    world.claims = "[" WWW_CLAIM "]";
    world.status = SETTLED_STATUS;
    struct receipt *receipt = add_www(RECEIPT_SETTLED);
    memset(receipt->hash, 0x11, sizeof receipt->hash);
    return receipt;
}

static const struct claim_want *find_claim(const struct decision *decision, const char *registry,
                                           const char *type, const char *domain,
                                           const char *subdomain)
{
    for (size_t i = 0; i < decision->claim_count; i++) {
        const struct claim_want *claim = &decision->claims[i];
        if (strcmp(claim->registry, registry) == 0 &&
            strcmp(record_type_name(claim->set.type), type) == 0 &&
            text_is(claim->set.domain, domain) && text_is(claim->set.subdomain, subdomain))
            return claim;
    }
    return NULL;
}

// "SET", "SET held", "KEEP", "REMOVE", "-".
static const char *intent_of(const struct claim_want *claim)
{
    static const char *const names[][2] = {
        [CLAIM_KEEP] = {"KEEP", "KEEP held"},
        [CLAIM_SET] = {"SET", "SET held"},
        [CLAIM_REMOVE] = {"REMOVE", "REMOVE held"},
        [CLAIM_LOOK] = {"LOOK", "LOOK held"},
    };
    return claim ? names[claim->intent][claim->is_suspended] : "-";
}

static const char *www_intent(const struct decision *decision)
{
    return intent_of(find_claim(decision, HOME, "A", "example.com", "www"));
}

// The annotation's keys as "A www.example.com", joined with blanks; "-" when it is left alone.
static const char *desired_of(const struct decision *decision)
{
    AUTO_BUFFER out = {0};
    struct dnsrecord_claim *claims;
    size_t count;
    if (!decision->metadata_change_count)
        return "-";
    assert_string_equal(decision->metadata_changes[0].key, DNSRECORD_CLAIMS);
    if (!decision->metadata_changes[0].value)
        return "none";
    assert_true(dnsrecord_claims_decode(world.arena, text_of(decision->metadata_changes[0].value),
                                        &claims, &count));
    for (size_t i = 0; i < count; i++)
        buffer_printf(&out, "%s%.*s:%s:%.*s%s%s", i ? " " : "", TEXT_ARGS(claims[i].class_name),
                      record_type_name(claims[i].type), TEXT_ARGS(claims[i].subdomain),
                      claims[i].was ? "+was" : "", claims[i].refusal ? "+refused" : "");
    return arena_copy(world.arena, out.at, out.len);
}

#define READY(decision) condition_of(world.arena, (decision)->status, "Ready")
#define ACCEPTED(decision) condition_of(world.arena, (decision)->status, "Accepted")
#define MESSAGE(decision) message_of(world.arena, (decision)->status, "Ready")

static const char *text_at(const struct decision *decision, const char *path)
{
    struct text text = value_text_at(decision->status, path);
    return arena_copy(world.arena, text.at ? text.at : "", text.len);
}

static size_t applied_count(const struct decision *decision)
{
    return value_count(value_find(decision->status, "applied"));
}

// ---- 3.1: the life of a record ------------------------------------------------------------------

static void a_new_record_is_written_ahead_before_it_is_sent(void **state)
{
    (void)state;
    add_www(RECEIPT_SUSPENDED);
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "SET held");
    assert_int_equal(decision->finalizer, FINALIZER_ADD);
    assert_string_equal(desired_of(decision), "home:A:www");
    const struct claim_want *claim = &decision->claims[0];
    assert_string_equal(claim->backend, "class-home");
    assert_string_equal(claim->registry, HOME);
    assert_int_equal(claim->set.ttl_s, 300);
    assert_false(claim->has_known);
}

static void a_written_record_is_sent(void **state)
{
    (void)state;
    world.has_finalizer = true;
    world.claims = "[" WWW_CLAIM "]";
    add_www(RECEIPT_SUSPENDED);
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "SET");
    assert_string_equal(desired_of(decision), "-");
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
}

static void without_its_finalizer_nothing_is_sent(void **state)
{
    (void)state;
    be_settled();
    world.has_finalizer = false;
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "SET held");
    assert_int_equal(decision->finalizer, FINALIZER_ADD);
    assert_string_equal(desired_of(decision), "home:A:www"); // one write has both
}

static void a_first_success_is_created(void **state)
{
    (void)state;
    world.has_finalizer = true;
    world.claims = "[" WWW_CLAIM "]";
    struct receipt *receipt = add_www(RECEIPT_SETTLED);
    receipt->was_sent = true;
    receipt->settled_s = NOW_S;
    memset(receipt->hash, 0x22, 8);
    const struct decision *decision = decide();
    assert_string_equal(READY(decision), "True/RecordCreated");
    assert_string_equal(ACCEPTED(decision), "True/Accepted");
    assert_string_equal(MESSAGE(decision), "www.example.com A at " HOME);
    assert_string_equal(text_at(decision, "state"), "Created");
    assert_string_equal(text_at(decision, "fqdn"), "www.example.com");
    assert_string_equal(text_at(decision, "lastSyncTime"), NOW);
    assert_string_equal(json_of(world.arena, value_find(decision->status, "applied")),
                        "[{\"class\":\"home\",\"server\":\"" HOME "\",\"type\":\"A\",\"domain\":"
                        "\"example.com\",\"subdomain\":\"www\",\"hash\":\"2222222222222222\","
                        "\"time\":\"" NOW "\"}]");
    assert_string_equal(json_of(world.arena, value_find(decision->status, "error")), "null");
    assert_string_equal(json_of(world.arena, value_find(decision->status, "attempts")), "null");
    assert_non_null(event_of(decision, "RecordCreated"));
    assert_int_equal(decision->line_count, 1);
    assert_string_equal(decision->lines[0].message, "record created");
    assert_string_equal(decision->class_label, "home");
    assert_string_equal(decision->reason_label, "RecordCreated");
}

static void a_settled_record_is_silent_after_a_restart(void **state)
{
    (void)state;
    be_settled();
    const struct decision *decision = decide();
    const struct claim_want *claim = &decision->claims[0];
    assert_string_equal(www_intent(decision), "SET");
    assert_true(claim->has_known);
    assert_memory_equal(claim->known, "\x11\x11\x11\x11\x11\x11\x11\x11", 8);
    assert_string_equal(desired_of(decision), "-");
    assert_int_equal(decision->event_count, 0);
    assert_int_equal(decision->line_count, 0);
    assert_int_equal(decision->wake_ms, 0);
    // What will be stored is what is stored.
    struct value *kept = value_make(world.arena, VALUE_MAP);
    value_each (item, decision->status)
        if (item->type != VALUE_NULL)
            value_set(kept, item->key, value_copy(world.arena, item));
    assert_string_equal(READY(decision), "True/RecordCreated");
    assert_string_equal(text_at(decision, "lastSyncTime"), BEFORE);
    const char *first = json_of(world.arena, decision->status);
    const char *inner = json_of(world.arena, kept);
    world.status = arena_copy(world.arena, inner + 1, strlen(inner) - 2);
    assert_string_equal(json_of(world.arena, decide()->status), first);
}

static void what_the_status_remembers_is_doubted_after_a_failure(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        bool is_trusted;
    } rows[] = {
        {READY_AS("True", "RecordCreated", "Created"), true},
        {READY_AS("True", "RecordUpdated", "Updated"), true},
        {READY_AS("False", "SecretNotFound", "Error"), true},
        {READY_AS("False", "DNSClassNotFound", "Error"), true},
        {READY_AS("False", "ValidationFailed", "Error"), true},
        {READY_AS("Unknown", "Paused", "Pending"), true},
        {READY_AS("Unknown", "Pending", "Pending"), false},
        {READY_AS("False", "ServerUnreachable", "Error"), false},
        {READY_AS("False", "ServerError", "Error"), false},
        {READY_AS("False", "RateLimited", "Error"), false},
        {"'conditions':[]", false},
    };
    be_settled();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        world.status = arena_printf(world.arena, "%s,'applied':[" WWW_APPLIED "]", rows[i].status);
        const struct decision *decision = decide();
        if (decision->claims[0].has_known != rows[i].is_trusted)
            fail_msg("%s", rows[i].status);
        free_objects();
    }
    // Of two edits that this process did not see one may have been sent, and taken back. If the
    // only one was, it is the content at hand.
    world.status = SETTLED_STATUS;
    world.generation = 2;
    assert_true(decide()->claims[0].has_known);
    world.generation = 3;
    assert_false(decide()->claims[0].has_known);
}

static void an_update_is_told_as_such_and_other_news_are_not(void **state)
{
    (void)state;
    struct receipt *receipt = be_settled();
    receipt->was_sent = true;
    receipt->settled_s = NOW_S;
    memset(receipt->hash, 0x33, 8);
    world.generation = 2;
    const struct decision *decision = decide();
    assert_string_equal(READY(decision), "True/RecordUpdated");
    assert_string_equal(text_at(decision, "state"), "Updated");
    assert_non_null(event_of(decision, "RecordUpdated"));
    // Sent again with the same content: the reason stays.
    memset(receipt->hash, 0x11, 8);
    decision = decide();
    assert_string_equal(READY(decision), "True/RecordCreated");
    assert_int_equal(decision->event_count, 0);
}

static void an_object_of_an_older_operator_is_claimed_and_sent_once(void **state)
{
    (void)state;
    world.has_finalizer = true;
    world.status = READY_AS("True", "RecordCreated", "Created");
    add_www(RECEIPT_SUSPENDED);
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "SET held");
    assert_string_equal(desired_of(decision), "home:A:www");
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
}

static void waiting_is_told_after_a_second(void **state)
{
    (void)state;
    world.has_finalizer = true;
    world.claims = "[" WWW_CLAIM "]";
    struct receipt *receipt = add_www(RECEIPT_WAITING);
    receipt->since_ms = world.now_ms - 999;
    const struct decision *decision = decide();
    assert_null(decision->status);
    assert_int_equal(decision->wake_ms, receipt->since_ms + 1000);
    world.now_ms++;
    decision = decide();
    assert_string_equal(READY(decision), "Unknown/Pending");
    assert_string_equal(text_at(decision, "state"), "Pending");
    assert_int_equal(decision->event_count, 0);
}

static void a_record_never_heard_of_waits_from_its_creation_or_the_start(void **state)
{
    (void)state;
    world.has_finalizer = true;
    world.claims = "[" WWW_CLAIM "]";
    const struct decision *decision = decide();
    assert_string_equal(READY(decision), "Unknown/Pending");
    world.now_ms = STARTED_S * 1000LL + 10;
    decision = decide();
    assert_null(decision->status);
    assert_int_equal(decision->wake_ms, STARTED_S * 1000LL + 1000);
}

static void what_is_not_written_ahead_yet_waits_for_no_server(void **state)
{
    (void)state;
    const struct decision *decision = decide();
    assert_null(decision->status);
    assert_string_equal(www_intent(decision), "SET held");
}

static void nothing_is_decided_before_the_classes_are_known(void **state)
{
    (void)state;
    world.is_unsynced = true;
    world.class_count = 0;
    const struct decision *decision = decide();
    assert_null(decision->status);
    assert_int_equal(decision->claim_count, 0);
}

// ---- 2.7: the reasons ---------------------------------------------------------------------------

static void failures_are_told_as_the_server_meant_them(void **state)
{
    (void)state;
    static const struct {
        enum fault fault;
        const char *reason;
        const char *code;
        const char *ready;
        const char *reported_code;
        const char *accepted;
    } rows[] = {
        {FAULT_AGAIN, "ServerUnreachable", "", "False/ServerUnreachable", "SERVER_UNREACHABLE",
         "True/Accepted"},
        {FAULT_AGAIN, "ServerError", "", "False/ServerError", "SERVER_ERROR", "True/Accepted"},
        {FAULT_AGAIN, "ServerError", "BOOM", "False/ServerError", "BOOM", "True/Accepted"},
        {FAULT_AUTH, "AuthenticationFailed", "TIMESTAMP_STALE", "False/AuthenticationFailed",
         "TIMESTAMP_STALE", "True/Accepted"},
        {FAULT_AUTH, "AuthenticationFailed", "", "False/AuthenticationFailed", "AUTH_FAILED",
         "True/Accepted"},
        {FAULT_LIMIT, "RateLimited", "", "False/RateLimited", "RATE_LIMITED", "True/Accepted"},
        {FAULT_LIMIT, "QuotaExceeded", "", "False/QuotaExceeded", "QUOTA_EXCEEDED",
         "True/Accepted"},
        {FAULT_SPEC, "ValidationFailed", "", "False/ValidationFailed", "INVALID_RECORD",
         "False/ValidationFailed"},
        {FAULT_SPEC, "ValidationFailed", "INVALID_DOMAIN", "False/ValidationFailed",
         "INVALID_DOMAIN", "False/ValidationFailed"},
        {FAULT_SPEC, "Conflict", "OWNED_BY_OTHER", "False/Conflict", "OWNED_BY_OTHER",
         "False/Conflict"},
        {FAULT_AUTH, "", "", "False/AuthenticationFailed", "AUTH_FAILED", "True/Accepted"},
        {FAULT_AGAIN, "", "", "False/ServerError", "SERVER_ERROR", "True/Accepted"},
    };
    world.has_finalizer = true;
    world.claims = "[" WWW_CLAIM "]";
    struct receipt *receipt = add_www(RECEIPT_WAITING);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        add_failure(receipt, rows[i].fault, rows[i].reason, rows[i].code, "it went wrong");
        const struct decision *decision = decide();
        assert_string_equal(READY(decision), rows[i].ready);
        assert_string_equal(ACCEPTED(decision), rows[i].accepted);
        assert_string_equal(text_at(decision, "state"), "Error");
        assert_string_equal(text_at(decision, "error.code"), rows[i].reported_code);
        assert_string_equal(text_at(decision, "error.message"), "it went wrong");
        assert_string_equal(text_at(decision, "error.timestamp"), "2025-12-30T09:59:57Z");
        assert_string_equal(text_at(decision, "error.traceID"), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_string_equal(text_at(decision, "nextAttempt"), "2025-12-30T10:00:03Z");
        assert_int_equal(value_int_at(decision->status, "attempts", 0), 1);
        assert_string_equal(www_intent(decision), "SET");
        assert_int_not_equal(decision->fault.fault, FAULT_NONE);
        free_objects();
    }
}

static void the_same_failure_is_noted_at_powers_of_two_and_hourly(void **state)
{
    (void)state;
    static const struct {
        unsigned attempts;
        int64_t ago_s; // of the failure that the status has
        bool is_loud;
    } rows[] = {{1, 5, true},  {2, 5, true},    {3, 5, false}, {4, 5, true},
                {7, 5, false}, {7, 3600, true}, {7, 0, false}};
    world.has_finalizer = true;
    world.claims = "[" WWW_CLAIM "]";
    struct receipt *receipt = add_www(RECEIPT_WAITING);
    add_failure(receipt, FAULT_AGAIN, "ServerError", "", "boom");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *time = arena_alloc(world.arena, 1, 40);
        struct tm parts;
        time_t before = receipt->failed_ms / 1000 - rows[i].ago_s;
        strftime(time, 40, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&before, &parts));
        world.status = arena_printf(world.arena, "%s,'error':{'code':'x','timestamp':'%s'}",
                                    READY_AS("False", "ServerError", "Error"), time);
        receipt->attempts = rows[i].attempts;
        const struct decision *decision = decide();
        if ((decision->event_count == 1) != rows[i].is_loud ||
            (decision->line_count == 1) != rows[i].is_loud)
            fail_msg("attempt %u, %d s ago", rows[i].attempts, (int)rows[i].ago_s);
        free_objects();
    }
}

static void what_the_user_must_mend_is_told_and_nothing_is_sent(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *class_spec;
        const char *annotations;
        const char *ready;
        const char *code;
        const char *text; // stands in the message
    } rows[] = {
        {WWW ",'values':['nonsense']", "'server':'" HOME "'", NULL, "False/ValidationFailed",
         "INVALID_RECORD", "spec.values[0] must be a valid IPv4 address"},
        {WWW, NULL, NULL, "False/DNSClassNotFound", "DNS_CLASS_NOT_FOUND",
         "DNSClass home does not exist"},
        {WWW, "'server':'ftp://x'", NULL, "False/InvalidConfiguration", "INVALID_CONFIGURATION",
         "spec.server must be a valid HTTP or HTTPS URL"},
        {WWW, "'server':'" HOME "','verify':{}", NULL, "False/InvalidConfiguration",
         "INVALID_CONFIGURATION", "spec.verify is not supported by this version"},
        {WWW, "'server':'" HOME "'", ",'dns.homelab.mortenolsen.pro/paused':'true'",
         "Unknown/Paused", "", "paused by the annotation"},
    };
    for (size_t settled = 0; settled < 2; settled++) {
        if (settled)
            be_settled();
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            AUTO_BUFFER spec = {0};
            // A later `values` stands in for the earlier one.
            const char *second = strstr(rows[i].spec + 1, ",'values':['nonsense']");
            buffer_add_text(&spec, second ? "'type':'A','domain':'example.com','subdomain':'www',"
                                            "'dnsClassRef':{'name':'home'}"
                                          : rows[i].spec);
            buffer_add_text(&spec, second ? second : "");
            world.spec = arena_copy(world.arena, spec.at, spec.len);
            world.class_specs[0] = rows[i].class_spec;
            world.annotations = rows[i].annotations;
            const struct decision *decision = decide();
            assert_string_equal(READY(decision), rows[i].ready);
            assert_string_equal(text_at(decision, "error.code"), rows[i].code);
            assert_non_null(strstr(MESSAGE(decision), rows[i].text));
            assert_string_equal(www_intent(decision), settled ? "KEEP" : "-");
            assert_int_equal(applied_count(decision), settled);
            assert_string_equal(desired_of(decision), "-");
            free_objects();
        }
    }
}

static void a_shut_backend_tells_why_and_keeps_what_stands(void **state)
{
    (void)state;
    static const struct {
        enum fault fault;
        const char *reason;
        const char *ready;
    } rows[] = {
        {FAULT_WAIT, "SecretNotFound", "False/SecretNotFound"},
        {FAULT_SPEC, "InvalidConfiguration", "False/InvalidConfiguration"},
    };
    for (size_t settled = 0; settled < 2; settled++) {
        if (settled)
            be_settled();
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            error_set(&world.backends[0].fault, rows[i].fault, rows[i].reason,
                      "Secret a/b is gone");
            const struct decision *decision = decide();
            assert_string_equal(READY(decision), rows[i].ready);
            assert_string_equal(MESSAGE(decision),
                                "DNSClass home can't be used: Secret a/b is gone");
            assert_string_equal(www_intent(decision), settled ? "KEEP held" : "SET held");
            assert_string_equal(desired_of(decision), "-");
            assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
        }
    }
}

static void an_error_keeps_its_time_until_it_changes(void **state)
{
    (void)state;
    world.class_specs[0] = NULL;
    world.status = READY_AS("False", "DNSClassNotFound",
                            "Error") ",'error':{'code':'x','timestamp':'" BEFORE "'}";
    assert_string_equal(text_at(decide(), "error.timestamp"), BEFORE);
    world.status = READY_AS("False", "SecretNotFound",
                            "Error") ",'error':{'code':'x','timestamp':'" BEFORE "'}";
    assert_string_equal(text_at(decide(), "error.timestamp"), NOW);
}

static void what_the_server_does_not_offer_is_refused_before_it_is_sent(void **state)
{
    (void)state;
    static const struct {
        const char *capabilities;
        const char *text; // NULL: goes
    } rows[] = {
        {"{'types':['A','AAAA'],'zones':['example.com']}", NULL},
        {"{'types':[],'zones':[]}", NULL},
        {"{}", NULL},
        {"{'types':['AAAA']}", "the server offers no records of type A"},
        {"{'zones':['Example.COM.']}", NULL},
        {"{'zones':['ample.com','www.example.com.au']}",
         "the server serves no zone that www.example.com is in"},
    };
    world.has_finalizer = true;
    world.claims = "[" WWW_CLAIM "]";
    world.backends[0].is_answer_ok = true;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        world.backends[0].answer = quote(
            world.arena, arena_printf(world.arena, "{'capabilities':%s}", rows[i].capabilities));
        const struct decision *decision = decide();
        assert_string_equal(www_intent(decision), rows[i].text ? "KEEP" : "SET");
        if (rows[i].text)
            assert_string_equal(MESSAGE(decision), rows[i].text);
    }
}

static void ttl_comes_from_record_class_or_the_default(void **state)
{
    (void)state;
    assert_int_equal(decide()->claims[0].set.ttl_s, 300);
    world.class_specs[0] = "'server':'" HOME "','defaultTTL':77";
    assert_int_equal(decide()->claims[0].set.ttl_s, 77);
    world.spec = WWW ",'ttl':5";
    assert_int_equal(decide()->claims[0].set.ttl_s, 5);
}

static void an_edit_or_retry_changes_the_epoch(void **state)
{
    (void)state;
    uint64_t first = decide()->claims[0].epoch;
    assert_true(decide()->claims[0].epoch == first);
    world.annotations = ",'dns.homelab.mortenolsen.pro/retry':'2'";
    uint64_t second = decide()->claims[0].epoch;
    assert_true(second != first);
    world.generation = 2;
    assert_true(decide()->claims[0].epoch != second);
}

// ---- 3.3: change of type, domain, subdomain or class --------------------------------------------

#define RENAMED                                                                                    \
    "'type':'A','domain':'example.com','subdomain':'web','dnsClassRef':{'name':'home'},"           \
    "'values':['192.0.2.1']"
#define AS_CNAME                                                                                   \
    "'type':'CNAME','domain':'example.com','subdomain':'www','dnsClassRef':{'name':'home'},"       \
    "'values':['a.example.net']"
#define AS_AAAA                                                                                    \
    "'type':'AAAA','domain':'example.com','subdomain':'www','dnsClassRef':{'name':'home'},"        \
    "'values':['2001:db8::1']"
#define OTHER_SPLIT                                                                                \
    "'type':'A','domain':'www.example.com','subdomain':'@','dnsClassRef':{'name':'home'},"         \
    "'values':['192.0.2.1']"
#define MOVED                                                                                      \
    "'type':'A','domain':'example.com','subdomain':'www','dnsClassRef':{'name':'other'},"          \
    "'values':['192.0.2.1']"

struct change {
    const char *spec;
    const char *registry;
    const char *type;
    const char *domain;
    const char *subdomain;
    const char *desired; // first
    const char *pending; // what the old key does while the new one is not settled
    const char *also;    // claims after that one
};

static const struct change changes[] = {
    {RENAMED, HOME, "A", "example.com", "web", "home:A:www home:A:web", "KEEP",
     "[" WWW_CLAIM "," CLAIM_AT("home", HOME, "A", "example.com", "web") "]"},
    {AS_AAAA, HOME, "AAAA", "example.com", "www", "home:A:www home:AAAA:www", "KEEP",
     "[" WWW_CLAIM "," CLAIM_AT("home", HOME, "AAAA", "example.com", "www") "]"},
    {MOVED, OTHER, "A", "example.com", "www", "home:A:www other:A:www", "KEEP",
     "[" WWW_CLAIM "," CLAIM_AT("other", OTHER, "A", "example.com", "www") "]"},
    {AS_CNAME, HOME, "CNAME", "example.com", "www", "home:A:www+was home:CNAME:www", "REMOVE",
     "[" WWW_CLAIM "," CLAIM_AT("home", HOME, "CNAME", "example.com", "www") "]"},
    {OTHER_SPLIT, HOME, "A", "www.example.com", "@", "home:A:www+was home:A:@", "REMOVE",
     "[" WWW_CLAIM "," CLAIM_AT("home", HOME, "A", "www.example.com", "@") "]"},
};

static enum record_type type_of(const char *name)
{
    enum record_type type = RECORD_A;
    must(record_type_parse(text_of(name), &type));
    return type;
}

static const char *new_intent(const struct decision *decision, const struct change *change)
{
    return intent_of(
        find_claim(decision, change->registry, change->type, change->domain, change->subdomain));
}

static void be_changing(const struct change *change)
{
    world.receipt_count = 0;
    be_settled();
    world.previous = WWW;
    world.generation = 2;
    world.spec = change->spec;
}

static void a_new_key_is_written_ahead_while_the_old_one_stands(void **state)
{
    (void)state;
    add_class("other", "'server':'" OTHER "'", OTHER);
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        be_changing(&changes[i]);
        add_receipt(changes[i].registry, type_of(changes[i].type), changes[i].domain,
                    changes[i].subdomain, RECEIPT_SUSPENDED);
        const struct decision *decision = decide();
        assert_string_equal(desired_of(decision), changes[i].desired);
        assert_string_equal(www_intent(decision), "KEEP");
        assert_string_equal(new_intent(decision, &changes[i]), "SET held");
        free_objects();
    }
}

static void the_old_key_goes_before_or_after_as_servers_need_it(void **state)
{
    (void)state;
    add_class("other", "'server':'" OTHER "'", OTHER);
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        be_changing(&changes[i]);
        world.claims = changes[i].also;
        struct receipt *new_ =
            add_receipt(changes[i].registry, type_of(changes[i].type), changes[i].domain,
                        changes[i].subdomain, RECEIPT_WAITING);
        const struct decision *decision = decide();
        assert_string_equal(www_intent(decision), changes[i].pending);
        assert_string_equal(new_intent(decision, &changes[i]), "SET");
        assert_string_equal(desired_of(decision), "-");
        free_objects();
        // The new key stands, the old one does not yet go.
        new_->state = RECEIPT_SETTLED;
        new_->was_sent = true;
        new_->settled_s = NOW_S;
        world.receipts[0].state = RECEIPT_WAITING;
        decision = decide();
        assert_string_equal(www_intent(decision), "REMOVE");
        assert_string_equal(desired_of(decision), "-");
        assert_string_equal(READY(decision), "True/RecordCreated");
        assert_int_equal(applied_count(decision), 2);
        free_objects();
        // The old one is gone.
        world.receipts[0].state = RECEIPT_SETTLED;
        decision = decide();
        assert_true(decision->metadata_change_count == 1);
        assert_int_equal(applied_count(decision), 1);
        assert_null(strstr(desired_of(decision), "home:A:www"));
        free_objects();
    }
}

static void the_same_key_through_another_class_is_not_deleted(void **state)
{
    (void)state;
    add_class("other", "'server':'" HOME "'", HOME);
    be_settled();
    world.spec = MOVED;
    world.generation = 2;
    const struct decision *decision = decide();
    assert_int_equal(decision->claim_count, 1);
    assert_string_equal(www_intent(decision), "SET");
    assert_string_equal(decision->claims[0].backend, "class-other");
    assert_string_equal(desired_of(decision), "other:A:www");
    assert_false(decision->claims[0].has_known);
}

static void a_failing_new_key_leaves_the_old_one_alone(void **state)
{
    (void)state;
    be_changing(&changes[0]);
    world.claims = changes[0].also;
    add_failure(add_receipt(HOME, RECORD_A, "example.com", "web", RECEIPT_WAITING), FAULT_SPEC,
                "ValidationFailed", "", "no such zone");
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "KEEP");
    assert_string_equal(READY(decision), "False/ValidationFailed");
    assert_string_equal(MESSAGE(decision), "no such zone");
    assert_string_equal(desired_of(decision), "-");
    assert_int_equal(applied_count(decision), 1);
}

static void an_old_key_that_another_holds_is_dropped_without_a_deletion(void **state)
{
    (void)state;
    be_changing(&changes[0]);
    world.claims = changes[0].also;
    world.receipts[0].state = RECEIPT_LOST;
    add_receipt(HOME, RECORD_A, "example.com", "web", RECEIPT_SETTLED);
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "KEEP");
    assert_string_equal(desired_of(decision), "home:A:web");
    assert_int_equal(applied_count(decision), 1);
}

#define CNAME_CLAIM CLAIM_AT("home", HOME, "CNAME", "example.com", "www")
#define WWW_WAS                                                                                    \
    "{'class':'home','server':'" HOME "','type':'A','domain':'example.com','subdomain':'www',"     \
    "'was':{'values':['192.0.2.1'],'ttl':300}%s}"

static void a_refused_cname_puts_the_old_data_back(void **state)
{
    (void)state;
    be_changing(&changes[3]);
    world.claims = arena_printf(world.arena, "[" WWW_WAS "," CNAME_CLAIM "]", "");
    struct receipt *refused =
        add_receipt(HOME, RECORD_CNAME, "example.com", "www", RECEIPT_WAITING);
    add_failure(refused, FAULT_SPEC, "ValidationFailed", "INVALID_RECORD", "not at an apex");
    const struct decision *decision = decide();
    assert_string_equal(desired_of(decision), "home:A:www+was+refused");
    assert_null(decision->status);
    const char *mark = strstr(decision->metadata_changes[0].value, "\"spec\":\"");
    assert_non_null(mark);
    char epoch[33] = {0};
    memcpy(epoch, mark + 8, 32);
    free_objects();
    // The mark stands: the old data is what is wanted now.
    world.claims = arena_printf(world.arena, "[" WWW_WAS "]",
                                arena_printf(world.arena,
                                             ",'refused':{'spec':'%s','reason':"
                                             "'ValidationFailed','code':'INVALID_RECORD',"
                                             "'text':'not at an apex'}",
                                             epoch));
    world.receipt_count = 1;
    world.receipts[0].state = RECEIPT_WAITING;
    decision = decide();
    assert_string_equal(www_intent(decision), "SET");
    assert_int_equal(decision->claim_count, 1);
    assert_true(text_is(decision->claims[0].set.values[0], "192.0.2.1"));
    assert_string_equal(desired_of(decision), "-");
    assert_null(decision->status);
    free_objects();
    world.receipts[0].state = RECEIPT_SETTLED;
    decision = decide();
    assert_string_equal(READY(decision), "False/ValidationFailed");
    assert_string_equal(MESSAGE(decision), "previous data restored: not at an apex");
    assert_string_equal(text_at(decision, "error.code"), "INVALID_RECORD");
    assert_int_equal(applied_count(decision), 1);
    free_objects();
    add_failure(&world.receipts[0], FAULT_AGAIN, "ServerError", "", "boom");
    assert_string_equal(MESSAGE(decide()), "previous data could not be restored yet: boom");
    free_objects();
    // A changed spec tries again, and the old data is still known.
    world.spec = "'type':'CNAME','domain':'example.com','subdomain':'www','dnsClassRef':"
                 "{'name':'home'},'values':['b.example.net']";
    add_receipt(HOME, RECORD_CNAME, "example.com", "www", RECEIPT_SUSPENDED);
    decision = decide();
    assert_string_equal(desired_of(decision), "home:A:www+was home:CNAME:www");
    assert_string_equal(www_intent(decision), "KEEP");
    free_objects();
    // So does the annotation `retry`.
    world.spec = changes[3].spec;
    world.annotations = ",'dns.homelab.mortenolsen.pro/retry':'1'";
    decision = decide();
    assert_string_equal(desired_of(decision), "home:A:www+was home:CNAME:www");
}

static void old_data_that_nobody_knows_can_not_be_put_back(void **state)
{
    (void)state;
    be_changing(&changes[3]);
    world.claims = changes[3].also;
    world.receipts[0].state = RECEIPT_SETTLED;
    add_failure(add_receipt(HOME, RECORD_CNAME, "example.com", "www", RECEIPT_WAITING), FAULT_SPEC,
                "ValidationFailed", "", "no");
    const struct decision *decision = decide();
    assert_string_equal(desired_of(decision), "-");
    assert_string_equal(MESSAGE(decision), "what stood there before is not known, nothing could be "
                                           "put back: no");
}

static void old_data_over_16_kib_is_not_kept(void **state)
{
    (void)state;
    AUTO_BUFFER spec = {0};
    buffer_add_text(&spec, "'type':'TXT','domain':'example.com','subdomain':'www','dnsClassRef':"
                           "{'name':'home'},'values':[");
    for (int i = 0; i < 5; i++)
        buffer_printf(&spec, "%s'%d%04000d'", i ? "," : "", i, i);
    buffer_add_text(&spec, "]");
    be_changing(&changes[3]);
    world.claims = "[" CLAIM_AT("home", HOME, "TXT", "example.com", "www") "]";
    add_receipt(HOME, RECORD_CNAME, "example.com", "www", RECEIPT_SUSPENDED);
    world.previous = spec.at;
    assert_string_equal(desired_of(decide()), "home:TXT:www home:CNAME:www");
    world.previous = "'type':'TXT','domain':'example.com','subdomain':'www','dnsClassRef':"
                     "{'name':'home'},'values':['small']";
    assert_string_equal(desired_of(decide()), "home:TXT:www+was home:CNAME:www");
}

static void a_moved_server_gets_the_record_and_the_old_one_is_left_alone(void **state)
{
    (void)state;
    be_settled();
    world.class_specs[0] = "'server':'" OTHER "'";
    world.backends[0].registry = OTHER;
    struct receipt *new_ = add_receipt(OTHER, RECORD_A, "example.com", "www", RECEIPT_SUSPENDED);
    const struct decision *decision = decide();
    assert_string_equal(desired_of(decision), "home:A:www home:A:www");
    assert_string_equal(www_intent(decision), "KEEP");
    free_objects();
    world.claims = "[" WWW_CLAIM "," CLAIM_AT("home", OTHER, "A", "example.com", "www") "]";
    new_->state = RECEIPT_SETTLED;
    decision = decide();
    assert_string_equal(www_intent(decision), "KEEP");
    assert_string_equal(desired_of(decision), "home:A:www");
    assert_non_null(strstr(decision->metadata_changes[0].value, OTHER));
}

static void a_failing_deletion_of_the_old_key_is_told_beside_the_success(void **state)
{
    (void)state;
    be_changing(&changes[0]);
    world.claims = changes[0].also;
    add_failure(&world.receipts[0], FAULT_AGAIN, "ServerError", "", "boom");
    add_receipt(HOME, RECORD_A, "example.com", "web", RECEIPT_SETTLED);
    const struct decision *decision = decide();
    assert_string_equal(READY(decision), "True/RecordCreated");
    assert_string_equal(MESSAGE(decision), "web.example.com A at " HOME
                                           "; www.example.com A can't be deleted yet: boom");
    assert_int_equal(value_int_at(decision->status, "attempts", 0), 1);
    assert_string_equal(json_of(world.arena, value_find(decision->status, "error")), "null");
}

static void a_ninth_key_waits_until_older_ones_are_gone(void **state)
{
    (void)state;
    AUTO_BUFFER claims = {0};
    be_changing(&changes[0]);
    for (int i = 0; i < 8; i++)
        buffer_printf(&claims,
                      "%s{'class':'home','server':'" HOME "','type':'A','domain':"
                      "'example.com','subdomain':'%s'}",
                      i ? "," : "[", i == 3 ? "www" : arena_printf(world.arena, "n%d", i));
    buffer_add_text(&claims, "]");
    world.claims = claims.at;
    add_receipt(HOME, RECORD_A, "example.com", "web", RECEIPT_SUSPENDED);
    const struct decision *decision = decide();
    assert_string_equal(desired_of(decision), "-");
    assert_string_equal(www_intent(decision), "KEEP"); // what was served last
    assert_string_equal(intent_of(find_claim(decision, HOME, "A", "example.com", "n0")), "REMOVE");
    assert_string_equal(new_intent(decision, &changes[0]), "SET held");
    assert_string_equal(READY(decision), "Unknown/Pending");
}

static void an_old_key_whose_class_is_gone_is_given_up_after_a_while(void **state)
{
    (void)state;
    add_class("other", "'server':'" OTHER "'", OTHER);
    be_changing(&changes[2]);
    world.claims = changes[2].also;
    world.class_specs[0] = NULL;
    world.has_backend[0] = false;
    world.receipts[0].state = RECEIPT_WAITING;
    add_receipt(OTHER, RECORD_A, "example.com", "www", RECEIPT_SETTLED);
    world.settings.orphan_after_ms = 2000 * 1000;
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "REMOVE");
    assert_string_equal(desired_of(decision), "-");
    assert_int_equal(decision->wake_ms, (STARTED_S + 2000) * 1000LL);
    world.settings.orphan_after_ms = 1000 * 1000;
    decision = decide();
    assert_string_equal(desired_of(decision), "other:A:www");
    assert_non_null(event_of(decision, "RecordOrphaned"));
}

static void a_deleted_old_key_is_not_given_up_when_its_class_goes(void **state)
{
    (void)state;
    add_class("other", "'server':'" HOME "'", HOME);
    be_changing(&changes[3]);
    world.spec = "'type':'CNAME','domain':'example.com','subdomain':'www',"
                 "'dnsClassRef':{'name':'other'},'values':['a.example.net']";
    world.claims = arena_printf(
        world.arena, "[" WWW_WAS "," CLAIM_AT("other", HOME, "CNAME", "example.com", "www") "]",
        "");
    world.class_specs[0] = NULL;
    world.has_backend[0] = false;
    world.settings.orphan_after_ms = 1000 * 1000;
    add_failure(add_receipt(HOME, RECORD_CNAME, "example.com", "www", RECEIPT_WAITING), FAULT_AGAIN,
                "ServerError", "", "boom");
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "REMOVE");
    assert_string_equal(desired_of(decision), "other:A:www+was other:CNAME:www");
    assert_null(event_of(decision, "RecordOrphaned"));
}

#define AS_CNAME_OF_OTHER                                                                          \
    "'type':'CNAME','domain':'example.com','subdomain':'www','dnsClassRef':{'name':'other'},"      \
    "'values':['a.example.net']"

// The record's new class is at the server of the old one, which is gone.
static struct backend_view *be_changing_class(void)
{
    struct backend_view *other = add_class("other", "'server':'" HOME "'", HOME);
    be_changing(&changes[3]);
    world.spec = AS_CNAME_OF_OTHER;
    world.class_specs[0] = NULL;
    return other;
}

static void an_old_key_stays_with_its_class_while_the_new_one_is_unusable(void **state)
{
    (void)state;
    struct backend_view *other = be_changing_class();
    other->is_open = false;
    error_set(&other->fault, FAULT_WAIT, "SecretNotFound", "no Secret");
    world.backends[0].is_lingering = true;
    error_set(&world.backends[0].fault, FAULT_WAIT, "DNSClassNotFound", "gone");
    assert_string_equal(desired_of(decide()), "-");
    free_objects();
    world.deleted = NOW;
    world.receipts[0].state = RECEIPT_WAITING;
    const struct decision *decision = decide();
    assert_string_equal(desired_of(decision), "-");
    assert_string_equal(www_intent(decision), "REMOVE");
    assert_string_equal(decision->claims[0].backend, "class-home");
    assert_null(decision->status);
}

static void old_data_of_a_class_that_is_gone_is_known_without_a_look(void **state)
{
    (void)state;
    be_changing_class()->is_answer_ok = true;
    world.has_backend[0] = false;
    world.backends[1].answer = quote(world.arena, "{'capabilities':{}}");
    add_receipt(HOME, RECORD_CNAME, "example.com", "www", RECEIPT_SUSPENDED);
    assert_string_equal(desired_of(decide()), "other:A:www+was other:CNAME:www");
    free_objects();
    // An earlier reconciliation has already written the new class into the annotation.
    world.claims = "[" CLAIM_AT("other", HOME, "A", "example.com", "www") "]";
    assert_string_equal(desired_of(decide()), "other:A:www+was other:CNAME:www");
    free_objects();
    // Nothing is known of a key that was never applied there.
    world.status = READY_AS("True", "RecordCreated", "Created");
    assert_string_equal(desired_of(decide()), "other:A:www other:CNAME:www");
}

// ---- 3.4: conflicts -----------------------------------------------------------------------------

static void the_loser_of_a_name_writes_and_sends_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *holder;
        const char *namespace;
        bool names;
        const char *text;
    } rows[] = {
        {"production/web", "production", true, "www.example.com A is held by production/web"},
        {"DNSRecord production/web", "production", true,
         "www.example.com A is held by production/web"},
        {"Ingress production/web", "production", true,
         "www.example.com A is held by Ingress production/web"},
        {"production/web", "production", false,
         "www.example.com A is held by an object of another namespace"},
        {"shop/first", "shop", false, "www.example.com A is held by shop/first"},
    };
    struct receipt *receipt = add_www(RECEIPT_LOST);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        receipt->holder = text_of(rows[i].holder);
        receipt->holder_namespace = text_of(rows[i].namespace);
        world.settings.conflict_names = rows[i].names;
        const struct decision *decision = decide();
        assert_string_equal(READY(decision), "False/Conflict");
        assert_string_equal(ACCEPTED(decision), "False/Conflict");
        assert_string_equal(MESSAGE(decision), rows[i].text);
        assert_string_equal(text_at(decision, "error.code"), "CONFLICT");
        assert_string_equal(www_intent(decision), "SET held");
        assert_string_equal(desired_of(decision), "-");
        assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
        assert_non_null(event_of(decision, "RecordConflict"));
        free_objects();
    }
}

static void who_starts_to_lose_drops_the_key_without_a_deletion(void **state)
{
    (void)state;
    struct receipt *receipt = be_settled();
    receipt->state = RECEIPT_LOST;
    receipt->holder = TEXT("shop/older");
    receipt->holder_namespace = TEXT("shop");
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "SET held");
    assert_string_equal(desired_of(decision), "none");
    assert_int_equal(applied_count(decision), 0);
}

static void a_loser_that_renames_keeps_its_old_name_until_then(void **state)
{
    (void)state;
    be_changing(&changes[0]);
    add_receipt(HOME, RECORD_A, "example.com", "web", RECEIPT_LOST)->holder = TEXT("shop/x");
    const struct decision *decision = decide();
    assert_string_equal(READY(decision), "False/Conflict");
    assert_string_equal(www_intent(decision), "KEEP");
    assert_string_equal(desired_of(decision), "-");
    assert_int_equal(applied_count(decision), 1);
}

static void the_next_in_order_claims_when_the_winner_has_gone(void **state)
{
    (void)state;
    world.status = READY_AS("False", "Conflict", "Error");
    add_www(RECEIPT_SUSPENDED);
    const struct decision *decision = decide();
    assert_string_equal(desired_of(decision), "home:A:www");
    assert_int_equal(decision->finalizer, FINALIZER_ADD);
    assert_string_equal(www_intent(decision), "SET held");
}

// ---- 3.5: deletion ------------------------------------------------------------------------------

static void be_deleted(void)
{
    be_settled();
    world.deleted = NOW;
    world.receipts[0].state = RECEIPT_WAITING;
}

static void each_claimed_key_is_deleted_before_the_finalizer_goes(void **state)
{
    (void)state;
    be_deleted();
    world.claims = "[" WWW_CLAIM "," CLAIM_AT("home", HOME, "A", "example.com", "old") "]";
    struct receipt *old = add_receipt(HOME, RECORD_A, "example.com", "old", RECEIPT_SETTLED);
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "REMOVE");
    assert_string_equal(intent_of(find_claim(decision, HOME, "A", "example.com", "old")), "REMOVE");
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
    assert_null(decision->status);
    free_objects();
    world.receipts[0].state = RECEIPT_SETTLED;
    decision = decide();
    assert_int_equal(decision->finalizer, FINALIZER_REMOVE);
    assert_int_equal(decision->metadata_change_count, 0);
    assert_string_equal(READY(decision), "False/RecordDeleted");
    assert_string_equal(text_at(decision, "state"), "Deleted");
    assert_int_equal(applied_count(decision), 0);
    assert_non_null(event_of(decision, "RecordDeleted"));
    assert_string_equal(decision->lines[0].message, "record deleted");
    free_objects();
    old->is_uncertain = true;
    assert_non_null(event_of(decide(), "DeleteUncertain"));
}

static void a_deletion_that_fails_is_visible_and_holds_the_finalizer(void **state)
{
    (void)state;
    be_deleted();
    add_failure(&world.receipts[0], FAULT_AGAIN, "ServerUnreachable", "", "connection refused");
    const struct decision *decision = decide();
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
    assert_string_equal(READY(decision), "False/ServerUnreachable");
    assert_string_equal(MESSAGE(decision), "deletion: connection refused");
    assert_int_equal(value_int_at(decision->status, "attempts", 0), 1);
}

static void exits_release_the_record_at_once(void **state)
{
    (void)state;
    be_deleted();
    world.annotations = ",'dns.homelab.mortenolsen.pro/force-delete':'true'";
    const struct decision *decision = decide();
    assert_int_equal(decision->finalizer, FINALIZER_REMOVE);
    assert_int_equal(decision->claim_count, 0);
    assert_non_null(strstr(event_of(decision, "RecordOrphaned"), "www.example.com A at " HOME));
    free_objects();
    world.annotations = NULL;
    world.spec = WWW ",'deletionPolicy':'Retain'";
    decision = decide();
    assert_int_equal(decision->finalizer, FINALIZER_REMOVE);
    assert_int_equal(decision->claim_count, 0);
    assert_null(event_of(decision, "RecordOrphaned"));
    free_objects();
    // A pause does not hold a deletion up.
    world.spec = WWW;
    world.annotations = ",'dns.homelab.mortenolsen.pro/paused':'true'";
    assert_string_equal(www_intent(decide()), "REMOVE");
}

static void without_class_or_secret_a_deletion_waits_and_then_gives_up(void **state)
{
    (void)state;
    static const struct {
        bool has_class;
        bool has_backend;
        const char *reason;
        const char *ready;
    } rows[] = {
        {false, false, "", "False/DNSClassNotFound"},
        {false, true, "", ""},
        {true, true, "SecretNotFound", ""},
        {true, true, "InvalidConfiguration", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        world.receipt_count = 0;
        be_deleted();
        world.class_specs[0] = rows[i].has_class ? "'server':'" HOME "'" : NULL;
        world.has_backend[0] = rows[i].has_backend;
        world.backends[0].is_lingering = true;
        error_set(&world.backends[0].fault, FAULT_WAIT, rows[i].reason, "gone");
        world.now_ms = NOW_S * 1000LL + 599 * 1000;
        const struct decision *decision = decide();
        // Through a backend that lingers it still goes out: there is nothing to complain of.
        assert_string_equal(www_intent(decision), "REMOVE");
        assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
        assert_int_equal(decision->wake_ms, NOW_S * 1000LL + 600 * 1000);
        assert_string_equal(READY(decision), rows[i].ready);
        free_objects();
        world.now_ms += 1000;
        decision = decide();
        assert_int_equal(decision->finalizer, FINALIZER_REMOVE);
        assert_string_equal(www_intent(decision), "-");
        assert_non_null(event_of(decision, "RecordOrphaned"));
        free_objects();
    }
}

static void a_server_that_fails_is_never_given_up(void **state)
{
    (void)state;
    be_deleted();
    add_failure(&world.receipts[0], FAULT_AGAIN, "ServerUnreachable", "", "refused");
    world.now_ms = NOW_S * 1000LL + 86400LL * 1000;
    const struct decision *decision = decide();
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
    assert_string_equal(www_intent(decision), "REMOVE");
}

static void a_loser_is_released_without_a_request(void **state)
{
    (void)state;
    be_deleted();
    world.receipts[0].state = RECEIPT_LOST;
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "KEEP");
    assert_int_equal(decision->finalizer, FINALIZER_REMOVE);
    free_objects();
    world.claims = NULL;
    world.status = READY_AS("False", "Conflict", "Error");
    decision = decide();
    assert_int_equal(decision->claim_count, 0);
    assert_int_equal(decision->finalizer, FINALIZER_REMOVE);
}

static void a_record_without_finalizer_needs_nothing(void **state)
{
    (void)state;
    be_deleted();
    world.has_finalizer = false;
    const struct decision *decision = decide();
    assert_int_equal(decision->claim_count, 0);
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
    assert_int_equal(decision->metadata_change_count, 0);
}

static void a_record_whose_finalizer_the_server_lost_is_deleted_all_the_same(void **state)
{
    (void)state;
    be_deleted();
    world.deleted = NULL;
    world.is_lost = true;
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "REMOVE");
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
    free_objects();
    // Nothing can be written ahead any more.
    world.claims = "nonsense";
    decision = decide();
    assert_string_equal(www_intent(decision), "REMOVE");
    assert_string_equal(desired_of(decision), "-");
    free_objects();
    world.receipts[0].state = RECEIPT_SETTLED;
    assert_int_equal(decide()->finalizer, FINALIZER_REMOVE);
    free_objects();
    world.receipts[0].state = RECEIPT_WAITING;
    world.class_specs[0] = NULL;
    world.backends[0].is_lingering = true;
    assert_int_equal(decide()->finalizer, FINALIZER_LEAVE);
    free_objects();
    world.has_backend[0] = false;
    assert_int_equal(decide()->finalizer, FINALIZER_REMOVE);
}

static void an_object_of_an_older_operator_is_deleted_by_its_spec(void **state)
{
    (void)state;
    be_deleted();
    world.claims = NULL;
    world.status = READY_AS("True", "RecordCreated", "Created");
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "REMOVE held");
    assert_string_equal(desired_of(decision), "home:A:www");
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
}

// What an older operator sent is not known here, but that it sent something is.
static void what_an_older_operator_sent_is_never_let_go_in_silence(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        bool has_class;
        const char *ready;    // while it waits
        const char *reported; // in the event
    } rows[] = {
        {WWW, false, "False/DNSClassNotFound",
         "www.example.com A at the server of DNSClass home may still exist: DNSClass home does not "
         "exist"},
        {"'type':'A','domain':'example.com','subdomain':'www','dnsClassRef':{'name':'home'},"
         "'values':['::ffff:192.0.2.1']",
         false, "False/DNSClassNotFound", "www.example.com A at the server of DNSClass home"},
        {"'type':'A','domain':'example.com','subdomain':'a b','dnsClassRef':{'name':'home'},"
         "'values':['192.0.2.1']",
         true, "False/ValidationFailed",
         "a b.example.com A may still exist: spec.subdomain must be '@' or a valid subdomain"},
        {"'type':'CAA','domain':'example.com','subdomain':'@','dnsClassRef':{'name':'home'},"
         "'values':['192.0.2.1']",
         true, "False/ValidationFailed",
         "@.example.com CAA may still exist: unsupported record type: CAA"},
    };
    be_deleted();
    world.claims = NULL;
    world.receipt_count = 0;
    world.status = READY_AS("True", "RecordCreated", "Created");
    const char *class_spec = world.class_specs[0];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        world.spec = rows[i].spec;
        world.class_specs[0] = rows[i].has_class ? class_spec : NULL;
        world.has_backend[0] = rows[i].has_class;
        world.now_ms = NOW_S * 1000LL + 599 * 1000;
        const struct decision *decision = decide();
        assert_int_equal(decision->claim_count, 0);
        assert_int_equal(decision->metadata_change_count, 0);
        assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
        assert_int_equal(decision->wake_ms, NOW_S * 1000LL + 600 * 1000);
        assert_string_equal(READY(decision), rows[i].ready);
        free_objects();
        world.now_ms += 1000;
        decision = decide();
        assert_int_equal(decision->finalizer, FINALIZER_REMOVE);
        assert_non_null(event_of(decision, "RecordOrphaned"));
        assert_non_null(strstr(event_of(decision, "RecordOrphaned"), rows[i].reported));
        assert_string_equal(decision->lines[0].message,
                            "record released, may still exist at the server");
        free_objects();
    }
}

static void what_an_older_operator_sent_and_we_refuse_is_deleted_by_its_name(void **state)
{
    (void)state;
    be_deleted();
    world.claims = NULL;
    world.spec = "'type':'A','domain':'example.com','subdomain':'www',"
                 "'dnsClassRef':{'name':'home'},'values':['::ffff:192.0.2.1']";
    world.status = READY_AS("True", "RecordCreated", "Created");
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "REMOVE held");
    assert_string_equal(desired_of(decision), "home:A:www");
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
    free_objects();
    // It says by now what we think of it, and was sent before.
    world.status = READY_AS("False", "ValidationFailed", "Error");
    assert_string_equal(www_intent(decide()), "REMOVE held");
    free_objects();
    // It never was.
    world.status = "'conditions':[{'type':'Ready','status':'False','reason':'ValidationFailed',"
                   "'lastTransitionTime':'" BEFORE "'}],'state':'Error','observedGeneration':1";
    decision = decide();
    assert_int_equal(decision->claim_count, 0);
    assert_int_equal(decision->finalizer, FINALIZER_REMOVE);
    free_objects();
    // While it lives, its key is written down before its status says anything else.
    world.deleted = NULL;
    world.status = READY_AS("True", "RecordCreated", "Created");
    decision = decide();
    assert_string_equal(www_intent(decision), "KEEP");
    assert_string_equal(desired_of(decision), "home:A:www");
    assert_string_equal(READY(decision), "False/ValidationFailed");
    free_objects();
    // But not if it was edited since: nobody knows under which name it stands.
    world.generation = 2;
    assert_int_equal(decide()->claim_count, 0);
}

static void a_broken_annotation_of_a_record_whose_class_is_gone_is_no_silence(void **state)
{
    (void)state;
    be_deleted();
    world.claims = "nonsense";
    world.status = READY_AS("True", "RecordCreated", "Created");
    world.class_specs[0] = NULL;
    world.has_backend[0] = false;
    assert_int_equal(decide()->finalizer, FINALIZER_LEAVE);
    free_objects();
    world.annotations = ",'dns.homelab.mortenolsen.pro/force-delete':'true'";
    const struct decision *decision = decide();
    assert_int_equal(decision->finalizer, FINALIZER_REMOVE);
    assert_non_null(event_of(decision, "RecordOrphaned"));
}

static void a_broken_annotation_makes_no_orphan_of_what_the_status_remembers(void **state)
{
    (void)state;
    add_class("other", "'server':'" OTHER "'", OTHER);
    be_deleted();
    world.deleted = BEFORE;
    world.claims = "nonsense";
    world.status = READY_AS("True", "RecordCreated", "Created") ",'applied':[" APPLIED_AT(
        "other", OTHER, "A", "example.com", "www") "]";
    const struct decision *decision = decide();
    assert_string_equal(desired_of(decision), "other:A:www home:A:www");
    assert_string_equal(intent_of(find_claim(decision, OTHER, "A", "example.com", "www")),
                        "REMOVE held");
    assert_null(event_of(decision, "RecordOrphaned"));
}

static void a_rebuilt_key_whose_class_is_gone_goes_through_the_class_of_the_spec(void **state)
{
    (void)state;
    static const char *const annotations[] = {NULL, "nonsense"};
    be_changing_class();
    world.has_backend[0] = false;
    world.deleted = BEFORE;
    for (size_t i = 0; i < COUNT_OF(annotations); i++) {
        world.claims = annotations[i];
        const struct decision *decision = decide();
        assert_string_equal(desired_of(decision), "other:A:www other:CNAME:www");
        assert_string_equal(www_intent(decision), "REMOVE held");
        assert_null(event_of(decision, "RecordOrphaned"));
        free_objects();
    }
}

static void a_key_at_a_server_that_its_class_left_is_released(void **state)
{
    (void)state;
    be_deleted();
    world.class_specs[0] = "'server':'" OTHER "'";
    const struct decision *decision = decide();
    assert_int_equal(decision->finalizer, FINALIZER_REMOVE);
    assert_non_null(event_of(decision, "RecordOrphaned"));
}

// ---- what stands there before the first write ---------------------------------------------------

static const struct record_set *found_at(const char *address, uint32_t ttl_s)
{
    struct text *value = arena_new_of(world.arena, struct text);
    struct record_set *set = arena_new_of(world.arena, struct record_set);
    *value = text_of(address);
    *set = (struct record_set){.type = RECORD_A,
                               .domain = TEXT("example.com"),
                               .subdomain = TEXT("www"),
                               .ttl_s = ttl_s,
                               .values = value,
                               .value_count = 1,
                               .priority = -1,
                               .weight = -1,
                               .port = -1};
    return set;
}

static void offer_reading(bool offers)
{
    struct backend_view *backend = &world.backends[0];
    backend->is_answer_ok = true;
    backend->answered_s = NOW_S;
    backend->answer = quote(world.arena, offers ? "{'capabilities':{'get':true}}"
                                                : "{'capabilities':{'list':true}}");
}

static struct receipt *have_found(const struct record_set *found)
{
    struct receipt *receipt = add_www(RECEIPT_SETTLED);
    receipt->intent = CLAIM_LOOK;
    receipt->found = found;
    receipt->settled_s = NOW_S - 1;
    return receipt;
}

static void a_new_key_is_looked_at_before_it_is_written_ahead(void **state)
{
    (void)state;
    offer_reading(true);
    // Which other claims there are at the name is not known in the first round.
    assert_string_equal(www_intent(decide()), "SET held");
    assert_string_equal(desired_of(&world.decision), "-");
    assert_int_equal(world.decision.finalizer, FINALIZER_LEAVE);
    free_objects();
    struct receipt *receipt = add_www(RECEIPT_SUSPENDED);
    receipt->intent = CLAIM_SET;
    assert_string_equal(www_intent(decide()), "LOOK");
    assert_string_equal(desired_of(&world.decision), "-");
    free_objects();
    receipt->is_heir = true;
    assert_string_equal(www_intent(decide()), "SET held");
    assert_string_equal(desired_of(&world.decision), "home:A:www");
    free_objects();
    receipt->is_heir = false;
    offer_reading(false);
    assert_string_equal(www_intent(decide()), "SET held");
    assert_string_equal(desired_of(&world.decision), "home:A:www");
    free_objects();
    world.backends[0].is_answer_ok = false;
    world.backends[0].answered_s = 0;
    world.backends[0].is_learning = true;
    assert_string_equal(desired_of(decide()), "-");
}

static void what_is_not_ours_is_told_before_it_is_replaced(void **state)
{
    (void)state;
    offer_reading(true);
    struct receipt *receipt = have_found(found_at("192.0.2.99", 60));
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "LOOK");
    assert_int_equal(decision->finalizer, FINALIZER_ADD);
    assert_string_equal(desired_of(decision), "home:A:www");
    assert_non_null(
        strstr(decision->metadata_changes[0].value, "\"replaces\":\"192.0.2.99 (TTL 60)\""));
    assert_non_null(strstr(event_of(decision, "RecordAdopted"), "192.0.2.99 (TTL 60)"));
    free_objects();
    // The same data, or none, is nothing to speak of; what the server left out counts as equal.
    const struct record_set *const ours[] = {found_at("192.0.2.1", 300), found_at("192.0.2.1", 0),
                                             NULL};
    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        receipt->found = ours[i];
        decision = decide();
        assert_string_equal(desired_of(decision), "home:A:www");
        assert_null(strstr(decision->metadata_changes[0].value, "replaces"));
        assert_int_equal(decision->event_count, 0);
        free_objects();
    }
    // An answer is good for a minute.
    receipt->settled_s = NOW_S - 60;
    decision = decide();
    assert_string_equal(desired_of(decision), "-");
    assert_int_equal(find_claim(decision, HOME, "A", "example.com", "www")->look_since_s,
                     NOW_S - 59);
}

static void what_is_not_ours_stays_with_refuse(void **state)
{
    (void)state;
    world.class_specs[0] = "'server':'" HOME "','preflight':'Refuse'";
    struct receipt *receipt = have_found(found_at("192.0.2.99", 60));
    const struct decision *decision = decide();
    assert_string_equal(www_intent(decision), "LOOK");
    assert_string_equal(desired_of(decision), "-");
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
    assert_string_equal(READY(decision), "False/Conflict");
    assert_non_null(strstr(MESSAGE(decision), "192.0.2.99 (TTL 60) stands there"));
    assert_int_equal(decision->wake_ms, (NOW_S - 1 + 600) * 1000LL);
    free_objects();
    receipt->found = NULL;
    receipt->is_uncertain = true;
    assert_string_equal(READY(decide()), "False/InvalidConfiguration");
    free_objects();
    offer_reading(false);
    assert_string_equal(READY(decide()), "False/InvalidConfiguration");
}

static void what_was_replaced_is_told_until_the_content_is_another(void **state)
{
    (void)state;
    be_settled();
    world.claims = "[{'class':'home','server':'" HOME "','type':'A','domain':'example.com',"
                   "'subdomain':'www','replaces':'192.0.2.99'}]";
    const struct decision *decision = decide();
    assert_string_equal(desired_of(decision), "-");
    assert_non_null(strstr(MESSAGE(decision), "it replaced what was not ours: 192.0.2.99"));
    free_objects();
    memset(world.receipts[0].hash, 0x22, sizeof world.receipts[0].hash);
    decision = decide();
    assert_string_equal(READY(decision), "True/RecordUpdated");
    assert_null(strstr(MESSAGE(decision), "192.0.2.99"));
}

// ---- the annotation -----------------------------------------------------------------------------

static void a_broken_annotation_is_rebuilt_from_status_and_spec(void **state)
{
    (void)state;
    be_changing(&changes[0]);
    world.claims = "nonsense";
    add_receipt(HOME, RECORD_A, "example.com", "web", RECEIPT_SUSPENDED);
    const struct decision *decision = decide();
    assert_string_equal(desired_of(decision), "home:A:www home:A:web");
    assert_string_equal(www_intent(decision), "KEEP");
    assert_non_null(event_of(decision, "ClaimsRebuilt"));
    free_objects();
    world.deleted = NOW;
    decision = decide();
    assert_string_equal(desired_of(decision), "home:A:www home:A:web");
    assert_string_equal(www_intent(decision), "REMOVE held");
    assert_int_equal(decision->finalizer, FINALIZER_LEAVE);
}

static void a_removed_annotation_comes_back(void **state)
{
    (void)state;
    be_changing(&changes[0]);
    world.claims = NULL;
    add_receipt(HOME, RECORD_A, "example.com", "web", RECEIPT_SUSPENDED);
    assert_string_equal(desired_of(decide()), "home:A:www home:A:web");
}

static void settings_have_the_defaults_of_their_table(void **state)
{
    (void)state;
    assert_int_equal(dnsrecord_controller.setting_count, 2);
    assert_string_equal(dnsrecord_controller.settings[0].fallback, "10m");
    assert_int_equal(dnsrecord_defaults.orphan_after_ms, 600000);
    assert_string_equal(dnsrecord_controller.settings[1].fallback, "true");
    assert_true(dnsrecord_defaults.conflict_names);
}

int main(void)
{
#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        UNIT(a_new_record_is_written_ahead_before_it_is_sent),
        UNIT(a_written_record_is_sent),
        UNIT(without_its_finalizer_nothing_is_sent),
        UNIT(a_first_success_is_created),
        UNIT(a_settled_record_is_silent_after_a_restart),
        UNIT(what_the_status_remembers_is_doubted_after_a_failure),
        UNIT(an_update_is_told_as_such_and_other_news_are_not),
        UNIT(an_object_of_an_older_operator_is_claimed_and_sent_once),
        UNIT(waiting_is_told_after_a_second),
        UNIT(a_record_never_heard_of_waits_from_its_creation_or_the_start),
        UNIT(what_is_not_written_ahead_yet_waits_for_no_server),
        UNIT(nothing_is_decided_before_the_classes_are_known),
        UNIT(failures_are_told_as_the_server_meant_them),
        UNIT(the_same_failure_is_noted_at_powers_of_two_and_hourly),
        UNIT(what_the_user_must_mend_is_told_and_nothing_is_sent),
        UNIT(a_shut_backend_tells_why_and_keeps_what_stands),
        UNIT(an_error_keeps_its_time_until_it_changes),
        UNIT(what_the_server_does_not_offer_is_refused_before_it_is_sent),
        UNIT(ttl_comes_from_record_class_or_the_default),
        UNIT(an_edit_or_retry_changes_the_epoch),
        UNIT(a_new_key_is_written_ahead_while_the_old_one_stands),
        UNIT(the_old_key_goes_before_or_after_as_servers_need_it),
        UNIT(the_same_key_through_another_class_is_not_deleted),
        UNIT(a_failing_new_key_leaves_the_old_one_alone),
        UNIT(an_old_key_that_another_holds_is_dropped_without_a_deletion),
        UNIT(a_refused_cname_puts_the_old_data_back),
        UNIT(old_data_that_nobody_knows_can_not_be_put_back),
        UNIT(old_data_over_16_kib_is_not_kept),
        UNIT(a_moved_server_gets_the_record_and_the_old_one_is_left_alone),
        UNIT(a_failing_deletion_of_the_old_key_is_told_beside_the_success),
        UNIT(a_ninth_key_waits_until_older_ones_are_gone),
        UNIT(an_old_key_whose_class_is_gone_is_given_up_after_a_while),
        UNIT(a_deleted_old_key_is_not_given_up_when_its_class_goes),
        UNIT(an_old_key_stays_with_its_class_while_the_new_one_is_unusable),
        UNIT(old_data_of_a_class_that_is_gone_is_known_without_a_look),
        UNIT(the_loser_of_a_name_writes_and_sends_nothing),
        UNIT(who_starts_to_lose_drops_the_key_without_a_deletion),
        UNIT(a_loser_that_renames_keeps_its_old_name_until_then),
        UNIT(the_next_in_order_claims_when_the_winner_has_gone),
        UNIT(each_claimed_key_is_deleted_before_the_finalizer_goes),
        UNIT(a_deletion_that_fails_is_visible_and_holds_the_finalizer),
        UNIT(exits_release_the_record_at_once),
        UNIT(without_class_or_secret_a_deletion_waits_and_then_gives_up),
        UNIT(a_server_that_fails_is_never_given_up),
        UNIT(a_loser_is_released_without_a_request),
        UNIT(a_record_without_finalizer_needs_nothing),
        UNIT(a_record_whose_finalizer_the_server_lost_is_deleted_all_the_same),
        UNIT(an_object_of_an_older_operator_is_deleted_by_its_spec),
        UNIT(what_an_older_operator_sent_is_never_let_go_in_silence),
        UNIT(what_an_older_operator_sent_and_we_refuse_is_deleted_by_its_name),
        UNIT(a_broken_annotation_of_a_record_whose_class_is_gone_is_no_silence),
        UNIT(a_broken_annotation_makes_no_orphan_of_what_the_status_remembers),
        UNIT(a_rebuilt_key_whose_class_is_gone_goes_through_the_class_of_the_spec),
        UNIT(a_key_at_a_server_that_its_class_left_is_released),
        UNIT(a_new_key_is_looked_at_before_it_is_written_ahead),
        UNIT(what_is_not_ours_is_told_before_it_is_replaced),
        UNIT(what_is_not_ours_stays_with_refuse),
        UNIT(what_was_replaced_is_told_until_the_content_is_another),
        UNIT(a_broken_annotation_is_rebuilt_from_status_and_spec),
        UNIT(a_removed_annotation_comes_back),
        UNIT(settings_have_the_defaults_of_their_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
