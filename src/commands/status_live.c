#include "commands/status_live.h"

#include <string.h>

#include "commands/dry_run.h"
#include "commands/read_probe.h"
#include "commands/subject.h"

struct live {
    struct view *view;
    struct setup setup;
    struct ledger_memory memory;
    bool has_owner; // whose marks are ours is known
};

// ---- one row ------------------------------------------------------------------------------------

// What it is stands in the first line.
static void take_line(void *context, const char *level, const char *text)
{
    struct buffer *out = context;
    if (!out->len && !strcmp(level, "ok"))
        buffer_add_text(out, text);
}

static const char *reason_of(const struct configured_backend *backend, const struct error *trouble)
{
    if (!trouble)
        return "Answers";
    // Too early to say more than that it is silent.
    return *trouble->reason ? trouble->reason : backend->provider->unreachable;
}

static const struct kind *kind_of(struct arena *arena, const struct provider *provider)
{
    struct kind *kind = arena_new_of(arena, struct kind);
    *kind = (struct kind){.name = provider->title,
                          .plural = arena_printf(arena, "%ss", provider->title),
                          .singular = provider->title};
    return kind;
}

static void seen(void *context, const struct configured_backend *backend, const struct job *job,
                 const struct error *trouble)
{
    struct live *live = context;
    struct arena *arena = live->view->arena;
    AUTO_BUFFER text = {0};
    if (trouble)
        buffer_add_text(&text, trouble->text);
    else
        backend->provider->explain(job, live->has_owner, take_line, &text);
    view_add_row(live->view, &(struct view_row){
                                 .kind = kind_of(arena, backend->provider),
                                 .namespace_ = "",
                                 .name = arena_copy_text(arena, backend->name),
                                 .object = arena_printf(arena, "%s/%s", backend->provider->title,
                                                        backend->name),
                                 .path = "",
                                 .since = "",
                                 .what = arena_copy_text(arena, backend->url),
                                 .ready = trouble ? "False" : "True",
                                 .reason = arena_copy_text(arena, reason_of(backend, trouble)),
                                 .message = arena_copy(arena, text.at, text.len),
                                 .is_right = !trouble,
                                 .answer_text = "",
                                 .order = live->view->count,
                             });
}

// ---- all of them --------------------------------------------------------------------------------

static void remember(void *context, const struct store_shard *shards, size_t count)
{
    struct live *live = context;
    ledger_memory_take(&live->memory, shards, count);
}

static bool probe_all(struct live *live, struct error *err)
{
    const struct invocation *invocation = live->setup.invocation;
    const char *given = option_text(invocation, "owner-id");
    int64_t timeout_ms = option_ms(invocation, "timeout");
    struct proposal proposal = {.arena = invocation->arena};
    struct dry_run dry_run = {.setup = &live->setup,
                              .leaves_backends = true,
                              .timeout_ms = timeout_ms,
                              .shards = remember,
                              .context = live};
    live->memory.backends = &live->setup.backends;
    bool is_read = run_dry(&dry_run, &proposal, err);
    proposal_done(&proposal);
    live->has_owner = given || dry_run.owner_id;
    const struct read_probe probe = {
        .invocation = invocation,
        .backends = &live->setup.backends,
        .owner_id = given ? given : dry_run.owner_id,
        .memory = &live->memory,
        .timeout_ms = timeout_ms,
        .seen = seen,
        .context = live,
    };
    return is_read && read_probe(&probe, err);
}

static bool fail_without_backends(struct error *err)
{
    AUTO_BUFFER how = {0};
    for (size_t i = 0; i < subject_count; i++)
        if (subjects[i]->how)
            buffer_printf(&how, "%s%s", how.len ? "; or " : "", subjects[i]->how);
    return error_set(err, FAULT_SPEC, "", "--live looks at %s", buffer_text(&how).at);
}

bool status_add_backends(struct view *view, const struct invocation *invocation, struct error *err)
{
    struct live live = {.view = view};
    if (!setup_init(&live.setup, invocation, err))
        return false;
    bool is_done = live.setup.backends.count ? probe_all(&live, err) : fail_without_backends(err);
    ledger_memory_done(&live.memory);
    setup_done(&live.setup);
    return is_done;
}
