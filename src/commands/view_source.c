#include "commands/view_source.h"

#include <string.h>

#include "commands/commands.h"
#include "commands/look.h"
#include "io/disk.h"
#include "kinds/kinds.h"
#include "store/cluster/read.h"

bool view_source_init(struct view_source *source, const struct invocation *invocation,
                      struct error *err)
{
    *source = (struct view_source){.invocation = invocation};
    if (!configured_store_find(&source->place, invocation, err))
        return false;
    source->kind_count = kinds_of_manifests(source->kinds);
    for (size_t i = 0; i < source->kind_count; i++)
        source->of_folder[i] = (struct store_kind){.kind = source->kinds[i]};
    source->folder = (struct folder_options){.dir = option_text(invocation, "dir"),
                                             .state_dir = option_text(invocation, "state-dir"),
                                             .kinds = source->of_folder,
                                             .kind_count = source->kind_count};
    return true;
}

bool view_source_has(const struct view_source *source, const char *kind)
{
    for (size_t i = 0; i < source->kind_count; i++)
        if (!strcmp(source->kinds[i]->name, kind))
            return true;
    return false;
}

// ---- a cluster ----------------------------------------------------------------------------------

struct reading {
    struct view *view;
    struct loop *loop;
    bool has_failed;
    struct error error;
};

static void take_object(void *context, const struct kind *kind, const struct value *tree)
{
    struct view *view = ((struct reading *)context)->view;
    bool is_gone = value_text_at(tree, "metadata.deletionTimestamp").len > 0;
    view_add(view, &(struct folder_entry){.kind = kind,
                                          .tree = value_copy(view->arena, tree),
                                          .path = "",
                                          .has_good = true,
                                          .is_gone = is_gone});
}

// The right to read the kind was lost after it had been checked.
static void report_left_out(void *context, const struct kind *kind, const char *text)
{
    (void)context;
    (void)command_fail(2, "%s are not shown: %s", kind->plural, text);
}

static void all_read(void *context, const struct error *err)
{
    struct reading *reading = context;
    reading->has_failed = err != NULL;
    if (err)
        reading->error = *err;
    loop_stop(reading->loop);
}

// Leaves those that may be read.
static bool look_at(struct view_source *source, struct error *err)
{
    int64_t timeout_ms = option_ms(source->invocation, "timeout");
    CLEANUP(look)
    struct look *look =
        look_new(&source->place, source->kinds, source->kind_count, timeout_ms, err);
    if (!look)
        return false;
    look_skip_unreadable(look);
    if (!look_check(look, err))
        return false;
    look_report(look, "not shown");
    size_t left = 0;
    for (size_t i = 0; i < source->kind_count; i++)
        if (look_may_read(look, source->kinds[i]))
            source->kinds[left++] = source->kinds[i];
    source->kind_count = left;
    return true;
}

static void run_reader(struct view_source *source, struct reading *reading,
                       struct kube_access *access)
{
    struct http *http = http_curl_new(reading->loop, "signpost/" SIGNPOST_VERSION);
    const struct world world = {
        .loop = reading->loop, .http = http, .disk = disk_system(), .random = random_system()};
    struct cluster_read *reader = cluster_read_new(&(struct cluster_read_options){
        .world = &world,
        .access = access,
        .namespaces = configured_store_namespaces(&source->place),
        .kinds = source->kinds,
        .kind_count = source->kind_count,
        .timeout_ms = option_ms(source->invocation, "timeout"),
        .object = take_object,
        .left_out = report_left_out,
        .done = all_read,
        .context = reading,
    });
    loop_run(reading->loop);
    cluster_read_free(reader);
    http_free(http);
}

static bool read_cluster(struct view_source *source, struct loop *loop, struct view *view,
                         struct error *err)
{
    struct reading reading = {.view = view, .loop = loop};
    if (!view_choose_kinds(view, source->invocation, source->kinds, &source->kind_count, err) ||
        !look_at(source, err))
        return false;
    struct kube_access *access = configured_store_access(&source->place, err);
    if (!access)
        return false;
    run_reader(source, &reading, access);
    if (reading.has_failed)
        *err = reading.error;
    view_close(view);
    return !reading.has_failed;
}

bool view_source_read(struct view_source *source, struct loop *loop, struct view *view,
                      struct error *err)
{
    return source->place.is_cluster ? read_cluster(source, loop, view, err)
                                    : view_read(view, &source->folder, err);
}
