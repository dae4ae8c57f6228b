#include <stdlib.h>
#include <string.h>

#include "base/when.h"
#include "commands/commands.h"
#include "commands/print.h"
#include "commands/setup.h"
#include "commands/status_watch.h"
#include "commands/view_source.h"
#include "commands/wait_goal.h"
#include "io/disk.h"
#include "store/cluster/watch.h"

enum {
    DEBOUNCE_MS = 50,         // a burst of writes is read once
    LOOK_MS = 500,            // without inotify
    LOOK_ONCE_MS = 30 * 1000, // --timeout 0: until a cluster has answered
};

struct wait;
struct awaited {
    struct wait *wait;
    struct wait_target target;
    struct view view; // cluster: of that object alone
    struct watch *watch;
    bool is_known; // it was looked for
    bool is_there; // cluster: in this listing
    bool is_met;
    struct buffer why;
};

struct wait {
    const struct invocation *invocation;
    struct view_source source;
    struct wait_goal goal;
    struct awaited *items;
    size_t count;
    struct loop *loop;
    struct loop_timer over;
    struct loop_timer next;
    struct view view; // folder
    struct status_watch *folder_watch;
    struct world world; // cluster
    struct api *api;
    struct watch_memory memory;
    int64_t timeout_ms;
    int code;
};

// ---- judging ------------------------------------------------------------------------------------

static void fail(struct wait *wait, const char *text)
{
    wait->code = command_fail(2, "%s", text);
    loop_stop(wait->loop);
}

static void report(struct wait *wait, const struct awaited *awaited)
{
    AUTO_BUFFER line = {0};
    struct error err;
    buffer_printf(&line, "%s\n", awaited->why.at);
    if (!print_out(&line, &err))
        fail(wait, err.text);
}

static void judge(struct awaited *awaited, const struct view *view)
{
    struct wait *wait = awaited->wait;
    if (awaited->is_met)
        return;
    buffer_clear(&awaited->why);
    awaited->is_known = true;
    awaited->is_met = wait_judge(&wait->goal, &awaited->target,
                                 view_find(view, awaited->target.object), &awaited->why);
    if (awaited->is_met)
        report(wait, awaited);
}

static void end_if_done(struct wait *wait)
{
    bool is_met = true;
    bool is_known = true;
    for (size_t i = 0; i < wait->count; i++) {
        is_met = is_met && wait->items[i].is_met;
        is_known = is_known && wait->items[i].is_known;
    }
    if (wait->code != 2 && is_met)
        wait->code = 0;
    if (is_met || (is_known && !wait->timeout_ms))
        loop_stop(wait->loop);
}

static void time_is_over(void *context)
{
    struct wait *wait = context;
    loop_stop(wait->loop);
}

// Why a watch has brought nothing yet.
static void report_unmet(struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        struct awaited *awaited = &wait->items[i];
        if (awaited->is_met)
            continue;
        if (awaited->is_known)
            command_fail(1, "%s", awaited->why.at);
        else
            command_fail(1, "%s could not be read: %s", awaited->target.object,
                         watch_check(awaited->watch).text);
    }
    if (wait->timeout_ms)
        command_fail(1, "not met within %s", option_text(wait->invocation, "timeout"));
}

// ---- a folder -----------------------------------------------------------------------------------

static void read_folder(void *context)
{
    struct wait *wait = context;
    struct error err;
    bool is_watched = status_watch_folders(wait->folder_watch, &wait->source.folder);
    bool was_read = wait->items[0].is_known;
    view_done(&wait->view);
    if (view_source_read(&wait->source, wait->loop, &wait->view, &err)) {
        for (size_t i = 0; i < wait->count; i++)
            judge(&wait->items[i], &wait->view);
    } else if (!was_read) {
        fail(wait, err.text);
        return;
    } else {
        is_watched = false; // whoever replaces the folder moves it away first
    }
    if (!is_watched)
        loop_timer_set(wait->loop, &wait->next, LOOK_MS);
    end_if_done(wait);
}

static void folder_changed(void *context)
{
    struct wait *wait = context;
    loop_timer_set(wait->loop, &wait->next, DEBOUNCE_MS);
}

