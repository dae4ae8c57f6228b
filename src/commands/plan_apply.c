#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/dry_run.h"
#include "commands/plan_carry.h"
#include "commands/plan_consent.h"
#include "commands/print.h"
#include "commands/process.h"
#include "commands/writer.h"
#include "dns/plan_sum.h"
#include "kinds/dnsplan/dnsplan.h"

enum { LOOK_MS = 500, REST_FACTOR = 4 };

struct apply {
    const struct invocation *invocation;
    struct setup setup;
    struct previews previews;
    struct loop *loop; // of the pauses
    struct proposal plan;
    struct carry carry;
    int64_t began_ms;
};

static int64_t left_ms(const struct apply *apply)
{
    int64_t now_ms = loop_mono_ms(apply->loop);
    int64_t end_ms = apply->began_ms + option_ms(apply->invocation, "timeout");
    return end_ms > now_ms ? end_ms - now_ms : 0;
}

static bool make_plan(struct apply *apply, struct proposal *plan, struct error *err)
{
    int64_t left = left_ms(apply);
    struct dry_run dry_run = {
        .setup = &apply->setup,
        .timeout_ms = left > LOOK_MS ? left : LOOK_MS,
        .previews = &apply->previews,
    };
    return run_dry(&dry_run, plan, err);
}

static int put(const struct buffer *text, int code)
{
    struct error err;
    return print_out(text, &err) ? code : command_fail(1, "%s", err.text);
}

// ---- another plan -------------------------------------------------------------------------------

static int refuse(const struct apply *apply, const char *checksum)
{
    AUTO_BUFFER text = {0};
    proposal_write_text(&text, &apply->plan);
    put(&text, 1);
    return command_fail(1,
                        "the plan is another by now, and nothing was done: checksum %s was given, "
                        "that of the plan above is %s",
                        checksum, apply->plan.checksum);
}

// ---- what came of it ----------------------------------------------------------------------------

static const char *const ends[] = {
    [CARRY_WAITING] = "not sent",
    [CARRY_DONE] = "done",
    [CARRY_FAILED] = "failed",
};

static void write_result(struct buffer *out, const struct proposal_change *change,
                         const struct carry_result *result)
{
    buffer_printf(out, "%-8s  ", ends[result->end]);
    proposal_write_change(out, change);
    buffer_add_text(out, "  ");
    proposal_write_object(out, change->kind, change->namespace_, change->object);
    if (result->text) {
        buffer_add_text(out, ": ");
        text_clean(out, text_of(result->text), SIZE_MAX);
    }
    buffer_add_char(out, '\n');
}

static int report_apply(const struct apply *apply)
{
    AUTO_BUFFER text = {0};
    size_t counts[COUNT_OF(ends)] = {0};
    const struct proposal *plan = &apply->plan;
    for (size_t i = 0; i < plan->count; i++) {
        write_result(&text, &plan->changes[i], &apply->carry.results[i]);
        counts[apply->carry.results[i].end]++;
    }
    buffer_printf(&text, "%s%zu done, %zu failed, %zu not sent\n", plan->count ? "\n" : "",
                  counts[CARRY_DONE], counts[CARRY_FAILED], counts[CARRY_WAITING]);
    return put(&text, counts[CARRY_DONE] == plan->count ? 0 : 1);
}

// ---- beside one that leads ----------------------------------------------------------------------

static const char *obstacle_of(const struct apply *apply, const struct proposal *now,
                               const struct proposal_change *change)
{
    for (size_t i = 0; i < now->obstacle_count; i++) {
        const struct proposal_obstacle *obstacle = &now->obstacles[i];
        if (obstacle->kind == change->kind && !strcmp(obstacle->namespace_, change->namespace_) &&
            !strcmp(obstacle->object, change->object))
            return arena_copy_text(apply->plan.arena, obstacle->message);
    }
    return NULL;
}

