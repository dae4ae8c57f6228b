#include "commands/corefile/corefile_store.h"

#include <string.h>

#include "base/value.h"
#include "commands/commands.h"
#include "commands/configured_store.h"
#include "commands/manifest_files.h"
#include "commands/process.h"
#include "kinds/configmap/configmap_kind.h"
#include "store/cluster/api.h"

// Where a cluster may have its Corefile. The first that is there counts.
static const struct home {
    const char *namespace_;
    const char *name;
    const char *path;
} homes[] = {
    {"kube-system", "coredns", "ConfigMap kube-system/coredns"},
    {"openshift-dns", "dns-default", "ConfigMap openshift-dns/dns-default"},
};

enum { CONFIG_MAP_OCTETS_MAX = 3 * 1024 * 1024, CONFIG_MAP_DEPTH_MAX = 32 };

struct search {
    const struct invocation *invocation;
    size_t home; // in a cluster, that is asked for; in a folder, the best that was found
    struct text text;
    struct process_world process;
    struct api *api;
    bool has_failed;
    struct error error;
};

static bool set_missing(struct error *err, const char *where)
{
    return error_set(err, FAULT_WAIT, "",
                     "%s has no Corefile: looked for in %s and %s, under the key Corefile", where,
                     homes[0].path, homes[1].path);
}

static struct text copy_text(struct arena *arena, struct text text)
{
    return (struct text){arena_copy(arena, text.at, text.len), text.len};
}

// ---- a folder -----------------------------------------------------------------------------------

static void take_object(struct search *search, const struct value *object)
{
    struct text text = value_text_at(object, "data.Corefile");
    if (!text.at || !text_is(value_text_at(object, "kind"), config_map_kind.name))
        return;
    for (size_t i = 0; i < search->home; i++)
        if (text_is(value_text_at(object, "metadata.namespace"), homes[i].namespace_) &&
            text_is(value_text_at(object, "metadata.name"), homes[i].name)) {
            search->home = i;
            search->text = copy_text(search->invocation->arena, text);
        }
}

// Documents, and the items of lists as kubectl prints them.
static void take_document(struct search *search, const struct value *document)
{
    take_object(search, document);
    value_each (item, value_list_at(document, "items"))
        take_object(search, item);
}

static void take_file(struct search *search, const char *path, struct text content)
{
    struct error err;
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(content, &value_manifest_limits);
    for (;;) {
        struct value *document = NULL;
        bool has_document = false;
        if (!yaml_reader_next(reader, arena, &document, &has_document, &err)) {
            command_fail(0, "not read: %s:%s", path, err.text);
            return;
        }
        if (!has_document)
            return;
        take_document(search, document);
    }
}

static void read_files(struct search *search)
{
    const struct invocation *invocation = search->invocation;
    struct report report = {.arena = invocation->arena};
    struct check_set set = {.arena = invocation->arena};
    check_set_init(&set, invocation->arena);
    struct manifest_files files = {.arena = invocation->arena, .report = &report, .set = &set};
    manifest_files_add_store(&files, invocation);
    manifest_files_sort(&files);
    for (size_t i = 0; i < files.count; i++) {
        AUTO_BUFFER content = {0};
        if (manifest_files_read(&files, &files.items[i], &content))
            take_file(search, files.items[i].shown, buffer_text(&content));
    }
    manifest_files_done(&files);
    check_set_done(&set);
    report_done(&report);
}

static bool read_folder(struct search *search, struct error *err)
{
    search->home = COUNT_OF(homes);
    read_files(search);
    return search->text.at || set_missing(err, option_text(search->invocation, "dir"));
}

// ---- a cluster ----------------------------------------------------------------------------------

static void ask(struct search *search);

static void stop_with(struct search *search, const struct error *err)
{
    search->has_failed = true;
    search->error = *err;
    api_blame(search->api, &search->error);
    loop_stop(search->process.world.loop);
}

static void take_body(struct search *search, struct text body)
{
    static const struct value_limits limits = {.octets = CONFIG_MAP_OCTETS_MAX,
                                               .depth = CONFIG_MAP_DEPTH_MAX};
    struct error err;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *object = value_read_json(arena, body, &limits, &err);
    struct text text = value_text_at(object, "data.Corefile");
    if (text.at)
        search->text = copy_text(search->invocation->arena, text);
    else if (!object)
        stop_with(search, &err);
}

static void replied(void *context, const struct api_reply *reply)
{
    struct search *search = context;
    if (reply->is_ok) {
        take_body(search, reply->body);
    } else if (!api_reply_is_absent(reply)) {
        stop_with(search, &reply->error);
    }
    if (search->has_failed)
        return;
    if (!search->text.at && search->home + 1 < COUNT_OF(homes)) {
        search->home++;
        ask(search);
        return;
    }
    loop_stop(search->process.world.loop);
}

static void ask(struct search *search)
{
    const struct home *home = &homes[search->home];
    AUTO_BUFFER path = {0};
    api_path(&path, &config_map_kind, text_of(home->namespace_), text_of(home->name), NULL);
    const struct api_request request = {
        .method = "GET",
        .path = path.at,
        .timeout_ms = option_ms(search->invocation, "timeout"),
    };
    api_send(search->api, &request, replied, search);
}

static bool read_cluster(struct search *search, struct configured_store *place, struct error *err)
{
    struct kube_access *access = configured_store_access(place, err);
    if (!access)
        return false;
    if (!process_world_init(&search->process, search->invocation, err)) {
        kube_access_free(access);
        return false;
    }
    search->api = api_new(&search->process.world, NULL, access);
    ask(search);
    loop_run(search->process.world.loop);
    api_free(search->api);
    process_world_done(&search->process);
    if (search->has_failed) {
        *err = search->error;
        return false;
    }
    return search->text.at || set_missing(err, "the cluster");
}

// ---- either -------------------------------------------------------------------------------------

bool corefile_store_read(const struct invocation *invocation, struct corefile_file *out,
                         struct error *err)
{
    struct configured_store place;
    struct search search = {.invocation = invocation};
    if (!configured_store_find(&place, invocation, err) ||
        !(place.is_cluster ? read_cluster(&search, &place, err) : read_folder(&search, err)))
        return error_prefix(err, "no Corefile is given, and the configured store can't tell: ");
    *out = (struct corefile_file){homes[search.home].path, search.text};
    return true;
}