static void follow_folder(struct wait *wait)
{
    const struct status_watch_calls calls = {.changed = folder_changed, .context = wait};
    wait->next = (struct loop_timer){.call = read_folder, .context = wait};
    wait->view.arena = arena_new();
    wait->folder_watch = status_watch_new(wait->loop, &calls);
    loop_timer_set(wait->loop, &wait->next, 0);
}

// ---- a cluster ----------------------------------------------------------------------------------

static void begin_listing(void *context, bool has_gone_back)
{
    struct awaited *awaited = context;
    (void)has_gone_back;
    awaited->is_there = false;
}

static void take_object(void *context, bool is_deleted, const struct value *tree)
{
    struct awaited *awaited = context;
    view_done(&awaited->view);
    awaited->is_there = !is_deleted;
    if (!is_deleted)
        view_add(&awaited->view,
                 &(struct folder_entry){
                     .kind = awaited->target.kind,
                     .tree = value_copy(awaited->view.arena, tree),
                     .path = "",
                     .has_good = true,
                     .is_gone = value_text_at(tree, "metadata.deletionTimestamp").len > 0,
                 });
    view_close(&awaited->view);
    judge(awaited, &awaited->view);
    end_if_done(awaited->wait);
}

static void end_listing(void *context, bool may_sweep)
{
    struct awaited *awaited = context;
    (void)may_sweep;
    if (!awaited->is_there)
        view_done(&awaited->view);
    judge(awaited, &awaited->view);
    end_if_done(awaited->wait);
}

static void ignore_batch(void *context)
{
    (void)context;
}

static void refused(void *context)
{
    struct awaited *awaited = context;
    AUTO_BUFFER text = {0};
    struct text rest = text_of(watch_refusal(awaited->watch));
    struct text why = TEXT("its kind is not installed there");
    text_cut(&rest, ';', &why); // behind it stands what would help an operator
    buffer_printf(&text, "%s cannot be read: %.*s", awaited->target.object, TEXT_ARGS(why));
    fail(awaited->wait, text.at);
}

static void watch_object(struct wait *wait, struct awaited *awaited)
{
    struct arena *arena = wait->invocation->arena;
    struct text space = awaited->target.namespace_;
    struct text name = awaited->target.name;
    const struct watch_options options = {
        .world = &wait->world,
        .api = wait->api,
        .kind = awaited->target.kind,
        .namespace_ = space.len ? arena_copy(arena, space.at, space.len) : NULL,
        .name = arena_copy(arena, name.at, name.len),
        .memory = &wait->memory,
    };
    const struct watch_sink sink = {
        .pass_begin = begin_listing,
        .pass_end = end_listing,
        .object = take_object,
        .batch_end = ignore_batch,
        .missing = refused,
        .forbidden = refused,
        .context = awaited,
    };
    awaited->view.arena = arena_new();
    awaited->watch = watch_new(&options, &sink);
    watch_start(awaited->watch);
}

static void follow_cluster(struct wait *wait, struct kube_access *access)
{
    wait->world = (struct world){.loop = wait->loop,
                                 .http = http_curl_new(wait->loop, "signpost/" SIGNPOST_VERSION),
                                 .disk = disk_system(),
                                 .random = random_system()};
    wait->api = api_new(&wait->world, NULL, access);
    for (size_t i = 0; i < wait->count; i++)
        watch_object(wait, &wait->items[i]);
}

// ---- the command --------------------------------------------------------------------------------

static struct text default_namespace(struct wait *wait)
{
    const char *const *only = configured_store_namespaces(&wait->source.place);
    if (only && only[0] && !only[1])
        return text_of(only[0]);
    return text_of(wait->source.place.is_cluster ? wait->source.place.own_namespace : "default");
}

static bool read_targets(struct wait *wait, struct error *err)
{
    const struct invocation *invocation = wait->invocation;
    const struct kind *kinds[VIEW_KINDS_MAX];
    struct wait_scope scope = {.kinds = kinds, .namespace_ = default_namespace(wait)};
    const char *goal = option_text(invocation, "for");
    if (!invocation->argument_count)
        return error_set(err, FAULT_SPEC, "", "give the objects to wait for: KIND/NAMESPACE/NAME");
    if (!wait_goal_read(&wait->goal, text_of(goal), err))
        return option_blame(invocation, "for", goal, err);
    if (!view_choose_kinds(&wait->view, invocation, kinds, &scope.kind_count, err))
        return false;
    wait->count = invocation->argument_count;
    wait->items = arena_new_array(invocation->arena, struct awaited, wait->count);
    for (size_t i = 0; i < wait->count; i++) {
        wait->items[i].wait = wait;
        if (!wait_target_read(&wait->items[i].target, invocation->arena, &scope,
                              text_of(invocation->arguments[i]), &wait->goal, err))
            return false;
    }
    return true;
}

