#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "controllers/dnsrecord/record_reconcile.h"

enum { SECOND_MS = 1000, ORPHAN_AFTER_MS = 600 * SECOND_MS };

const struct dnsrecord_settings dnsrecord_defaults = {
    .orphan_after_ms = ORPHAN_AFTER_MS,
    .conflict_names = true,
};

static const struct controller_setting settings[] = {
    {.name = "orphan-after",
     .type = SETTING_MS,
     .fallback = "10m",
     .min = SECOND_MS,
     .doc =
         "How long deletions go on with the last known Secret, or wait, once a class or its Secret "
         "is gone.",
     .offset = offsetof(struct dnsrecord_settings, orphan_after_ms)},
    {.name = "conflict-names",
     .type = SETTING_FLAG,
     .fallback = "true",
     .doc = "In a conflict, name the object that has the name, even one of another namespace.",
     .offset = offsetof(struct dnsrecord_settings, conflict_names)},
};

// ---- looking up ---------------------------------------------------------------------------------

const char *record_copy_text(const struct record_reconcile *reconcile, struct text text)
{
    return arena_copy(reconcile->arena, text.at ? text.at : "", text.len);
}

const struct object *record_find_class(const struct record_reconcile *reconcile, struct text name)
{
    const struct input_objects *classes = &reconcile->snapshot->inputs[0];
    for (size_t i = 0; i < classes->count; i++)
        if (text_equal(object_name(classes->objects[i]), name))
            return classes->objects[i];
    return NULL;
}

const struct backend_view *record_find_backend(const struct record_reconcile *reconcile,
                                               struct text class_name)
{
    const struct snapshot *snapshot = reconcile->snapshot;
    for (size_t i = 0; i < snapshot->backend_count; i++) {
        const char *name = snapshot->backend_names[i];
        if (text_is(class_name, name + sizeof DNSCLASS_BACKEND - 1))
            return snapshot->backends[i];
    }
    return NULL;
}

struct text record_class_server(const struct record_reconcile *reconcile, struct text class_name)
{
    struct dnsclass dnsclass;
    const struct object *object = record_find_class(reconcile, class_name);
    if (!object)
        return (struct text){0};
    dnsclass_unpack(reconcile->arena, object_spec(object), (struct text){0}, &dnsclass, NULL);
    return dnsclass_server(reconcile->arena, &dnsclass);
}

struct record_key *record_find_key(struct record_reconcile *reconcile,
                                   const struct dnsrecord_claim *claim)
{
    for (size_t i = 0; i < reconcile->key_count; i++)
        if (dnsrecord_claim_is_same_place(&reconcile->keys[i].claim, claim))
            return &reconcile->keys[i];
    return NULL;
}

struct dnsrecord_claim record_claim_of_spec(const struct record_reconcile *reconcile)
{
    return (struct dnsrecord_claim){
        .class_name = reconcile->record.class_name,
        .server = reconcile->server,
        .type = reconcile->set.type,
        .domain = reconcile->set.domain,
        .subdomain = reconcile->set.subdomain,
    };
}

static const struct dnsrecord_applied *find_applied(const struct record_reconcile *reconcile,
                                                    const struct dnsrecord_claim *claim)
{
    for (size_t i = 0; i < reconcile->ours.applied_count; i++)
        if (dnsrecord_claim_is_same_place(&reconcile->ours.applied[i].key, claim))
            return &reconcile->ours.applied[i];
    return NULL;
}

struct record_key *record_add_key(struct record_reconcile *reconcile,
                                  const struct dnsrecord_claim *claim)
{
    struct record_key *found = record_find_key(reconcile, claim);
    if (found || reconcile->key_count == RECORD_KEYS_MAX)
        return found;
    struct record_key *key = &reconcile->keys[reconcile->key_count++];
    *key = (struct record_key){
        .claim = *claim,
        .is_claimed = true,
        .intent = CLAIM_KEEP,
        .applied = find_applied(reconcile, claim),
        .receipt = snapshot_receipt(reconcile->snapshot, record_copy_text(reconcile, claim->server),
                                    claim->type, claim->domain, claim->subdomain),
    };
    return key;
}

