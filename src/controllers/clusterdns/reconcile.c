#include "controllers/clusterdns/reconcile.h"

#include <string.h>

#include "base/digest.h"

enum { DEBOUNCE_S = 1, SHA256_OCTETS = 32 };

// ---- which Corefile -----------------------------------------------------------------------------

// The status begins as it was before: what nothing changes below stays in it.
static void carry_over(struct reconcile *reconcile)
{
    if (reconcile->before.config.mode.len &&
        !text_is(reconcile->before.config.mode, mode_names[reconcile->mode])) {
        reconcile->before.config.proved_count = 0; // these are of another file
        reconcile->before.config.written = (struct text){0};
        reconcile->before.config.refused = (struct text){0};
        reconcile->before.config.refusal = (struct text){0};
    }
    reconcile->now.config = reconcile->before.config;
    reconcile->now.config.mode = text_of(mode_names[reconcile->mode]);
    reconcile->now.config.layout = text_of(reconcile->settings->layout);
    reconcile->now.config.version =
        text_of(arena_printf(reconcile->arena, "%u.%u.%u", reconcile->version.major,
                             reconcile->version.minor, reconcile->version.patch));
    if (reconcile->mode == MODE_FILE)
        reconcile->now.config.config_map = text_of(reconcile->settings->corefile_path);
    else
        reconcile->now.config.config_map = text_of(
            arena_printf(reconcile->arena, "%.*s/%.*s", TEXT_ARGS(reconcile->target.namespace_),
                         TEXT_ARGS(reconcile->target.name)));
}

static const char *sha256_of(struct reconcile *reconcile, struct text text)
{
    uint8_t digest[DIGEST_MAX];
    char hex[2 * DIGEST_MAX + 1];
    digest_of(DIGEST_SHA256, text, digest);
    hex_encode(digest, SHA256_OCTETS, hex);
    return arena_copy_text(reconcile->arena, hex);
}

static void name_config(struct reconcile *reconcile)
{
    struct dns_config *config = &reconcile->now.config;
    config->id = text_of(arena_copy_text(reconcile->arena, reconcile->id));
    config->sha256 = text_of(sha256_of(reconcile, reconcile->text));
}

// Written ahead: the status names the config before anything of it is written, so that after a
// crash its copy is looked up.
static void begin_config(struct reconcile *reconcile)
{
    struct dns_config *config = &reconcile->now.config;
    name_config(reconcile);
    config->since_s = reconcile->in->now_ms / 1000;
    config->refusal = (struct text){0};
    if (text_is(config->refused, reconcile->id))
        config->refused = (struct text){0}; // another one was wanted since: it gets another try
    if (reconcile->mode == MODE_FILE && !is_unmanaged(reconcile))
        decision_add_event(reconcile->out, false, EVENT_COREFILE_WRITTEN,
                           arena_printf(reconcile->arena, "config %s goes to %s", reconcile->id,
                                        reconcile->settings->corefile_path));
}

// Changes within DEBOUNCE_S are written together.
static bool is_too_early(struct reconcile *reconcile)
{
    int64_t begins_ms = (reconcile->before.config.since_s + DEBOUNCE_S) * 1000;
    if (!reconcile->before.config.id.len || reconcile->in->now_ms >= begins_ms ||
        reconcile->in->now_ms < reconcile->before.config.since_s * 1000)
        return false;
    decision_wake_at(reconcile->out, begins_ms);
    return true;
}

static bool is_new(const struct reconcile *reconcile)
{
    return !text_is(reconcile->before.config.id, reconcile->id) || !knows_bundles(reconcile);
}

// Says what stands now where CoreDNS refused a Corefile.
static const char *explain_return(const struct reconcile *reconcile)
{
    if (!reconcile->is_restoring)
        return "what stands there stays, as there is none to go back to";
    return reconcile->id[0] ? "the one before stands there" : "our part of it is taken out";
}

// CoreDNS refused the Corefile that is wanted: the last good one takes its place.
static void go_back(struct reconcile *reconcile)
{
    const char *refused = arena_copy_text(reconcile->arena, reconcile->id);
    reconcile->is_restoring = make_earlier_text(reconcile);
    if (reconcile->is_restoring && reconcile->id[0])
        name_config(reconcile);
    reconcile->fault = REASON_COREFILE_REFUSED;
    reconcile->fault_text = arena_printf(
        reconcile->arena, "CoreDNS refused config %s, and %s; another spec is tried at once: %.*s",
        refused, explain_return(reconcile), TEXT_ARGS(reconcile->before.config.refusal));
}

static bool was_refused(const struct reconcile *reconcile)
{
    return reconcile->before.config.refusal.len &&
           text_is(reconcile->before.config.refused, reconcile->id);
}

