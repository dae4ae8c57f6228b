#include "controllers/clusterdns/reconcile.h"

#include "base/hash.h"

// The Corefile of a CoreDNS without Kubernetes. Beside it stands a copy of the last one that all
// servers ran, to go back to.

enum { LOOK_MS = 60000 };

static const char *good_path(const struct reconcile *reconcile)
{
    return arena_printf(reconcile->arena, "%s.good", reconcile->settings->corefile_path);
}

// What was read before the file was written, or before another one was wanted, is out of date.
static uint64_t file_epoch(const struct reconcile *reconcile)
{
    const struct dns_config *before = &reconcile->before.config;
    return hash_octets(before->id.at, before->id.len) ^
           (hash_octets(before->written.at, before->written.len) << 1);
}

// Asks the provider to read the file, or with a text to write it. NULL: there is no answer yet.
static const struct answer_view *ask_file(struct reconcile *reconcile, const char *path,
                                          struct text text)
{
    struct value *about = value_make(reconcile->arena, VALUE_MAP);
    value_put_text(reconcile->arena, about, "path", path);
    if (text.at)
        value_set(about, TEXT("text"), value_make_text(reconcile->arena, text));
    *decision_add_question(reconcile->out, reconcile->arena) = (struct question){
        .backend = BACKEND_NAME,
        .name = "corefile",
        .about = about,
        .good_for_ms = LOOK_MS,
        .epoch = file_epoch(reconcile),
    };
    const struct answer_view *answer =
        snapshot_answer(reconcile->in, BACKEND_NAME, "corefile", about);
    return answer && answer->answered_ms ? answer : NULL;
}

static void note_failure(struct reconcile *reconcile, const struct answer_view *answer)
{
    if (!answer || answer->is_ok)
        return;
    reconcile->fault = REASON_FORBIDDEN;
    reconcile->fault_text = arena_copy_text(reconcile->arena, answer->error->text);
}

bool read_file(struct reconcile *reconcile)
{
    const struct answer_view *answer =
        ask_file(reconcile, reconcile->settings->corefile_path, (struct text){0});
    if (!answer)
        return false;
    note_failure(reconcile, answer);
    struct text text = answer->is_ok ? value_text_at(answer->value, "text") : (struct text){0};
    if (text.len)
        reconcile->target.text = text;
    return true;
}

void want_file(struct reconcile *reconcile)
{
    const struct answer_view *answer =
        ask_file(reconcile, reconcile->settings->corefile_path, reconcile->text);
    note_failure(reconcile, answer);
    if (answer && answer->is_ok)
        reconcile->now.config.written = text_of(arena_copy_text(reconcile->arena, reconcile->id));
}

void keep_good_file(struct reconcile *reconcile)
{
    note_failure(reconcile, ask_file(reconcile, good_path(reconcile), reconcile->text));
}

struct text good_file_text(struct reconcile *reconcile)
{
    const struct answer_view *answer = ask_file(reconcile, good_path(reconcile), (struct text){0});
    struct text text =
        answer && answer->is_ok ? value_text_at(answer->value, "text") : (struct text){0};
    return text.len ? text : (struct text){0};
}