bool record_is_going(const struct record_reconcile *reconcile)
{
    return reconcile->object->deleted_s || reconcile->object->is_lost;
}

bool record_may_send(const struct record_reconcile *reconcile, const struct record_key *key)
{
    return reconcile->object->has_finalizer && (key->is_stored || reconcile->object->is_lost);
}

// What a LOOK settled is only known, and neither set nor removed.
bool record_is_settled(const struct record_key *key)
{
    return !key->is_suspended && key->receipt && key->receipt->state == RECEIPT_SETTLED &&
           (key->receipt->intent != CLAIM_LOOK || key->intent == CLAIM_LOOK);
}

bool record_has_lost(const struct record_key *key)
{
    return key->receipt && key->receipt->state == RECEIPT_LOST;
}

bool record_is_in_way(const struct record_key *key)
{
    return key->is_stored && (key->receipt->is_in_way || key->receipt->is_open);
}

bool record_has_moved(const struct record_reconcile *reconcile, const struct record_key *key)
{
    struct text server = record_class_server(reconcile, key->claim.class_name);
    return server.len && key->claim.server.len && !text_equal(server, key->claim.server);
}

bool record_has_failed(const struct record_key *key)
{
    return key->receipt && key->receipt->attempts && !key->receipt->is_recalled;
}

bool record_failed_earlier(const struct record_key *key)
{
    return key->receipt && key->receipt->is_recalled;
}

void record_attempt_hash(const struct record_reconcile *reconcile, uint8_t out[8])
{
    const struct object *object = reconcile->object;
    struct text spec = object_spec(object);
    const uint64_t parts[4] = {digest_word(spec.at, spec.len), object->generation,
                               object->deleted_s,
                               reconcile->backend ? reconcile->backend->basis : 0};
    uint64_t word = digest_word(parts, sizeof parts);
    memcpy(out, &word, sizeof word);
}

const char *record_key_name(const struct record_reconcile *reconcile,
                            const struct dnsrecord_claim *claim)
{
    struct text name;
    if (!record_name_join(reconcile->arena, claim->domain, claim->subdomain, &name, NULL))
        name = claim->domain;
    return arena_printf(reconcile->arena, "%.*s %s", TEXT_ARGS(name),
                        record_type_name(claim->type));
}

const char *record_key_place(const struct record_reconcile *reconcile, const struct record_key *key)
{
    if (key->label)
        return key->label;
    return arena_printf(reconcile->arena, "%s at %.*s", record_key_name(reconcile, &key->claim),
                        TEXT_ARGS(key->claim.server));
}

int64_t record_orphan_ms(const struct record_reconcile *reconcile)
{
    int64_t deleted_ms = (int64_t)reconcile->object->deleted_s * 1000;
    int64_t started_ms = reconcile->snapshot->started_ms;
    return (deleted_ms > started_ms ? deleted_ms : started_ms) +
           reconcile->settings.orphan_after_ms;
}

// ---- opening ------------------------------------------------------------------------------------

static void read_class(struct record_reconcile *reconcile)
{
    struct findings findings = {.arena = reconcile->arena};
    reconcile->class_object = record_find_class(reconcile, reconcile->record.class_name);
    if (!reconcile->class_object)
        return;
    dnsclass_unpack(reconcile->arena, object_spec(reconcile->class_object), (struct text){0},
                    &reconcile->dnsclass, NULL);
    dnsclass_check(reconcile->arena, &reconcile->dnsclass, &findings);
    reconcile->class_faults = findings_join(&findings, FINDING_ERROR);
    reconcile->server = dnsclass_server(reconcile->arena, &reconcile->dnsclass);
    reconcile->backend = record_find_backend(reconcile, reconcile->record.class_name);
}

static void read_spec(struct record_reconcile *reconcile)
{
    struct findings findings = {.arena = reconcile->arena};
    int64_t ttl_s =
        reconcile->class_object ? reconcile->dnsclass.default_ttl_s : DNSRECORD_TTL_DEFAULT;
    reconcile->is_valid = dnsrecord_resolve(reconcile->arena, &reconcile->record, (uint32_t)ttl_s,
                                            &reconcile->set, &findings);
    reconcile->faults = findings_join(&findings, FINDING_ERROR);
    if (reconcile->is_valid)
        (void)record_name_join(reconcile->arena, reconcile->set.domain, reconcile->set.subdomain,
                               &reconcile->fqdn, NULL);
}

