#include "commands/status_piholes.h"

#include "commands/dry_run.h"
#include "commands/pihole_read_probe.h"

static const struct kind backend_kind = {
    .name = "Pi-hole", .plural = "Pi-holes", .singular = "Pi-hole"};

struct live {
    struct view *view;
    struct setup setup;
    struct pihole_memory memory;
    struct pihole_read_probe read_probe;
};

// ---- one row ------------------------------------------------------------------------------------

static void seen(void *context, const struct pihole_target *target, const struct value *answer,
                 const struct error *trouble)
{
    struct live *live = context;
    struct arena *arena = live->view->arena;
    AUTO_BUFFER text = {0};
    if (trouble)
        buffer_add_text(&text, trouble->text);
    else
        pihole_read_probe_describe(&text, &live->read_probe, target, answer);
    const char *reason = trouble ? trouble->reason : "Answers";
    if (!*reason) // too early to say more than that it is silent
        reason = "PiholeUnreachable";
    view_add_row(live->view, &(struct view_row){
                                 .kind = &backend_kind,
                                 .namespace_ = "",
                                 .name = arena_copy_text(arena, target->name),
                                 .object = arena_printf(arena, "Pi-hole/%s", target->name),
                                 .path = "",
                                 .what = arena_copy_text(arena, target->url),
                                 .ready = trouble ? "False" : "True",
                                 .reason = arena_copy_text(arena, reason),
                                 .message = arena_copy(arena, text.at, text.len),
                                 .is_right = !trouble,
                                 .answer_text = "",
                                 .order = live->view->count,
                             });
}

// ---- all of them --------------------------------------------------------------------------------

static void remember(void *context, const struct store_page *pages, size_t count)
{
    struct live *live = context;
    pihole_memory_take(&live->memory, pages, count);
}

static bool read_probe_all(struct live *live, struct error *err)
{
    const struct invocation *invocation = live->setup.invocation;
    const char *given = option_text(invocation, "owner-id");
    int64_t timeout_ms = option_ms(invocation, "timeout");
    struct proposal proposal = {.arena = invocation->arena};
    struct dry_run dry_run = {
        .setup = &live->setup, .timeout_ms = timeout_ms, .pages = remember, .context = live};
    live->memory.targets = live->setup.piholes;
    bool is_read = run_dry_without_piholes(&dry_run, &proposal, err);
    proposal_done(&proposal);
    live->read_probe = (struct pihole_read_probe){
        .invocation = invocation,
        .targets = live->setup.piholes,
        .owner_id = given ? given : dry_run.owner_id,
        .memory = &live->memory,
        .timeout_ms = timeout_ms,
        .seen = seen,
        .context = live,
    };
    return is_read && pihole_read_probe(&live->read_probe, err);
}

bool status_add_piholes(struct view *view, const struct invocation *invocation, struct error *err)
{
    struct live live = {.view = view};
    if (!setup_init(&live.setup, invocation, err))
        return false;
    bool is_done = live.setup.piholes ? read_probe_all(&live, err)
                                      : error_set(err, FAULT_SPEC, "",
                                                  "--live looks at Pi-holes: give --pihole-url or "
                                                  "--pihole-targets");
    pihole_memory_done(&live.memory);
    setup_done(&live.setup);
    return is_done;
}
