#include "commands/zone/zone_manifests.h"

#include <stdlib.h>
#include <string.h>

#include "commands/check_set.h"
#include "commands/manifest_files.h"
#include "commands/settings.h"
#include "commands/zone/kubizone.h"
#include "controllers/zone/fallbacks.h"
#include "controllers/zone/zone_controller.h"
#include "controllers/zone/zone_tree.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"

// Of what `signpost run` has still to see.
#define NOT_YET "9999-12-31T23:59:59Z"

struct entry {
    const struct object *object; // owned
    struct spot place;
};

struct zone_manifests {
    struct report *report;
    struct fallbacks *fallbacks;
    struct zone_tree_settings settings;
    struct zone_tree *zone_tree;
    struct check_set set;
    struct manifest_files files;
    const struct zone_ages *ages; // or NULL
    struct entry *entries;
    size_t count;
    size_t capacity;
    struct kind_patterns *patterns;
    const char *path; // of the file being read
    const struct dname *only;
    bool is_part;
    bool is_settled;
};

// ---- objects ------------------------------------------------------------------------------------

static bool is_ours(const struct kind *kind)
{
    return kind == &zone_kind || kind == &record_kind;
}

static void put(struct zone_manifests *zones, const struct kind *kind, const struct value *tree,
                struct spot place)
{
    const struct entry entry = {object_new(kind, NULL, tree), place};
    mem_reserve(&zones->entries, &zones->capacity, zones->count + 1);
    zones->entries[zones->count++] = entry;
    zone_tree_put(zones->zone_tree, entry.object);
}

void zone_manifests_put(struct zone_manifests *zones, const struct document *document,
                        const char *path)
{
    if (is_ours(document->kind))
        put(zones, document->kind, document->tree,
            place_in(document->tree, "spec.domainName", path));
}

void zone_manifests_put_stored(struct zone_manifests *zones, const struct kind *kind,
                               const struct value *tree)
{
    const struct value *metadata = value_find(tree, "metadata");
    const struct spot nowhere = {.path = ""};
    const struct object_ref_key key = {kind, value_text_at(metadata, "namespace"),
                                       value_text_at(metadata, "name")};
    if (!check_set_add_object(&zones->set, &key, nowhere))
        put(zones, kind, tree, nowhere);
}

// The same object twice: the first one counts.
static bool is_first(struct zone_manifests *zones, const struct document *document)
{
    const struct object_ref_key key = {document->kind, document->namespace_, document->name};
    struct spot place = place_in(document->tree, "metadata.name", zones->path);
    const struct spot *first = check_set_add_object(&zones->set, &key, place);
    if (first)
        report_add(zones->report, REPORT_ERROR, place,
                   "metadata.name: %s %.*s stands in %s:%u:%u already; rename or remove one",
                   document->kind->name, TEXT_ARGS(document->name), first->path, first->line,
                   first->column);
    return !first;
}

static void date(const struct zone_manifests *zones, struct arena *arena, struct document *document)
{
    const struct object_ref_key key = {document->kind, document->namespace_, document->name};
    const char *created = zone_ages_find(zones->ages, &key);
    if (zones->ages)
        value_put_text(arena, document->tree, "metadata.creationTimestamp",
                       created ? created : NOT_YET);
}

static void take_document(void *context, struct arena *arena, struct document *document)
{
    struct zone_manifests *zones = context;
    if (document->state == DOCUMENT_UNKNOWN || (document->kind && !is_ours(document->kind)))
        return;
    if (document->state == DOCUMENT_BROKEN || !document->kind)
        manifest_files_report_broken(&zones->files, zones->path, document);
    else if (is_first(zones, document)) {
        date(zones, arena, document);
        zone_manifests_put(zones, document, zones->path);
    }
}

void zone_manifests_date(struct zone_manifests *zones, const struct zone_ages *ages)
{
    zones->ages = ages;
}

static size_t read_files(struct zone_manifests *zones)
{
    manifest_files_sort(&zones->files);
    for (size_t i = 0; i < zones->files.count; i++) {
        zones->path = zones->files.items[i].shown;
        manifest_files_read_documents(&zones->files, &zones->files.items[i], kinds, kind_count,
                                      zones->patterns, take_document, zones);
    }
    return zones->files.unreadable_count;
}

size_t zone_manifests_read(struct zone_manifests *zones, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        manifest_files_add(&zones->files, paths[i]);
    return read_files(zones);
}