// True if the annotation is unreadable, or is missing although something was sent, as finalizer and
// Ready say: somebody removed it, or an operator that writes none made the object. The loser of a
// name sends nothing and has none.
static bool needs_rebuilding(const struct record_reconcile *reconcile)
{
    const struct condition *ready = conditions_find(&reconcile->ours.conditions, "Ready");
    if (reconcile->ours.has_broken_claims)
        return true;
    return reconcile->ours.claim_count == 0 && reconcile->object->has_finalizer && ready &&
           ready->reason != REASON_CONFLICT;
}

// May what the spec asks for stand at the server though no annotation says so? record_live() claims
// a valid spec in any case, so of a live record only an invalid one counts, if the status has it
// Ready. Of a record that goes the least sign counts: this is the last chance to delete it.
static bool may_have_been_sent(const struct record_reconcile *reconcile)
{
    const struct condition *ready = conditions_find(&reconcile->ours.conditions, "Ready");
    bool is_ready = ready && ready->status == CONDITION_TRUE;
    if (record_is_going(reconcile))
        return reconcile->is_valid || reconcile->ours.has_broken_claims || is_ready ||
               reconcile->ours.last_sync_s;
    return !reconcile->is_valid && is_ready &&
           reconcile->ours.observed_generation == (int64_t)reconcile->object->generation;
}

// Of the spec's class; where that is gone, of its backend that lingers; else absent.
static struct text last_server(const struct record_reconcile *reconcile)
{
    const struct backend_view *backend =
        record_find_backend(reconcile, reconcile->record.class_name);
    return reconcile->server.len || !backend ? reconcile->server : text_of(backend->registry);
}

static void add_key_of_spec(struct record_reconcile *reconcile)
{
    struct dnsrecord_claim claim;
    const struct dnsrecord *record = &reconcile->record;
    bool is_named = dnsrecord_claim_of(reconcile->arena, record, last_server(reconcile), &claim);
    if (is_named && claim.server.len) {
        record_add_key(reconcile, &claim);
        return;
    }
    if (!record_is_going(reconcile) || reconcile->key_count)
        return;
    if (!is_named)
        claim = (struct dnsrecord_claim){.class_name = record->class_name};
    struct record_key *key = record_add_key(reconcile, &claim);
    key->is_claimed = false;
    key->is_left_out = true;
    key->label =
        is_named ? arena_printf(reconcile->arena, "%s at the server of DNSClass %.*s",
                                record_key_name(reconcile, &claim), TEXT_ARGS(record->class_name))
                 : arena_printf(reconcile->arena, "%.*s.%.*s %.*s", TEXT_ARGS(record->subdomain),
                                TEXT_ARGS(record->domain), TEXT_ARGS(record->type));
}

static bool is_class_usable(const struct record_reconcile *reconcile)
{
    return !reconcile->class_faults && reconcile->backend &&
           reconcile->backend->fault.fault == FAULT_NONE;
}

// A key whose class is gone is reached through the class of the spec, if that is at its server and
// can be used.
static struct dnsrecord_claim with_present_class(const struct record_reconcile *reconcile,
                                                 struct dnsrecord_claim claim)
{
    if (is_class_usable(reconcile) && !record_find_class(reconcile, claim.class_name) &&
        text_equal(claim.server, reconcile->server))
        claim.class_name = reconcile->record.class_name;
    return claim;
}

static void list_keys(struct record_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->ours.claim_count; i++) {
        struct dnsrecord_claim claim = with_present_class(reconcile, reconcile->ours.claims[i]);
        struct record_key *key = record_add_key(reconcile, &claim);
        if (key)
            key->is_stored = true;
    }
    if (!needs_rebuilding(reconcile))
        return;
    reconcile->was_unreadable = reconcile->ours.has_broken_claims;
    for (size_t i = 0; i < reconcile->ours.applied_count; i++) {
        struct dnsrecord_claim claim =
            with_present_class(reconcile, reconcile->ours.applied[i].key);
        record_add_key(reconcile, &claim);
    }
    if (may_have_been_sent(reconcile))
        add_key_of_spec(reconcile);
}

