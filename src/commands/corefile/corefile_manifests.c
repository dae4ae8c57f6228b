#include "commands/corefile/corefile_manifests.h"

#include <stdlib.h>
#include <string.h>

#include "base/certificates.h"
#include "base/must.h"
#include "commands/check_set.h"
#include "commands/manifest_files.h"
#include "commands/settings.h"
#include "controllers/clusterdns/clusterdns_controller.h"
#include "kinds/configmap/configmap_kind.h"
#include "kinds/kinds.h"
#include "store/folder/document.h"

struct entry { // a DNS object
    struct merge_object object;
    const struct value *tree;
    struct text created; // creationTimestamp; absent: none
    struct spot place;
    size_t number; // in which it was read
};

struct reading {
    struct corefile_manifests *manifests;
    struct manifest_files *files;
    const char *path;
    struct entry *entries;
    size_t count;
    size_t capacity;
    size_t map_capacity;
};

// ---- reading ------------------------------------------------------------------------------------

static void take_object(struct reading *reading, const struct document *document)
{
    struct arena *arena = reading->manifests->arena;
    const struct value *tree = value_copy(arena, document->tree);
    mem_reserve(&reading->entries, &reading->capacity, reading->count + 1);
    struct entry *entry = &reading->entries[reading->count];
    *entry = (struct entry){
        .object = {.name = value_text_at(tree, "metadata.name")},
        .tree = tree,
        .created = value_text_at(tree, "metadata.creationTimestamp"),
        .place = place_in(tree, "spec", arena_copy_text(arena, reading->path)),
        .number = reading->count++,
    };
    dns_decode(arena, tree, &entry->object.spec);
}

static void take_config_map(struct reading *reading, const struct document *document)
{
    struct corefile_manifests *manifests = reading->manifests;
    mem_reserve(&manifests->config_maps, &reading->map_capacity, manifests->config_map_count + 1);
    manifests->config_maps[manifests->config_map_count++] =
        value_copy(manifests->arena, document->tree);
}

static void take_document(void *context, struct arena *arena, struct document *document)
{
    struct reading *reading = context;
    (void)arena;
    if (document->state == DOCUMENT_BROKEN && document->kind == &dns_kind)
        manifest_files_report_broken(reading->files, reading->path, document);
    else if (document->state == DOCUMENT_GOOD && document->kind == &dns_kind)
        take_object(reading, document);
    else if (document->state == DOCUMENT_GOOD && document->kind == &config_map_kind)
        take_config_map(reading, document);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    bool is_main[] = {text_is(left->object.name, DNS_MAIN_NAME),
                      text_is(right->object.name, DNS_MAIN_NAME)};
    if (is_main[0] != is_main[1])
        return is_main[0] ? -1 : 1;
    int by_age = text_compare(left->created, right->created);
    int by_name = text_compare(left->object.name, right->object.name);
    return by_age ? by_age : by_name ? by_name : left->number < right->number ? -1 : 1;
}

static void put_in_order(struct reading *reading)
{
    struct corefile_manifests *manifests = reading->manifests;
    if (reading->count)
        qsort(reading->entries, reading->count, sizeof *reading->entries, compare_entries);
    manifests->objects = arena_new_array(manifests->arena, struct merge_object, reading->count + 1);
    manifests->trees = arena_new_array(manifests->arena, const struct value *, reading->count + 1);
    manifests->places = arena_new_array(manifests->arena, struct spot, reading->count + 1);
    for (size_t i = 0; i < reading->count; i++) {
        manifests->places[manifests->count] = reading->entries[i].place;
        manifests->trees[manifests->count] = reading->entries[i].tree;
        manifests->objects[manifests->count++] = reading->entries[i].object;
    }
}

void corefile_manifests_read(struct corefile_manifests *manifests, const char *const *paths,
                             size_t count)
{
    struct check_set set = {0};
    CLEANUP(kind_patterns) struct kind_patterns *patterns = kind_patterns_new();
    check_set_init(&set, manifests->arena);
    struct manifest_files files = {
        .arena = manifests->arena, .report = manifests->report, .set = &set};
    struct reading reading = {.manifests = manifests, .files = &files};
    for (size_t i = 0; i < count; i++)
        manifest_files_add(&files, paths[i]);
    manifest_files_sort(&files);
    for (size_t i = 0; i < files.count; i++) {
        reading.path = files.items[i].shown;
        manifest_files_read_documents(&files, &files.items[i], kinds, kind_count, patterns,
                                      take_document, &reading);
    }
    put_in_order(&reading);
    manifests->unreadable_count = files.unreadable_count;
    free(reading.entries);
    manifest_files_done(&files);
    check_set_done(&set);
}

// ---- merging ------------------------------------------------------------------------------------

struct bundles {
    const struct corefile_manifests *manifests;
    const char *namespace_;
};

