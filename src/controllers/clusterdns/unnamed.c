#include "controllers/clusterdns/reconcile.h"

#include <string.h>

// This file finds out what Pods run where the Corefile does not tell its id, as others answer
// version.bind in it, or the layout is OpenShift's: from the hash in their metrics, or from the Pod
// being ready.

static const struct text another = {"another", 7}; // no config id

// Fills `out` with what the metrics of a Pod show that has loaded the Corefile. False: it imports
// files, which count in it with paths that nobody knows here.
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

void find_proof(struct reconcile *reconcile)
{
    char hash[RELOAD_HASH_LEN + 1];
    struct proof *proof = &reconcile->proof;
    proof->is_named = text_is(config_id_find(reconcile->text), reconcile->id);
    if (!proof->is_named && metrics_port(reconcile) && hash_text(reconcile, hash))
        proof->hash = arena_copy_text(reconcile->arena, hash);
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
    const struct answer_view *answer =
        ask_coredns(reconcile, "metrics", metrics_address(reconcile, pod->ip));
    *is_asked = answer && answer->answered_ms;
    return *is_asked && answer->is_ok ? id_of_metrics(reconcile, object, pod, answer->value)
                                      : (struct text){0};
}
