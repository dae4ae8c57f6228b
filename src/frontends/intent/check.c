#include "frontends/intent/check.h"

#include <string.h>

#include "frontends/intent/body.h"
#include "kinds/dnspublication/dnspublication_kind.h"
#include "kinds/dnsupdaterecord/external_dns_render.h"
#include "kinds/kv_pairs.h"

enum { OBJECT_OCTETS_MAX = 1024 * 1024 };

#define PARAMETERS_KEY "external-dns-parameters"

// ---- rules --------------------------------------------------------------------------------------

static bool is_below(const char *path, const char *place)
{
    size_t len = strlen(place);
    return !strncmp(path, place, len) && (!path[len] || path[len] == '.' || path[len] == '[');
}

// Keeps the findings that an entry of a list is to blame for: those in it, and that the list is
// full.
static void keep_own(const struct check_item *item, struct findings *findings)
{
    size_t kept = 0;
    const char *list = resources[item->id].list;
    AUTO_BUFFER whole = {0};
    buffer_printf(&whole, "spec.%s", list ? list : "");
    for (size_t i = 0; i < findings->count; i++) {
        const char *path = findings->items[i].path;
        if (!list || is_below(path, item->path) || !strcmp(path, buffer_text(&whole).at))
            findings->items[kept++] = findings->items[i];
    }
    findings->count = kept;
}

