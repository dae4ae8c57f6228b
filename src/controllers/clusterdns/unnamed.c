#include "controllers/clusterdns/reconcile.h"

#include <string.h>

// What Pods run of a Corefile that does not tell its id, as others answer version.bind in it, or
// the layout is OpenShift's: by the hash in their metrics, or by being ready.

enum { WAITING_MS = 1500, REST_MS = 60000 };

static const struct text another = {"another", 7}; // no config id

// Is it known from its text which Corefile it is? `out` gets what the metrics then show. Files that
// it imports are part of that, and their paths.
static bool hash_text(const struct reconcile *reconcile, char out[RELOAD_HASH_LEN + 1])
{
    const struct corefile_file file = {"Corefile", reconcile->text};
    const struct corefile_options options = {0};
    struct corefile_problems problems = {.arena = reconcile->arena};
    CLEANUP(corefile) struct corefile *corefile = corefile_new(&file, &options, &problems);
    if (!corefile || problems.kept || reconcile->mode == MODE_IMPORT)
        return false;
    corefile_reload_hash(corefile, out);
    return true;
}

void find_name(struct reconcile *reconcile)
{
    char hash[RELOAD_HASH_LEN + 1];
    struct proof *proof = &reconcile->proof;
    proof->is_named = text_is(config_id_find(reconcile->text), reconcile->id);
    if (!proof->is_named && metrics_port(reconcile) && hash_text(reconcile, hash))
        proof->hash = arena_copy_text(reconcile->arena, hash);
}

static const struct answer_view *ask_metrics(struct reconcile *reconcile, struct text ip)
{
    struct value *about = value_make(reconcile->arena, VALUE_MAP);
    const char *host = arena_copy(reconcile->arena, ip.at, ip.len);
    value_put_text(reconcile->arena, about, "address",
                   arena_printf(reconcile->arena, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
                                metrics_port(reconcile)));
    *decision_add_question(reconcile->out, reconcile->arena) = (struct question){
        .backend = BACKEND_NAME,
        .name = "metrics",
        .about = about,
        .good_for_ms = was_converged(reconcile) ? REST_MS : WAITING_MS,
        .epoch = config_epoch(reconcile),
    };
    return snapshot_answer(reconcile->in, BACKEND_NAME, "metrics", about);
}

// The hash is shown from the first reload on, and of a file that was refused, too. A Pod that has
// never reloaded has what stood there when it was made.
static struct text id_of_metrics(const struct reconcile *reconcile, const struct object *object,
                                 const struct pod *pod, const struct value *metrics)
{
    struct text hash = value_text_at(metrics, "reloadHash");
    const struct dns_config *config = &reconcile->now.config;
    bool is_new = text_is(config->written, reconcile->id) && object->created_s > config->since_s &&
                  pod->is_ready;
    if (value_int_at(metrics, "reloadFailures", 0))
        return (struct text){0};
    if (!hash.at)
        return is_new ? text_of(reconcile->id) : (struct text){0};
    return text_is(hash, reconcile->proof.hash) ? text_of(reconcile->id) : another;
}

// A Pod of the template that came with the Corefile has it once it is ready.
static struct text id_of_template(const struct reconcile *reconcile, const struct pod *pod)
{
    bool is_other = !text_is(pod->config_id, reconcile->id);
    return pod->is_ready || is_other ? pod->config_id : (struct text){0};
}

struct text find_unnamed_id(struct reconcile *reconcile, const struct object *object,
                            const struct pod *pod, bool *is_asked)
{
    *is_asked = true;
    if (pod->config_id.len || !reconcile->proof.hash)
        return id_of_template(reconcile, pod);
    const struct answer_view *answer = ask_metrics(reconcile, pod->ip);
    *is_asked = answer && answer->answered_ms;
    return *is_asked && answer->is_ok ? id_of_metrics(reconcile, object, pod, answer->value)
                                      : (struct text){0};
}
