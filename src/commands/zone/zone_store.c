#include "commands/zone/zone_store.h"

#include "commands/commands.h"
#include "commands/configured_store.h"
#include "commands/look.h"
#include "commands/manifest_files.h"
#include "commands/process.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"
#include "store/cluster/read.h"

struct reading {
    struct process_world process;
    struct zone_manifests *zones;
    struct zone_store *found;
    bool has_failed;
    struct error err;
};

static void take_object(void *context, const struct kind *kind, const struct value *tree)
{
    struct reading *reading = context;
    zone_manifests_put_stored(reading->zones, kind, tree);
}

static void report_left_out(void *context, const struct kind *kind, const char *text)
{
    struct reading *reading = context;
    command_fail(0, "%s: %s", kind->name, text);
    reading->found->unreadable_count++;
}

static void over(void *context, const struct error *err)
{
    struct reading *reading = context;
    reading->has_failed = err != NULL;
    if (err)
        reading->err = *err;
    loop_stop(reading->process.world.loop);
}

static const struct kind *const wanted[] = {&zone_kind, &record_kind};

// One without the other is half a zone.
static bool look_at(struct reading *reading, struct configured_store *place, struct error *err)
{
    int64_t timeout_ms = option_ms(place->invocation, "timeout");
    CLEANUP(look) struct look *look = look_new(place, wanted, COUNT_OF(wanted), timeout_ms, err);
    if (!look || !look_check(look, err))
        return false;
    look_report(look, "not read");
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        reading->found->unreadable_count += look_is_forbidden(look, wanted[i]);
    return true;
}

static void read_with(struct reading *reading, struct configured_store *place,
                      struct kube_access *access)
{
    struct cluster_read *reader = cluster_read_new(&(struct cluster_read_options){
        .world = &reading->process.world,
        .log = reading->process.log,
        .access = access,
        .namespaces = configured_store_namespaces(place),
        .kinds = wanted,
        .kind_count = COUNT_OF(wanted),
        .timeout_ms = option_ms(place->invocation, "timeout"),
        .object = take_object,
        .left_out = report_left_out,
        .done = over,
        .context = reading,
    });
    loop_run(reading->process.world.loop);
    cluster_read_free(reader);
}

static bool read_cluster(struct reading *reading, struct configured_store *place, struct error *err)
{
    struct kube_access *access =
        look_at(reading, place, err) ? configured_store_access(place, err) : NULL;
    if (!access)
        return false;
    if (reading->found->unreadable_count) {
        kube_access_free(access);
        return true;
    }
    read_with(reading, place, access);
    if (reading->has_failed)
        *err = reading->err;
    return !reading->has_failed;
}

static bool read_folder(struct reading *reading, const struct invocation *invocation,
                        struct error *err)
{
    static const struct store_kind stored[] = {{.kind = &zone_kind}, {.kind = &record_kind}};
    const struct folder_options options = {.dir = option_text(invocation, "dir"),
                                           .state_dir = option_text(invocation, "state-dir"),
                                           .kinds = stored,
                                           .kind_count = COUNT_OF(stored)};
    CLEANUP(zone_ages) struct zone_ages *ages = zone_ages_read(&options, err);
    if (!ages)
        return false;
    zone_manifests_date(reading->zones, ages);
    reading->found->unreadable_count = zone_manifests_read_store(reading->zones, invocation);
    zone_manifests_date(reading->zones, NULL);
    return true;
}

bool zone_store_read(struct zone_manifests *zones, const struct invocation *invocation,
                     struct zone_store *found, struct error *err)
{
    struct zone_store store = {0};
    struct reading reading = {.zones = zones, .found = &store};
    struct configured_store place;
    bool is_read = true;
    if (!configured_store_find(&place, invocation, err))
        return false;
    store.is_cluster = place.is_cluster;
    if (!place.is_cluster) {
        is_read = read_folder(&reading, invocation, err);
    } else {
        if (!process_world_init(&reading.process, invocation, err))
            return false;
        is_read = read_cluster(&reading, &place, err);
        process_world_done(&reading.process);
    }
    if (is_read)
        *found = store;
    return is_read;
}