size_t zone_manifests_read_store(struct zone_manifests *zones, const struct invocation *invocation)
{
    manifest_files_add_store(&zones->files, invocation);
    return read_files(zones);
}

// ---- judging ------------------------------------------------------------------------------------

static void pass_over(void *context, const struct object *object)
{
    (void)context;
    (void)object;
}

static void pass_over_gone(void *context, const struct object *zone, struct dname fqdn)
{
    (void)fqdn;
    pass_over(context, zone);
}

// All of them are looked at afterwards.
static void settle(struct zone_manifests *zones)
{
    static const struct zone_tree_reported silent = {
        .changed = pass_over, .content = pass_over, .gone = pass_over_gone};
    if (!zones->is_settled)
        zone_tree_settle(zones->zone_tree, &silent);
    zones->is_settled = true;
}

static void report_finding(struct zone_manifests *zones, const struct entry *entry,
                           enum report_level level, enum reason reason, const char *text)
{
    AUTO_BUFFER object = {0};
    buffer_printf(&object, "%s ", entry->object->kind->name);
    object_write_name(&object, entry->object);
    report_add_about(zones->report, level, entry->place, object.at, reason_name(reason), text);
}

static void report_warnings(struct zone_manifests *zones, const struct entry *entry,
                            const struct zone_tree_warning *warnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        report_finding(zones, entry, REPORT_WARNING, warnings[i].reason, warnings[i].text);
}

static bool is_wanted(const struct zone_manifests *zones, bool has_fqdn, struct dname fqdn)
{
    return !zones->only || (has_fqdn && dname_equal(fqdn, *zones->only));
}

// Whether a Zone is missing altogether, nobody knows who sees a part of the manifests. References
// to one are looked after by others.
static void report_unaccepted(struct zone_manifests *zones, const struct entry *entry,
                              enum reason reason, const char *text)
{
    if (zones->is_part && (reason == REASON_ZONE_NOT_FOUND || reason == REASON_ZONE_WAITING))
        return;
    bool is_missing = zones->is_part && reason == REASON_NO_ZONE;
    report_finding(zones, entry, is_missing ? REPORT_WARNING : REPORT_ERROR, reason, text);
}

static void judge_zone(struct zone_manifests *zones, struct arena *arena, const struct entry *entry)
{
    struct zone_tree_zone zone;
    if (!zone_tree_zone(zones->zone_tree, arena, entry->object, &zone) ||
        !is_wanted(zones, zone.has_fqdn, zone.fqdn))
        return;
    if (zone.accepted != REASON_ACCEPTED)
        report_unaccepted(zones, entry, zone.accepted, zone.accepted_text);
    else if (zone.ready != REASON_COMPILED)
        report_finding(zones, entry, REPORT_ERROR, zone.ready, zone.ready_text);
    report_warnings(zones, entry, zone.warnings, zone.warning_count);
}

// The zone that a Record belongs to, or which a Zone is.
static bool is_of_wanted(struct zone_manifests *zones, struct arena *arena,
                         const struct object *object)
{
    struct zone_tree_zone zone;
    if (object->kind == &record_kind)
        object = zone_tree_home(zones->zone_tree, object);
    bool has_zone = object && zone_tree_zone(zones->zone_tree, arena, object, &zone);
    return is_wanted(zones, has_zone && zone.has_fqdn, has_zone ? zone.fqdn : (struct dname){0});
}

static void judge_record(struct zone_manifests *zones, struct arena *arena,
                         const struct entry *entry)
{
    struct zone_tree_record record;
    if (!zone_tree_record(zones->zone_tree, arena, entry->object, &record) ||
        !is_of_wanted(zones, arena, entry->object))
        return;
    if (record.accepted != REASON_ADOPTED)
        report_unaccepted(zones, entry, record.accepted, record.accepted_text);
    if (record.conflicted != REASON_NO_CONFLICT)
        report_finding(zones, entry, REPORT_ERROR, record.conflicted, record.conflicted_text);
    report_warnings(zones, entry, record.warnings, record.warning_count);
}

void zone_manifests_judge(struct zone_manifests *zones, const struct dname *only, bool is_part)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    zones->only = only;
    zones->is_part = is_part;
    settle(zones);
    for (size_t i = 0; i < zones->count; i++) {
        const struct entry *entry = &zones->entries[i];
        arena_reset(arena);
        if (entry->object->kind == &zone_kind)
            judge_zone(zones, arena, entry);
        else
            judge_record(zones, arena, entry);
    }
}

// ---- other programs -----------------------------------------------------------------------------