static void check_texts(const struct value *spec, struct body_faults *faults)
{
    static const struct {
        const char *member;
        size_t max;
    } rows[] = {{"description", EMCO_DESCRIPTION_MAX},
                {"userData1", EMCO_USER_DATA_MAX},
                {"userData2", EMCO_USER_DATA_MAX}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (value_text_at(spec, rows[i].member).len > rows[i].max)
            body_faults_add(faults, arena_printf(faults->arena, "/metadata/%s", rows[i].member),
                            "must have at most %zu octets", rows[i].max);
}

// Beyond that an API server refuses it, and a folder could not read it again.
static void check_size(const struct value *whole, struct body_faults *faults)
{
    AUTO_BUFFER octets = {0};
    value_write_json(&octets, whole);
    if (octets.len > OBJECT_OCTETS_MAX)
        body_faults_add(faults, "", "the whole %.*s may have at most %d octets, and would have %zu",
                        TEXT_ARGS(value_text_at(whole, "kind")), OBJECT_OCTETS_MAX, octets.len);
}

void check_rules(const struct check_item *item, struct body_faults *faults)
{
    struct arena *arena = faults->arena;
    const struct kind *kind = resources[item->id].kind;
    struct findings findings = {.arena = arena};
    AUTO_BUFFER version = {0};
    if (item->id == RESOURCE_PROJECT) {
        check_texts(value_find(item->next, "spec"), faults);
        return;
    }
    struct value *whole = value_copy(arena, item->next);
    kind_api_version(&version, kind);
    value_put_text(arena, whole, "apiVersion", arena_copy_text(arena, version.at));
    value_put_text(arena, whole, "kind", kind->name);
    if (item->key->namespace_.len)
        value_put(arena, whole, "metadata.namespace",
                  value_make_text(arena, item->key->namespace_));
    kind_check(kind, whole, &findings);
    size_t shapes = findings.count;
    if (kind->validate)
        kind->validate(whole, &findings);
    findings_drop_echoes(&findings, shapes);
    keep_own(item, &findings);
    body_take_findings(&resources[item->id], item->path, &findings, faults);
    check_size(whole, faults);
}

// ---- references ---------------------------------------------------------------------------------

static void add_if_missing(const struct check_item *item, enum resource_id id,
                           const struct text *names, const char *pointer, struct text_lines *out)
{
    struct place place;
    place_find(item->engine, out->arena, id, names, &place);
    if (!place.is_there)
        text_lines_add(out, "%s: %s", pointer, resources[id].not_found);
}

// The records that a set lists, where it is the list of records.
static void check_record_list(const struct check_item *item, struct text_lines *out)
{
    size_t count;
    struct value *list = value_make(out->arena, VALUE_LIST);
    value_append(list, value_copy(out->arena, item->map));
    const struct kv_sets sets = kv_sets_decode(out->arena, list);
    const struct kv_record *records = kv_record_list(out->arena, &sets, item->names[0], &count);
    for (size_t i = 0; i < count; i++) {
        const struct text names[] = {records[i].project, records[i].record};
        size_t known = out->count;
        if (!records[i].fault)
            add_if_missing(item, RESOURCE_RECORD, names, "/spec/kv", out);
        if (out->count > known)
            out->items[known] = arena_printf(out->arena, "%s: %.*s of %s", out->items[known],
                                             TEXT_ARGS(names[1]), records[i].where);
    }
}

void check_references(const struct check_item *item, struct text_lines *missing)
{
    const struct text cluster[] = {value_text_at(item->map, "clusterProvider"),
                                   value_text_at(item->map, "cluster")};
    const struct text cloud[] = {item->names[0], value_text_at(item->map, "logicalCloud")};
    if (item->id == RESOURCE_REFERENCE)
        add_if_missing(item, RESOURCE_CLUSTER, cluster, "/spec/cluster", missing);
    if (item->id == RESOURCE_GROUP)
        add_if_missing(item, RESOURCE_CLOUD, cloud, "/spec/logicalCloud", missing);
    if (item->id == RESOURCE_CLOUD_PAIRS)
        check_record_list(item, missing);
}

// ---- places -------------------------------------------------------------------------------------

static void add_moved(const struct update_record *record, const char *name, bool is_parameter,
                      struct body_faults *faults)
{
    bool is_adopted = record->adopt_owner.len && !strcmp(name, "txt-owner-id");
    body_faults_add(faults,
                    is_adopted ? "/spec/adoptOwner"
                               : arena_printf(faults->arena, "/spec/%s%s",
                                              is_parameter ? PARAMETERS_KEY "/" : "", name),
                    "says where records stand");
}

bool check_moved(const struct check_item *item, struct body_faults *faults)
{
    struct update_record record;
    struct external_dns_pinned asked;
    struct findings findings = {.arena = faults->arena};
    update_record_decode(faults->arena, item->next, &findings, &record);
    struct external_dns_input input = {.record = &record, .project = item->names[0]};
    input.minor = update_record_minor(&record, (struct text){0});
    update_record_check(&record, input.minor, &findings);
    if (!record.has_pinned || record.provider == EXTERNAL_DNS_PROVIDERS ||
        findings_errors(&findings))
        return record.may_move;
    external_dns_pinned_ask(faults->arena, &input, (struct text){0}, &asked);
    if (!record.pinned.place.len)
        record.pinned.place = asked.place;
    if (external_dns_is_moved_by(&record.pinned, &asked, TEXT("provider")))
        add_moved(&record, "provider", false, faults);
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct external_dns_parameter *row = &external_dns_parameters[i];
        if ((row->traits & TRAIT_PLACE) &&
            external_dns_is_moved_by(&record.pinned, &asked, text_of(row->name)))
            add_moved(&record, row->name, true, faults);
    }
    return record.may_move;
}

// ---- removal ------------------------------------------------------------------------------------

const char *check_removal(struct arena *arena, enum resource_id id, const struct object *object)
{
    struct dnspublication publication;
    struct dnspublication_status status;
    if (id != RESOURCE_GROUP)
        return NULL;
    dnspublication_unpack(arena, object_spec(object), object_managed(object), &publication,
                          &status);
    bool is_at_rest = status.state == DNSPUBLICATION_CREATED ||
                      status.state == DNSPUBLICATION_APPROVED ||
                      status.state == DNSPUBLICATION_TERMINATED;
    bool is_wanted = publication.desired == DNSPUBLICATION_WANTS_INSTANTIATED;
    return is_at_rest && !is_wanted
               ? NULL
               : "DeploymentIntentGroup is not in state Created or Terminated: terminate it first";
}