static void reconcile_open(struct record_reconcile *reconcile, const struct snapshot *snapshot,
                           struct decision *out)
{
    *reconcile = (struct record_reconcile){
        .snapshot = snapshot, .arena = snapshot->arena, .object = snapshot->subject, .out = out};
    reconcile->settings = snapshot->settings
                              ? *(const struct dnsrecord_settings *)snapshot->settings
                              : dnsrecord_defaults;
    dnsrecord_unpack(reconcile->arena, object_spec(reconcile->object),
                     object_managed(reconcile->object), &reconcile->record, &reconcile->ours);
    read_class(reconcile);
    read_spec(reconcile);
    list_keys(reconcile);
}

// ---- closing ------------------------------------------------------------------------------------

// Edits that no status tells of. After one, only the spec at hand can have been sent since: the
// server has it, or what the status remembers. After two, the first may have been sent and the
// second have taken it back: the content is the remembered one, and another stands there. An old
// key may have been deleted for a single edit.
static bool has_missed_edits(const struct record_reconcile *reconcile, const struct record_key *key)
{
    int64_t missed = (int64_t)reconcile->object->generation - reconcile->ours.observed_generation;
    bool is_old = reconcile->wanted && key != reconcile->wanted;
    return missed != 0 && (missed != 1 || is_old);
}

// Does what the status remembers still stand there? Not if something may have been sent since.
static bool is_trusted(const struct record_reconcile *reconcile, const struct record_key *key)
{
    static const enum reason doubtful[] = {
        REASON_NONE,
        REASON_PENDING,
        REASON_SERVER_UNREACHABLE,
        REASON_SERVER_ERROR,
        REASON_RATE_LIMITED,
        REASON_QUOTA_EXCEEDED,
        REASON_AUTHENTICATION_FAILED,
    };
    const struct condition *ready = conditions_find(&reconcile->ours.conditions, "Ready");
    if (!key->applied || !key->is_stored || !ready ||
        !text_equal(key->applied->key.class_name, key->claim.class_name) ||
        has_missed_edits(reconcile, key))
        return false;
    for (size_t i = 0; i < COUNT_OF(doubtful); i++)
        if (ready->reason == doubtful[i])
            return false;
    return true;
}

static uint64_t epoch_of(const struct record_reconcile *reconcile)
{
    const uint64_t parts[2] = {object_spec_hash(reconcile->object), reconcile->object->generation};
    return hash_octets(parts, sizeof parts);
}

// The status counts the failures of one kind of change: of removals when the record is Ready or
// goes, else of the SET of its spec.
static bool remembers_failure(const struct record_reconcile *reconcile,
                              const struct record_key *key)
{
    uint8_t hash[8];
    const struct condition *ready = conditions_find(&reconcile->ours.conditions, "Ready");
    if (!reconcile->ours.attempts || !reconcile->backend || !ready ||
        !text_equal(key->claim.class_name, reconcile->record.class_name))
        return false;
    bool is_of_deletion = record_is_going(reconcile) || ready->status == CONDITION_TRUE;
    record_attempt_hash(reconcile, hash);
    return !memcmp(hash, reconcile->ours.attempt_hash, sizeof hash) &&
           key->intent == (is_of_deletion ? CLAIM_REMOVE : CLAIM_SET);
}