// ---- what follows -------------------------------------------------------------------------------

// The copy comes first: the Pod mounts it.
static bool is_loadable(struct reconcile *reconcile)
{
    const struct value *annotations;
    if (!strcmp(reconcile->settings->preflight, "off"))
        return true;
    return copy_text(reconcile, text_of(reconcile->id), &annotations).at &&
           preflight_config(reconcile) == PREFLIGHT_PASSED;
}

// True: what is wanted stands there, or is on its way.
static bool write_config(struct reconcile *reconcile)
{
    if (reconcile->mode == MODE_FILE) {
        want_file(reconcile);
        return true;
    }
    if (!reconcile->is_restoring)
        want_copy(reconcile);
    if (reconcile->mode == MODE_OWNED)
        keep_bundle_copies(reconcile); // before a Pod mounts them
    drop_preflights(reconcile);
    if (!reconcile->is_restoring && !is_in_place(reconcile) && !is_loadable(reconcile))
        return false;
    if (reconcile->mode == MODE_OWNED)
        want_workload(reconcile);
    if (is_in_place(reconcile))
        return true;
    want_target(reconcile, reconcile->text, reconcile->annotations);
    reconcile->now.config.since_s = reconcile->in->now_ms / 1000;
    reconcile->now.config.written = text_of(arena_copy_text(reconcile->arena, reconcile->id));
    return true;
}

static bool is_proved(const struct reconcile *reconcile)
{
    const struct proof *proof = &reconcile->proof;
    return proof->total && proof->current == proof->total;
}

static void note_proof(struct reconcile *reconcile)
{
    struct dns_config *config = &reconcile->now.config;
    struct text id = text_of(arena_copy_text(reconcile->arena, reconcile->id));
    if (!is_proved(reconcile) || reconcile->is_restoring)
        return;
    if (reconcile->mode == MODE_FILE && !is_unmanaged(reconcile))
        keep_good_file(reconcile);
    config->refused = (struct text){0};
    config->refusal = (struct text){0};
    if (config->proved_count && text_equal(config->proved[0], id))
        return;
    config->proved[1] = config->proved[0];
    config->proved[0] = id;
    config->proved_count += config->proved_count < DNS_PROVED_MAX;
}

void refuse_config(struct reconcile *reconcile, struct text why)
{
    struct dns_config *config = &reconcile->now.config;
    config->refused = text_of(arena_copy_text(reconcile->arena, reconcile->id));
    config->refusal = why;
    decision_add_event(
        reconcile->out, true, EVENT_COREFILE_REFUSED,
        arena_printf(reconcile->arena, "config %s: %.*s", reconcile->id, TEXT_ARGS(why)));
}

static void note_refusal(struct reconcile *reconcile)
{
    const char *crash = reconcile->proof.crash;
    const struct dns_config *config = &reconcile->now.config;
    if (config->proved_count && text_is(config->proved[0], reconcile->id))
        return; // all Pods ran it: what ails them now is not the text
    bool is_tried = reconcile->mode == MODE_FILE
                        ? !reconcile->fault && text_equal(reconcile->target.text, reconcile->text)
                        : is_in_place(reconcile);
    bool can_go_back = reconcile->now.config.proved_count || reconcile->mode == MODE_ADOPTED ||
                       reconcile->mode == MODE_IMPORT;
    if (reconcile->is_restoring || !can_go_back || !is_tried || !is_config_refused(reconcile))
        return;
    reconcile->is_taken_back = true;
    refuse_config(
        reconcile,
        text_of(crash ? crash : "no Pod has loaded it in time, and all run an older one"));
}

static void clean_up(struct reconcile *reconcile)
{
    list_copies(reconcile);
    if (!is_unmanaged(reconcile))
        drop_copies(reconcile);
}

static void manage(struct reconcile *reconcile)
{
    bool is_refused = reconcile->text.at && was_refused(reconcile);
    if (is_refused)
        go_back(reconcile);
    note_bundles(reconcile); // of the text that is to stand there
    if (!reconcile->text.at && !reconcile->is_restoring)
        return; // what stands there stays
    prove_config(reconcile);
    if (is_refused && !reconcile->is_restoring) { // there is none to go back to: so it does here
        drop_preflights(reconcile);
        return;
    }
    if (!reconcile->is_restoring && is_new(reconcile)) {
        if (is_too_early(reconcile))
            return;
        begin_config(reconcile);
        clean_up(reconcile);
        return;
    }
    if (is_unmanaged(reconcile))
        drop_preflights(reconcile);
    else if (write_config(reconcile) && !reconcile->is_restoring)
        (void)release_other_modes(reconcile);
    look_at_upstreams(reconcile);
    note_proof(reconcile);
    if (!is_unmanaged(reconcile))
        note_refusal(reconcile);
    clean_up(reconcile);
}