// What is no change any more was done. True: all were.
static bool compare(struct apply *apply, const struct proposal *now)
{
    bool is_all = true;
    for (size_t i = 0; i < apply->plan.count; i++) {
        struct carry_result *result = &apply->carry.results[i];
        const struct proposal_change *change = &apply->plan.changes[i];
        const struct proposal_trouble *unread = proposal_unread(now, change->backend);
        bool is_open = unread || proposal_match(now, change);
        *result = (struct carry_result){.end = is_open ? CARRY_WAITING : CARRY_DONE};
        if (unread)
            result->text = arena_copy_text(apply->plan.arena, unread->message);
        else if (is_open)
            result->text = obstacle_of(apply, now, change);
        is_all = is_all && !is_open;
    }
    return is_all;
}

static void pause_over(void *context)
{
    loop_stop(context);
}

// A look reads all objects: of many they are taken rarely.
static void pause_after(const struct apply *apply, int64_t looked_ms)
{
    int64_t left = left_ms(apply);
    int64_t rest_ms = looked_ms * REST_FACTOR > LOOK_MS ? looked_ms * REST_FACTOR : LOOK_MS;
    struct loop_timer timer = {.call = pause_over, .context = apply->loop};
    loop_timer_set(apply->loop, &timer, rest_ms < left ? rest_ms : left);
    loop_run(apply->loop);
    loop_timer_cancel(apply->loop, &timer);
}

static void approve(const struct apply *apply, const char *name, const char *checksum)
{
    struct error err;
    struct consent consent = {.arena = apply->plan.arena,
                              .place = &apply->setup.place,
                              .name = name,
                              .checksum = checksum};
    if (plan_consent(&consent, &err) && !consent.was_given)
        fprintf(stderr, "signpost: approved DNSPlan %s\n", name);
}

// Removals at one backend that no object asks for: those it may hold back.
static void approve_backend(const struct apply *apply, const char *backend)
{
    char name[DNSPLAN_NAME_MAX];
    char checksum[PLAN_SUM_MAX];
    const struct proposal *plan = &apply->plan;
    struct plan_sum_change *changes =
        arena_new_array(plan->arena, struct plan_sum_change, plan->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct proposal_change *change = &plan->changes[i];
        if (change->act == ENGINE_DELETE && !change->kind && !strcmp(change->backend, backend))
            changes[count++] = (struct plan_sum_change){.before = &change->set};
    }
    plan_sum_write(backend, changes, count, checksum);
    dnsplan_name_write(text_of(backend), text_of(checksum), name);
    if (count)
        approve(apply, name, checksum);
}

static void approve_held(const struct apply *apply)
{
    const struct proposal *plan = &apply->plan;
    for (size_t i = 0; i < plan->count; i++)
        if (!i || strcmp(plan->changes[i - 1].backend, plan->changes[i].backend) != 0)
            approve_backend(apply, plan->changes[i].backend);
}

// Whoever leads carries everything out by itself, but for what its guard holds back: that it is
// told.
static int wait_for_holder(struct apply *apply)
{
    struct error err;
    bool is_known = false; // what came of it, from an earlier look
    fprintf(stderr, "signpost: %s leads and carries the plan out; waiting for it\n",
            apply->carry.holder);
    for (;;) {
        CLEANUP(arena) struct arena *arena = arena_new();
        struct proposal now = {.arena = arena};
        int64_t begun_ms = loop_mono_ms(apply->loop);
        bool is_read = make_plan(apply, &now, &err);
        bool is_over = is_read && compare(apply, &now);
        proposal_done(&now);
        if (!is_read && !(is_known && !left_ms(apply)))
            return command_fail(1, "%s", err.text);
        is_known = true;
        if (is_over || !left_ms(apply))
            return report_apply(apply);
        approve_held(apply);
        pause_after(apply, loop_mono_ms(apply->loop) - begun_ms);
    }
}

// ---- from beginning to end ----------------------------------------------------------------------