static void add_claim(struct record_reconcile *reconcile, const struct record_key *key)
{
    struct claim_want *want = decision_add_claim(reconcile->out, reconcile->arena);
    *want = (struct claim_want){
        .backend = arena_printf(reconcile->arena, DNSCLASS_BACKEND "%.*s",
                                TEXT_ARGS(key->claim.class_name)),
        .registry = record_copy_text(reconcile, key->claim.server),
        .intent = key->intent,
        .is_suspended = key->is_suspended,
        .epoch = epoch_of(reconcile),
    };
    if (key->intent == CLAIM_SET)
        want->set = *key->content;
    want->set.type = key->claim.type;
    want->set.domain = key->claim.domain;
    want->set.subdomain = key->claim.subdomain;
    want->look_since_s = key->look_since_s;
    // The look before our first write is news in a plan; the one for `was`, which has no time, is
    // none.
    want->is_shown = key->intent == CLAIM_LOOK && key->look_since_s;
    if (key->intent == CLAIM_SET && key->claim.replaces.len)
        want->replaces = record_copy_text(reconcile, key->claim.replaces);
    bool is_known = is_trusted(reconcile, key);
    want->has_known = key->intent == CLAIM_SET && is_known;
    want->may_stand = key->is_stored && (!is_known || key->intent == CLAIM_REMOVE);
    if (want->has_known)
        memcpy(want->known, key->applied->hash, sizeof want->known);
    if (!remembers_failure(reconcile, key))
        return;
    want->attempts = reconcile->ours.attempts;
    want->not_before_ms = reconcile->ours.next_attempt_s * 1000;
}

static bool is_same_refusal(const struct dnsrecord_refusal *a, const struct dnsrecord_refusal *b)
{
    return a == b || (a && b && text_equal(a->spec, b->spec) && text_equal(a->text, b->text));
}

static bool is_same_in_annotation(const struct dnsrecord_claim *a, const struct dnsrecord_claim *b)
{
    bool is_same_was = !a->was == !b->was && (!a->was || record_set_equal(a->was, b->was));
    return dnsrecord_claim_is_same_place(a, b) && text_equal(a->class_name, b->class_name) &&
           is_same_refusal(a->refusal, b->refusal) && is_same_was &&
           text_equal(a->replaces, b->replaces);
}

// The annotation where it is to change, and always beside a finalizer that is added: both are one
// write.
static void add_annotation_change(struct record_reconcile *reconcile)
{
    struct dnsrecord_claim claims[RECORD_KEYS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < reconcile->key_count && count < DNSRECORD_CLAIMS_MAX; i++)
        if (!reconcile->keys[i].is_left_out)
            claims[count++] = reconcile->keys[i].claim;
    bool is_same = count == reconcile->ours.claim_count && !reconcile->ours.has_broken_claims;
    for (size_t i = 0; i < count && is_same; i++)
        is_same = is_same_in_annotation(&claims[i], &reconcile->ours.claims[i]);
    if (is_same && reconcile->out->finalizer != FINALIZER_ADD)
        return;
    reconcile->out->metadata_changes[reconcile->out->metadata_change_count++] =
        (struct decision_metadata_change){
            .key = DNSRECORD_CLAIMS,
            .value = count ? dnsrecord_claims_encode(reconcile->arena, claims, count) : NULL,
        };
}

static bool has_key_to_keep(const struct record_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->key_count; i++)
        if (!reconcile->keys[i].is_left_out)
            return true;
    return false;
}

// Without finalizer and annotation nothing may be sent, nor may the object go.
static void report_refused_write(struct record_reconcile *reconcile)
{
    const struct error *refused = reconcile->snapshot->refused;
    const char *what = reconcile->out->finalizer == FINALIZER_REMOVE
                           ? "nothing is left to do, but our finalizer can't be removed"
                           : "finalizer and annotation can't be written, so nothing is sent";
    if (refused)
        record_report(reconcile,
                      refused->fault == FAULT_AUTH ? REASON_FORBIDDEN : REASON_VALIDATION_FAILED,
                      arena_printf(reconcile->arena, "%s: %s", what, refused->text));
}