static void note_refused_write(struct reconcile *reconcile)
{
    if (!reconcile->in->refused || reconcile->fault)
        return;
    reconcile->fault = REASON_FORBIDDEN;
    reconcile->fault_text = arena_copy_text(reconcile->arena, reconcile->in->refused->text);
}

static void decide_main(struct reconcile *reconcile)
{
    reconcile->out->finalizer = FINALIZER_ADD;
    open_coredns(reconcile);
    if (reconcile->mode == MODE_FILE && !read_file(reconcile))
        return;
    find_placement(reconcile);
    make_text(reconcile);
    carry_over(reconcile);
    find_obstacle(reconcile);
    manage(reconcile);
    note_refused_write(reconcile);
    report_conditions(reconcile);
}

// The Corefile has entries of all objects, so what becomes of it concerns each of them.
static void note_fault_of_main(struct reconcile *reconcile)
{
    reconcile->fault = REASON_COREFILE_REFUSED;
    reconcile->fault_text =
        arena_printf(reconcile->arena,
                     "CoreDNS refused config %s, which has the entries of all DNS "
                     "objects: %.*s",
                     reconcile->id, TEXT_ARGS(reconcile->before.config.refusal));
}

static void decide_fragment(struct reconcile *reconcile)
{
    if (!reconcile->settings->has_fragments) {
        report_fragment(reconcile, "only the DNS object " DNS_MAIN_NAME
                                   " counts, as --dns-fragments is false");
        return;
    }
    if (!reconcile->object_count) {
        report_fragment(reconcile,
                        "fragments are served together with the DNS object " DNS_MAIN_NAME
                        ", which is not there");
        return;
    }
    if (reconcile->mode == MODE_FILE && !read_file(reconcile))
        return;
    make_text(reconcile);
    if (reconcile->text.at && was_refused(reconcile))
        note_fault_of_main(reconcile);
    report_fragment(reconcile, NULL);
}

// What is remembered of the Corefile stands in the status of the main object.
static void remember_config(struct reconcile *reconcile)
{
    struct dns_status main_status;
    const struct object *main_object =
        find_input_object(reconcile, INPUT_DNSES, "", TEXT(DNS_MAIN_NAME));
    if (reconcile->is_main || !main_object)
        return;
    dns_status_unpack(reconcile->arena, object_spec(main_object), object_managed(main_object),
                      &main_status);
    reconcile->before.config = main_status.config;
}

static bool reconcile_open(struct reconcile *reconcile, const struct snapshot *snapshot,
                           struct decision *out)
{
    *reconcile = (struct reconcile){
        .arena = snapshot->arena,
        .in = snapshot,
        .out = out,
        .settings = snapshot->settings,
        .is_main = text_is(snapshot->name, DNS_MAIN_NAME),
        .id = arena_new_array(snapshot->arena, char, CONFIG_ID_LEN + 1),
    };
    if (!snapshot->subject)
        return false;
    dns_unpack(reconcile->arena, object_spec(snapshot->subject), &reconcile->spec);
    dns_status_unpack(reconcile->arena, object_spec(snapshot->subject),
                      object_managed(snapshot->subject), &reconcile->before);
    remember_config(reconcile);
    find_mode(reconcile);
    return true;
}

static void leave_alone(struct reconcile *reconcile, bool is_going)
{
    if (reconcile->mode == MODE_FOREIGN && !is_going)
        decision_add_event(reconcile->out, true, EVENT_FOREIGN_OPERATOR,
                           "openshift-dns-operator has the DNS of this cluster, so Signpost leaves "
                           "it alone; `signpost corefile check` and `convert` help all the same");
    // The finalizer is OpenShift's own.
    if (reconcile->mode == MODE_OFF && is_going && reconcile->is_main &&
        !has_openshifts_operator(reconcile))
        reconcile->out->finalizer = FINALIZER_REMOVE;
}

static void decide_object(struct reconcile *reconcile, bool is_going)
{
    if (is_going && reconcile->is_main) {
        release_all(reconcile);
        return;
    }
    if (is_going)
        return; // nothing is a fragment's to take away
    collect_objects(reconcile);
    if (!reconcile->is_main)
        decide_fragment(reconcile);
    else if (reconcile->object_count) // else somebody has forged a recording
        decide_main(reconcile);
}

void clusterdns_decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct reconcile reconcile;
    (void)model;
    if (!reconcile_open(&reconcile, snapshot, out))
        return;
    if (is_left_alone(&reconcile))
        leave_alone(&reconcile, snapshot->subject->deleted_s);
    else
        decide_object(&reconcile, snapshot->subject->deleted_s);
    corefile_free(reconcile.live);
    corefile_free(reconcile.earlier);
}