static bool begin(struct wait *wait, struct error *err)
{
    struct kube_access *access = NULL;
    if (!view_source_init(&wait->source, wait->invocation, err))
        return false;
    if (wait->source.place.is_cluster &&
        !(access = configured_store_access(&wait->source.place, err)))
        return false;
    if (!read_targets(wait, err)) {
        kube_access_free(access);
        return false;
    }
    if (access)
        follow_cluster(wait, access);
    else
        follow_folder(wait);
    return true;
}

static void end(struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        struct awaited *awaited = &wait->items[i];
        watch_free(awaited->watch);
        view_done(&awaited->view);
        arena_free(awaited->view.arena);
        buffer_done(&awaited->why);
    }
    loop_timer_cancel(wait->loop, &wait->over);
    loop_timer_cancel(wait->loop, &wait->next);
    api_free(wait->api);
    http_free(wait->world.http);
    status_watch_free(wait->folder_watch);
    view_done(&wait->view);
    arena_free(wait->view.arena);
    loop_free(wait->loop);
}

static int wait_run(struct invocation *invocation)
{
    struct wait wait = {.invocation = invocation, .code = 1};
    struct error err;
    wait.timeout_ms = option_ms(invocation, "timeout");
    wait.loop = loop_new();
    wait.over = (struct loop_timer){.call = time_is_over, .context = &wait};
    if (begin(&wait, &err)) {
        loop_timer_set(wait.loop, &wait.over, wait.timeout_ms ? wait.timeout_ms : LOOK_ONCE_MS);
        loop_run(wait.loop);
    } else {
        wait.code = command_fail(2, "%s", err.text);
    }
    if (wait.code == 1)
        report_unmet(&wait);
    end(&wait);
    return wait.code;
}

static const struct option wait_rows[] = {
    {.name = "for",
     .type = OPTION_TEXT,
     .fallback = "declared",
     .placeholder = "GOAL",
     .doc =
         "declared: what `signpost status` counts as ready, for what the object asks for now. "
         "condition=TYPE or condition=TYPE=STATUS: it has that condition, True when no STATUS is "
         "given; TYPE alone is the same. delete: it is not there any more."},
    {.name = "timeout",
     .type = OPTION_DURATION,
     .fallback = "30s",
     .placeholder = "DURATION",
     .doc = "How long to wait; 0 looks once."},
};

extern const struct command wait_command;
const struct command wait_command = {
    .name = "wait",
    .summary = "wait until objects are as declared",
    .positional = "KIND/NAMESPACE/NAME...",
    .doc = "Waits until each of the objects has met the goal, and prints a line for each that "
           "has. KIND may be a plural or a short name, as for kubectl. KIND/NAME names an object "
           "of a kind without namespaces; else it is in the namespace of --namespaces or of the "
           "kubeconfig's context, in a folder in \"default\". An object that is not there yet is "
           "waited for.\n\n"
           "A status that speaks of an earlier generation counts for nothing, so a change that "
           "was made right before is waited for. What is waited for is `signpost run`, which has "
           "to be running; in a cluster the right to get and watch these objects is needed.",
    .exit_docs =
        {
            "the goal is met",
            "it was not in time, and what stood in the way is named on stderr",
            "an argument is wrong, or the objects cannot be read",
        },
    .examples = "signpost wait DNSRecord/default/web\n"
                "signpost wait zone/shop --for programmed --timeout 2m\n"
                "signpost wait dnsclass/home --for condition=Ready=False --dir manifests\n"
                "signpost wait DNSRecord/shop/old --for delete --kubeconfig ~/.kube/config\n",
    .groups = {{wait_rows, COUNT_OF(wait_rows), false},
               SETUP_OPTION_GROUPS,
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = wait_run,
};
