#include "commands/look.h"

#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/process.h"
#include "store/cluster/reach.h"

struct look {
    struct configured_store *place;
    const struct kind *const *kinds;
    size_t kind_count;
    struct process_world process;
    struct api *api;
    struct reach *reach;
    bool has_failed;
    struct error error;
};

static void over(void *context, const struct error *err)
{
    struct look *look = context;
    look->has_failed = err != NULL;
    if (err)
        look->error = *err;
    loop_stop(look->process.world.loop);
}

static void ask(struct look *look, struct kube_access *access, int64_t timeout_ms)
{
    const struct world *world = &look->process.world;
    look->api = api_new(world, NULL, access);
    look->reach = reach_new(&(struct reach_options){
        .world = world,
        .api = look->api,
        .kinds = look->kinds,
        .kind_count = look->kind_count,
        .namespaces = configured_store_namespaces(look->place),
        .fallback = configured_store_wants_all(look->place) ? NULL : look->place->own_namespace,
        .timeout_ms = timeout_ms,
        .done = over,
        .context = look,
    });
    loop_run(world->loop);
}

static bool run(struct look *look, int64_t timeout_ms, struct error *err)
{
    if (!process_world_init(&look->process, look->place->invocation, err))
        return false;
    struct kube_access *access = configured_store_access(look->place, err);
    if (!access)
        return false;
    ask(look, access, timeout_ms);
    if (look->has_failed)
        *err = look->error;
    return !look->has_failed;
}

// The names live as long as the invocation.
static void narrow(const struct look *look)
{
    struct arena *arena = look->place->invocation->arena;
    const char *const *names = reach_namespaces(look->reach);
    size_t count = 0;
    while (names[count])
        count++;
    const char **only = arena_new_array(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        only[i] = arena_copy_text(arena, names[i]);
    look->place->only = only;
}

struct look *look_new(struct configured_store *place, const struct kind *const *kinds, size_t count,
                      int64_t timeout_ms, struct error *err)
{
    CLEANUP(look) struct look *look = mem_new_of(struct look);
    look->place = place;
    look->kinds = kinds;
    look->kind_count = count;
    if (!run(look, timeout_ms, err))
        return NULL;
    if (reach_is_narrowed(look->reach))
        narrow(look);
    return steal(look);
}

void look_free(struct look *look)
{
    if (!look)
        return;
    reach_free(look->reach);
    api_free(look->api);
    process_world_done(&look->process);
    free(look);
}

void look_skip_unreadable(struct look *look)
{
    reach_skip_unreadable(look->reach);
    if (reach_namespaces(look->reach))
        narrow(look);
}

bool look_may_read(const struct look *look, const struct kind *kind)
{
    return reach_state(look->reach, kind) == REACH_READABLE;
}

bool look_is_forbidden(const struct look *look, const struct kind *kind)
{
    return reach_state(look->reach, kind) == REACH_FORBIDDEN;
}

static bool are_ours_missing(const struct look *look)
{
    bool is_any = false;
    for (size_t i = 0; i < look->kind_count; i++) {
        if (look->kinds[i]->is_foreign)
            continue;
        is_any = true;
        if (reach_state(look->reach, look->kinds[i]) != REACH_MISSING)
            return false;
    }
    return is_any;
}

static bool set_missing(const struct look *look, struct error *err)
{
    error_set(err, FAULT_WAIT, "",
              "has none of Signpost's kinds: run `signpost manifests --crd | kubectl apply "
              "--server-side -f -`");
    err->status = 404;
    api_blame(look->api, err);
    return false;
}

bool look_refuse(const struct look *look, struct error *err)
{
    AUTO_BUFFER refusals = {0};
    AUTO_BUFFER text = {0};
    struct text rest, line;
    const char *const *namespaces = configured_store_namespaces(look->place);
    reach_write_refusals(look->reach, &refusals, NULL, NULL);
    rest = buffer_text(&refusals);
    while (text_cut(&rest, '\n', &line))
        if (line.len)
            buffer_printf(&text, "%s%.*s", text.len ? "; " : "", TEXT_ARGS(line));
    return error_set(err, FAULT_AUTH, "", "rights are missing: %s%s%s", text.at,
                     namespaces ? "" : "; name a namespace: -n ",
                     namespaces ? "" : look->place->own_namespace);
}

bool look_check(const struct look *look, struct error *err)
{
    for (size_t i = 0; i < look->kind_count; i++)
        if (look_may_read(look, look->kinds[i]))
            return true;
    return are_ours_missing(look) ? set_missing(look, err) : look_refuse(look, err);
}

static void report_lines(const struct buffer *lines, const char *what)
{
    struct text rest = buffer_text(lines), line;
    while (text_cut(&rest, '\n', &line))
        if (line.len)
            command_fail(0, "%s: %.*s", what, TEXT_ARGS(line));
}

void look_report(const struct look *look, const char *what)
{
    AUTO_BUFFER narrowing = {0};
    AUTO_BUFFER refusals = {0};
    AUTO_BUFFER head = {0};
    struct error err;
    if (reach_is_narrowed(look->reach)) {
        reach_write_narrowing(look->reach, &narrowing);
        buffer_printf(&head, "only namespace %s is read", reach_namespaces(look->reach)[0]);
        report_lines(&narrowing, head.at);
    }
    reach_write_refusals(look->reach, &refusals, NULL, NULL);
    report_lines(&refusals, what);
    if (are_ours_missing(look) && !set_missing(look, &err))
        command_fail(0, "%s", err.text);
}