struct undecoded {
    struct zone_manifests *zones;
    const struct entry *entry;
};

static void report_undecoded(void *context, const char *text)
{
    const struct undecoded *undecoded = context;
    const struct entry *entry = undecoded->entry;
    AUTO_BUFFER object = {0};
    buffer_printf(&object, "%s ", entry->object->kind->name);
    object_write_name(&object, entry->object);
    report_add_about(undecoded->zones->report, REPORT_ERROR, entry->place, object.at,
                     "KubizoneDecode", text);
}

static void judge_kubizone(struct zone_manifests *zones, struct arena *arena,
                           const struct entry *entry)
{
    struct undecoded undecoded = {zones, entry};
    struct text spec = object_spec(entry->object), ours = object_managed(entry->object);
    struct zone_spec zone;
    struct record_spec record;
    if (entry->object->kind == &zone_kind) {
        zone_unpack(arena, spec, ours, &zone, NULL);
        kubizone_judge_zone(&zone, report_undecoded, &undecoded);
    } else {
        record_unpack(arena, spec, ours, &record, NULL);
        kubizone_judge_record(&record, report_undecoded, &undecoded);
    }
}

void zone_manifests_judge_kubizone(struct zone_manifests *zones, const struct dname *only)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    zones->only = only;
    settle(zones);
    for (size_t i = 0; i < zones->count; i++) {
        arena_reset(arena);
        if (is_of_wanted(zones, arena, zones->entries[i].object))
            judge_kubizone(zones, arena, &zones->entries[i]);
    }
}

// ---- zones --------------------------------------------------------------------------------------

static uint32_t serial_of(struct arena *arena, const struct object *object)
{
    struct zone_spec spec;
    zone_unpack(arena, object_spec(object), object_managed(object), &spec, NULL);
    return spec.has_minimum_serial && spec.minimum_serial ? spec.minimum_serial : 1;
}

struct zone *zone_manifests_zone(struct zone_manifests *zones, struct dname apex)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    settle(zones);
    for (size_t i = 0; i < zones->count; i++) {
        struct zone_tree_zone zone;
        const struct object *object = zones->entries[i].object;
        if (object->kind == &zone_kind && zone_tree_zone(zones->zone_tree, arena, object, &zone) &&
            zone.is_live && dname_equal(zone.fqdn, apex))
            return zone_compiler_zone(zone.compiler, serial_of(arena, object));
    }
    return NULL;
}

// ---- life ---------------------------------------------------------------------------------------

// Groups of servers are no business of manifests.
static bool find_group(const void *context, struct text name, struct zone_limits *limits)
{
    (void)context;
    (void)name;
    (void)limits;
    return true;
}

static struct zone_tree_settings settings_of(const struct zone_settings *settings,
                                             const struct fallbacks *fallbacks)
{
    return (struct zone_tree_settings){
        .is_open = !strcmp(settings->claims, "open"),
        .fallbacks = fallbacks_items(fallbacks),
        .fallback_count = fallbacks_count(fallbacks),
        .find_group = find_group,
    };
}

struct zone_manifests *zone_manifests_new(const struct invocation *invocation,
                                          struct report *report, struct error *err)
{
    const struct zone_settings *settings = settings_resolve(invocation, &zone_controller, err);
    struct fallbacks *fallbacks = settings ? fallbacks_new(settings->nameservers, err) : NULL;
    if (!fallbacks)
        return NULL;
    struct zone_manifests *zones = mem_new_of(struct zone_manifests);
    zones->report = report;
    zones->fallbacks = fallbacks;
    zones->settings = settings_of(settings, fallbacks);
    zones->zone_tree = zone_tree_new(&zones->settings);
    zones->patterns = kind_patterns_new();
    check_set_init(&zones->set, report->arena);
    zones->files =
        (struct manifest_files){.arena = report->arena, .report = report, .set = &zones->set};
    return zones;
}

void zone_manifests_free(struct zone_manifests *zones)
{
    if (!zones)
        return;
    zone_tree_free(zones->zone_tree);
    fallbacks_free(zones->fallbacks);
    for (size_t i = 0; i < zones->count; i++)
        object_unref(zones->entries[i].object);
    free(zones->entries);
    kind_patterns_free(zones->patterns);
    manifest_files_done(&zones->files);
    check_set_done(&zones->set);
    free(zones);
}

size_t zone_manifests_file_count(const struct zone_manifests *zones)
{
    return zones->files.count;
}

size_t zone_manifests_count(const struct zone_manifests *zones)
{
    return zones->count;
}