static void reconcile_close(struct record_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->key_count; i++)
        if (reconcile->keys[i].is_claimed)
            add_claim(reconcile, &reconcile->keys[i]);
    if (reconcile->out->finalizer == FINALIZER_LEAVE && !reconcile->object->is_lost) {
        if (!reconcile->object->deleted_s && !reconcile->object->has_finalizer &&
            has_key_to_keep(reconcile))
            reconcile->out->finalizer = FINALIZER_ADD;
        add_annotation_change(reconcile);
    }
    report_refused_write(reconcile);
    record_report_decision(reconcile);
}

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)model;
    struct record_reconcile reconcile;
    // Without a subject the object is gone, and had no finalizer: its claims are forgotten.
    if (!snapshot->subject || !snapshot->inputs[0].is_synced)
        return;
    reconcile_open(&reconcile, snapshot, out);
    if (record_is_going(&reconcile))
        record_gone(&reconcile);
    else
        record_live(&reconcile);
    reconcile_close(&reconcile);
}

// ---- inputs -------------------------------------------------------------------------------------

static void want_name(struct strings *out, const char *prefix, struct text class_name)
{
    for (size_t i = 0; i < out->count; i++)
        if (text_is(class_name, out->items[i] + strlen(prefix)))
            return;
    if (class_name.len)
        strings_add(out, "%s%.*s", prefix, TEXT_ARGS(class_name));
}

// Also of what is applied: a broken annotation is made anew from that.
static void want_names(const struct object *subject, struct strings *out, const char *prefix)
{
    struct dnsrecord record;
    struct dnsrecord_managed ours;
    dnsrecord_unpack(out->arena, object_spec(subject), object_managed(subject), &record, &ours);
    want_name(out, prefix, record.class_name);
    for (size_t i = 0; i < ours.claim_count; i++)
        want_name(out, prefix, ours.claims[i].class_name);
    for (size_t i = 0; i < ours.applied_count; i++)
        want_name(out, prefix, ours.applied[i].key.class_name);
}

static void want_classes(const struct object *subject, struct strings *out)
{
    want_names(subject, out, "");
}

static void want_backends(const struct object *subject, struct strings *out)
{
    want_names(subject, out, DNSCLASS_BACKEND);
}

static const struct input inputs[] = {
    {.kind = &dnsclass_kind, .lookup_keys = want_classes},
};
static const struct backend_input backends = {.lookup_keys = want_backends};

static const struct controller_metric metrics[] = {
    {.name = "signpost_dnsrecords",
     .title = "DNSRecords",
     .type = METRIC_KEYS,
     .reason = "RecordCreated|RecordUpdated",
     .help = "DNSRecords by class and reason of their condition Ready."},
    {.name = "signpost_dnsrecord_retries_total",
     .title = "Changes that were sent again",
     .type = METRIC_RETRIES,
     .help = "Changes that were sent again, by class and reason of the failure."},
};

static const char *const outward_reasons[] = {"DNSClassNotFound", "SecretNotFound", "Conflict",
                                              "NotPermitted", NULL};

static const char *const follow[] = {"get", "list", "watch", NULL};
static const char *const follow_and_patch[] = {"get", "list", "watch", "patch", NULL};
static const char *const patch[] = {"patch", NULL};

static const struct kube_right rights[] = {
    {.group = DNS_GROUP,
     .resource = "dnsrecords",
     .verbs = follow_and_patch,
     .scope = RIGHT_OBJECTS,
     .why = "Records that shall exist; what is written ahead: the finalizer and the claims."},
    {.group = DNS_GROUP,
     .resource = "dnsrecords/status",
     .verbs = patch,
     .scope = RIGHT_OBJECTS,
     .why = "What became of a record."},
    {.group = DNS_GROUP,
     .resource = "dnsclasses",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .why = "Servers that records go to."},
    {0},
};

static const struct dependency dependencies[] = {{.type = RUNS_BY_DEFAULT}, {.type = DEPENDS_END}};

const struct controller dnsrecord_controller = {
    .name = "dnsrecord",
    .kind = &dnsrecord_kind,
    .finalizer = DNSRECORD_FINALIZER,
    .inputs = inputs,
    .input_count = COUNT_OF(inputs),
    .backends = &backends,
    .dependencies = dependencies,
    .decide = decide,
    .outward_reasons = outward_reasons,
    .rights = rights,
    .settings = settings,
    .setting_count = COUNT_OF(settings),
    .settings_size = sizeof(struct dnsrecord_settings),
    .metrics = metrics,
    .metric_count = COUNT_OF(metrics),
};
