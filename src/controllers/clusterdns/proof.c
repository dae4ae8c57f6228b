#include "controllers/clusterdns/reconcile.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/hash.h"

// Which Pods run the Corefile that is wanted: each is asked, and answers with its config id.

enum {
    WAITING_MS = 1500, // Converged within 2 s of the last load: the status comes on top
    REST_MS = 60000,
    IN_FLIGHT_MAX = 32,
    RETRY_BASE_MS = 1000,
    RETRY_MAX_MS = 60000,
    DNS_PORT = 53,
    REFUSED_EXIT = 1, // of a CoreDNS that cannot load its file; others are kills
    SYNC_S = 120,     // by when kubelet has brought another text into the Pods
};

void open_coredns(struct reconcile *reconcile)
{
    *decision_add_backend(reconcile->out, reconcile->arena) = (struct backend_want){
        .name = BACKEND_NAME,
        .provider = "coredns",
        .registry = BACKEND_NAME,
        .config = value_make(reconcile->arena, VALUE_MAP),
        .max_in_flight = IN_FLIGHT_MAX,
        .retry_base_ms = RETRY_BASE_MS,
        .retry_max_ms = RETRY_MAX_MS,
        .retry_slow_ms = RETRY_MAX_MS,
        .was_well = true,
        .guard_percent = 100,
    };
}

// Nobody waits for a Pod whose node is gone.
static bool is_on_dead_node(const struct reconcile *reconcile, const struct pod *pod)
{
    struct node node;
    const struct object *seen = find_input_object(reconcile, INPUT_NODES, "", pod->node);
    if (!seen)
        return false;
    node_unpack(reconcile->arena, object_spec(seen), &node);
    return !node.is_ready;
}

static void note_host(struct reconcile *reconcile, const char *host)
{
    struct proof *proof = &reconcile->proof;
    arena_reserve(reconcile->arena, &proof->hosts, &proof->host_capacity, proof->host_count + 1);
    proof->hosts[proof->host_count++] = host;
}