// Objects are written without a report of an exchange, so a second plan shows which are done: those
// that it does not have any more.
static bool look_at_written(struct apply *apply, struct error *err)
{
    bool is_any = false;
    struct proposal now = {.arena = apply->plan.arena};
    for (size_t i = 0; i < apply->plan.count; i++)
        is_any |= apply->plan.changes[i].is_written;
    if (!is_any)
        return true;
    bool is_read = make_plan(apply, &now, err);
    for (size_t i = 0; is_read && i < apply->plan.count; i++)
        if (apply->plan.changes[i].is_written && !proposal_match(&now, &apply->plan.changes[i]))
            apply->carry.results[i] = (struct carry_result){.end = CARRY_DONE};
    proposal_done(&now);
    return is_read;
}

static int carry_out(struct apply *apply)
{
    struct error err;
    apply->carry = (struct carry){
        .setup = &apply->setup,
        .plan = &apply->plan,
        .timeout_ms = left_ms(apply),
        .results = arena_new_array(apply->plan.arena, struct carry_result, apply->plan.count + 1),
    };
    if (!apply->plan.count)
        return report_apply(apply);
    if (!plan_carry(&apply->carry, &err))
        return command_fail(1, "%s", err.text);
    if (apply->carry.holder)
        return wait_for_holder(apply);
    return look_at_written(apply, &err) ? report_apply(apply) : command_fail(1, "%s", err.text);
}

static int apply_run_opened(struct apply *apply, const char *checksum)
{
    struct error err;
    apply->began_ms = loop_mono_ms(apply->loop);
    if (!make_plan(apply, &apply->plan, &err))
        return command_fail(2, "%s", err.text);
    if (strcmp(apply->plan.checksum, checksum))
        return refuse(apply, checksum);
    return carry_out(apply);
}

static int apply_run_set_up(struct apply *apply, const char *checksum)
{
    struct error err;
    if (!previews_open(&apply->previews, &apply->setup, &err))
        return command_fail(2, "%s", err.text);
    apply->loop = loop_new();
    int code = apply_run_opened(apply, checksum);
    proposal_done(&apply->plan);
    loop_free(apply->loop);
    return code;
}

static int apply_run(struct invocation *invocation)
{
    struct error err;
    struct apply apply = {.invocation = invocation, .plan = {.arena = invocation->arena}};
    const char *checksum = option_text(invocation, "checksum");
    if (!checksum)
        return command_fail(2, "give --checksum SUM, as `signpost plan` prints it");
    if (!writer_setup_init(&apply.setup, invocation, &err))
        return command_fail(2, "%s", err.text);
    int code = apply_run_set_up(&apply, checksum);
    previews_close(&apply.previews);
    setup_done(&apply.setup);
    return code;
}

static const struct option apply_rows[] = {
    FILENAME_OPTION,
    {.name = "checksum",
     .type = OPTION_TEXT,
     .placeholder = "SUM",
     .doc = "Of the plan that is to be carried out, as `signpost plan` prints it."},
    TIMEOUT_OPTION("5m", "How long all of it may take."),
};

extern const struct command plan_apply_command;
const struct command plan_apply_command = {
    .name = "plan apply",
    .summary = "do exactly the changes of a plan",
    .positional = "[PATH]",
    .path_option = "dir",
    .doc = "Makes the plan again and refuses to do anything if its checksum is not the one that "
           "was given; the plan as it is by now is shown then. Otherwise takes the lock of the "
           "folder or the Lease of the cluster as `signpost run` does, sends each change of the "
           "plan once and no other, writes status, and says of each change what came of it. A "
           "change that fails is not sent again. Zones are left to `signpost run`, which serves "
           "them.\n\n"
           "Where a running Signpost leads, that one does all of it by itself: then this command "
           "waits until nothing of the plan is left to do, and reports what is left at --timeout. "
           "Removals that its guard holds back it lets go, as `signpost plan approve` does.",
    .exit_docs =
        {
            "all done",
            "something failed or was not sent, or the plan is another one",
            "not all could be read",
        },
    .examples = "signpost plan --dir ./manifests\n"
                "signpost plan apply --dir ./manifests --checksum 3f9c...\n",
    .groups = {{apply_rows, COUNT_OF(apply_rows), false},
               SUBJECT_OPTIONS(SUBJECT_PLAN, false),
               SETUP_OPTION_GROUPS,
               {writer_options, WRITER_OPTION_COUNT, true},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = apply_run,
};