// Without a cluster a bundle has no resourceVersion but what its manifest says.
static enum bundle_state find_bundle(const void *context, struct text name, struct text *version,
                                     const char **why)
{
    const struct bundles *bundles = context;
    for (size_t i = 0; i < bundles->manifests->config_map_count; i++) {
        const struct value *map = bundles->manifests->config_maps[i];
        if (!text_equal(value_text_at(map, "metadata.name"), name) ||
            !text_is(value_text_at(map, "metadata.namespace"), bundles->namespace_))
            continue;
        *version = value_text_at(map, "metadata.resourceVersion");
        if (!version->at)
            *version = TEXT("0");
        *why = "its ConfigMap has no certificate that can be read under the key ca-bundle.crt";
        struct text pem = value_text(value_find(value_find(map, "data"), "ca-bundle.crt"));
        return certificates_has_any(pem) ? BUNDLE_FOUND : BUNDLE_INVALID;
    }
    *why = arena_printf(bundles->manifests->arena,
                        "the manifests have no ConfigMap %s/%.*s of the authorities",
                        bundles->namespace_, TEXT_ARGS(name));
    return BUNDLE_MISSING;
}

static void report_texts(struct corefile_manifests *manifests, const struct merged *merged)
{
    for (size_t i = 0; i < manifests->count; i++) {
        const struct merge_outcome *outcome = &merged->outcomes[i];
        const char *object =
            arena_printf(manifests->arena, "DNS %.*s", TEXT_ARGS(manifests->objects[i].name));
        if (outcome->fault_text)
            report_add_about(manifests->report, REPORT_ERROR, manifests->places[i], object,
                             "Refused", outcome->fault_text);
        if (outcome->warning_text && !manifests->has_warned)
            report_add_about(manifests->report, REPORT_WARNING, manifests->places[i], object,
                             "Accepted", outcome->warning_text);
    }
}

static struct coredns_version version_of(const struct clusterdns_settings *settings)
{
    struct coredns_version version = coredns_newest;
    if (settings->version)
        (void)coredns_version_read(text_of(settings->version), &version);
    else if (settings->image)
        (void)coredns_version_of_image(text_of(settings->image), &version);
    return version;
}

bool corefile_manifests_merge(struct corefile_manifests *manifests,
                              const struct invocation *invocation, struct merged *out,
                              struct error *err)
{
    const struct clusterdns_settings *settings =
        settings_resolve(invocation, &clusterdns_controller, err);
    if (!settings)
        return false;
    if (!manifests->count || !text_is(manifests->objects[0].name, DNS_MAIN_NAME))
        return error_set(err, FAULT_SPEC, NULL,
                         "the manifests have no DNS object of the name " DNS_MAIN_NAME);
    bool is_openshift =
        !strcmp(manifests->layout ? manifests->layout : settings->layout, "openshift");
    bool has_cluster = !settings->corefile_path && strcmp(settings->mode, "file") != 0;
    const struct bundles bundles = {manifests, settings->ca_namespace};
    struct text cluster_ip = text_of(settings->cluster_ip);
    struct merge_settings merge_settings = merge_settings_of(
        settings, is_openshift ? COREFILE_OPENSHIFT : COREFILE_PLAIN, has_cluster);
    merge_settings.context.cluster_ips = &cluster_ip;
    merge_settings.context.cluster_ip_count = cluster_ip.len > 0;
    merge_settings.context.has_version = true;
    merge_settings.context.version = version_of(settings);
    merge_settings.bundles = (struct merge_bundles){
        .context = &bundles, .can_be_mounted = has_cluster, .find = find_bundle};
    size_t count = settings->has_fragments ? manifests->count : 1;
    dns_merge(manifests->arena, &merge_settings, manifests->objects, count, out);
    manifests->count = count;
    report_texts(manifests, out);
    return true;
}

// ---- check --------------------------------------------------------------------------------------

// `signpost check` judges objects that are good by themselves once more, all together: one may have
// a zone of another, or an option that the CoreDNS of the settings does not know.
struct judge {
    const struct invocation *invocation;
    struct corefile_manifests manifests;
    struct reading reading;
};

static void *judge_make(const struct invocation *invocation, struct report *report,
                        struct error *err)
{
    if (!settings_resolve(invocation, &clusterdns_controller, err))
        return NULL;
    struct judge *judge = mem_new_of(struct judge);
    *judge = (struct judge){
        .invocation = invocation,
        .manifests = {.arena = invocation->arena, .report = report, .has_warned = true},
    };
    judge->reading.manifests = &judge->manifests;
    return judge;
}

static void judge_free(void *context)
{
    struct judge *judge = context;
    if (!judge)
        return;
    free(judge->reading.entries);
    free(judge->manifests.config_maps);
    free(judge);
}

static void judge_put(void *context, const struct document *document, const char *path)
{
    struct judge *judge = context;
    judge->reading.path = path;
    if (document->kind == &dns_kind)
        take_object(&judge->reading, document);
}

// Fragments are judged without the main object, too: as if it said nothing.
static void add_main(struct reading *reading)
{
    mem_reserve(&reading->entries, &reading->capacity, reading->count + 1);
    reading->entries[reading->count++] = (struct entry){.object = {.name = TEXT(DNS_MAIN_NAME)}};
}

static bool has_main(const struct reading *reading)
{
    for (size_t i = 0; i < reading->count; i++)
        if (text_is(reading->entries[i].object.name, DNS_MAIN_NAME))
            return true;
    return false;
}

static void judge_all(void *context)
{
    struct error err;
    struct merged merged;
    struct judge *judge = context;
    if (!judge->reading.count)
        return;
    if (!has_main(&judge->reading))
        add_main(&judge->reading);
    put_in_order(&judge->reading);
    must(corefile_manifests_merge(&judge->manifests, judge->invocation, &merged, &err));
}

const struct manifest_judge corefile_judge = {
    .make = judge_make, .free = judge_free, .put = judge_put, .judge = judge_all};