static const char *address_of(const struct reconcile *reconcile, const char *host, unsigned port)
{
    return arena_printf(reconcile->arena, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
}

bool was_converged(const struct reconcile *reconcile)
{
    const struct condition *before = conditions_find(&reconcile->before.conditions, "Converged");
    return before && before->status == CONDITION_TRUE &&
           text_is(reconcile->before.config.id, reconcile->id);
}

static void add_stale(struct proof *proof, struct text name)
{
    if (proof->stale_count < DNS_STALE_MAX)
        proof->stale[proof->stale_count++] = name;
}

const struct answer_view *ask_coredns(struct reconcile *reconcile, const char *question,
                                      const char *address)
{
    struct value *about = value_make(reconcile->arena, VALUE_MAP);
    value_put_text(reconcile->arena, about, "address", address);
    *decision_add_question(reconcile->out, reconcile->arena) = (struct question){
        .backend = BACKEND_NAME,
        .name = question,
        .about = about,
        .good_for_ms = was_converged(reconcile) ? REST_MS : WAITING_MS,
        .epoch = hash_octets(reconcile->id, CONFIG_ID_LEN),
    };
    return snapshot_answer(reconcile->in, BACKEND_NAME, question, about);
}

// The config id that a CoreDNS answered last.
static const struct answer_view *ask_config(struct reconcile *reconcile, const char *address)
{
    return ask_coredns(reconcile, "config", address);
}

static struct text id_in(const struct answer_view *answer)
{
    return answer && answer->is_ok ? value_text_at(answer->value, "id") : (struct text){0};
}

bool answers_wanted_config(struct reconcile *reconcile, struct text ip)
{
    const char *host = arena_copy(reconcile->arena, ip.at, ip.len);
    return text_is(
        id_in(ask_config(reconcile, address_of(reconcile, host, reconcile->merged.input.port))),
        reconcile->id);
}

// `id`: of what it runs; absent: it is silent, or was not asked yet.
static void count_pod(struct reconcile *reconcile, struct text id, bool is_asked, struct text name)
{
    struct proof *proof = &reconcile->proof;
    proof->total++;
    if (!is_asked)
        proof->unknown++;
    else if (text_is(id, reconcile->id))
        proof->current++;
    else if (id.at)
        proof->old++;
    else
        proof->silent++;
    if (!text_is(id, reconcile->id))
        add_stale(proof, name);
}

static void ask(struct reconcile *reconcile, const char *address, struct text name)
{
    const struct answer_view *answer = ask_config(reconcile, address);
    count_pod(reconcile, id_in(answer), answer && answer->answered_ms, name);
}

// A Pod of the template before may lack what a new Corefile mounts, and is replaced anyway.
static bool is_of_other_template(const struct reconcile *reconcile, const struct pod *pod)
{
    return !strcmp(reconcile->settings->update, "rolling") && pod->config_id.len &&
           !text_is(pod->config_id, reconcile->id);
}

// A port that somebody else has is no fault of the text.
bool is_about_text(struct text message)
{
    return !message.len || !memmem(message.at, message.len, "bind: ", 6);
}

// An end before the Corefile stood there says nothing of it. A Pod from before it may have the one
// before for a while, which was refused.
static bool is_end_of_earlier(const struct reconcile *reconcile, int64_t made_s, int64_t finished_s)
{
    const struct dns_config *config = &reconcile->now.config;
    bool may_have_refused = config->refused.len && made_s < config->since_s;
    return finished_s && finished_s < config->since_s + (may_have_refused ? (int64_t)SYNC_S : 0);
}

// A Pod that ended on a Corefile error keeps CoreDNS's own line.
static void note_crash(struct reconcile *reconcile, const struct object *object,
                       const struct pod *pod)
{
    const struct pod_end *end = pod->end.is_known ? &pod->end : &pod->last_end;
    if (!end->is_known || end->exit_code != REFUSED_EXIT || !end->message.len ||
        !is_about_text(end->message) || reconcile->proof.crash ||
        is_of_other_template(reconcile, pod) ||
        is_end_of_earlier(reconcile, object->created_s, end->finished_s))
        return;
    reconcile->proof.crash = arena_copy(reconcile->arena, end->message.at, end->message.len);
}

static void ask_pod(struct reconcile *reconcile, const struct object *object)
{
    struct pod pod;
    pod_unpack(object_spec(object), &pod);
    if (object->deleted_s)
        return;
    note_crash(reconcile, object, &pod);
    if (!pod.ip.len || !text_is(pod.phase, "Running") || is_on_dead_node(reconcile, &pod))
        return;
    const char *host = arena_copy(reconcile->arena, pod.ip.at, pod.ip.len);
    note_host(reconcile, host);
    if (reconcile->proof.is_named) {
        ask(reconcile, address_of(reconcile, host, reconcile->merged.input.port),
            object_name(object));
        return;
    }
    bool is_asked;
    struct text id = find_unnamed_id(reconcile, object, &pod, &is_asked);
    count_pod(reconcile, id, is_asked, object_name(object));
}

static void ask_pods(struct reconcile *reconcile)
{
    bool is_own = reconcile->mode == MODE_OWNED;
    const char *namespace_ = is_own ? reconcile->settings->dns_namespace : SYSTEM_NAMESPACE;
    const struct input_objects *pods =
        &reconcile->in->inputs[is_own ? INPUT_OWN_PODS : INPUT_KUBE_DNS_PODS];
    for (size_t i = 0; i < pods->count; i++)
        if (text_is(object_namespace(pods->objects[i]), namespace_))
            ask_pod(reconcile, pods->objects[i]);
}

static void ask_server(struct reconcile *reconcile, const char *text)
{
    char host[INET6_ADDRSTRLEN];
    struct dns_address address;
    if (!dns_address_read(text_of(text), &address) ||
        !inet_ntop(address.len == 4 ? AF_INET : AF_INET6, address.octets, host, sizeof host))
        return;
    const char *copy = arena_copy_text(reconcile->arena, host);
    note_host(reconcile, copy);
    ask(reconcile, address_of(reconcile, copy, address.port ? address.port : DNS_PORT),
        text_of(text));
}

void prove_config(struct reconcile *reconcile)
{
    const char *const *addresses = reconcile->settings->coredns_addresses;
    if (!reconcile->id[0])
        return;
    find_proof(reconcile);
    if (reconcile->mode != MODE_FILE)
        ask_pods(reconcile);
    for (size_t i = 0; reconcile->mode == MODE_FILE && addresses && addresses[i]; i++)
        ask_server(reconcile, addresses[i]);
}

// ---- what follows -------------------------------------------------------------------------------

// Pods of an own CoreDNS that are replaced one by one have until then from the last of them on.
int64_t deadline_of(const struct reconcile *reconcile)
{
    int64_t since_s = reconcile->now.config.since_s;
    const struct input_objects *pods = &reconcile->in->inputs[INPUT_OWN_PODS];
    const char *namespace_ = reconcile->settings->dns_namespace;
    bool is_rolling =
        reconcile->mode == MODE_OWNED && !strcmp(reconcile->settings->update, "rolling");
    for (size_t i = 0; is_rolling && i < pods->count; i++)
        if (text_is(object_namespace(pods->objects[i]), namespace_) &&
            !pods->objects[i]->deleted_s && pods->objects[i]->created_s > since_s)
            since_s = pods->objects[i]->created_s;
    return since_s * 1000 + reconcile->settings->deadline_ms;
}

bool is_past_deadline(const struct reconcile *reconcile)
{
    return reconcile->in->now_ms >= deadline_of(reconcile);
}

// Pods that do not answer at all are no proof: port 53 may be closed to us.
bool is_config_refused(const struct reconcile *reconcile)
{
    const struct proof *proof = &reconcile->proof;
    if (proof->crash && !proof->current)
        return true;
    return is_past_deadline(reconcile) && !proof->current && proof->old;
}
