#include <stdlib.h>

#include "kinds/dnspublication/dnspublication_body.h"
#include "kinds/emco_name.h"
#include "kinds/tree_body.h"

const char *const dnspublication_states[] = {
    "Created",     "Approved",   "Instantiating",     "Instantiated",    "Updating",
    "Terminating", "Terminated", "InstantiateFailed", "TerminateFailed", NULL};
const char *const dnspublication_name_states[] = {
    "AddressPending", "Written",  "Read",    "Synced",   "Verified",
    "Held",           "Conflict", "Invalid", "Removing", NULL};
const char *const dnspublication_condition_types[] = {"Accepted", "AddressesReady", "Published",
                                                      "Drained", NULL};

// ---- writing ------------------------------------------------------------------------------------

static int compare_published(const void *a, const void *b)
{
    const struct published_name *left = a;
    const struct published_name *right = b;
    int by_name = text_compare(left->name, right->name);
    int by_type = by_name ? by_name : text_compare(left->type, right->type);
    int by_record = by_type ? by_type : text_compare(left->record, right->record);
    return by_record ? by_record : text_compare(left->cluster, right->cluster);
}

static struct value *encode_targets(struct arena *arena, const struct published_name *name)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < name->target_count && i < DNSPUBLICATION_TARGETS_MAX; i++)
        value_append(list, value_make_text(arena, name->targets[i]));
    return list;
}

static void put_message(struct arena *arena, struct value *map, const char *message)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text_of(message), DNSPUBLICATION_MESSAGE_MAX);
    value_put_text(arena, map, "message", arena_copy(arena, buffer_text(&clean).at, clean.len));
}

struct value *published_name_encode(struct arena *arena, const struct published_name *name)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_put(arena, map, "name", value_make_text(arena, name->name));
    value_put(arena, map, "type", value_make_text(arena, name->type));
    value_put(arena, map, "record", value_make_text(arena, name->record));
    if (name->cluster.len)
        value_put(arena, map, "cluster", value_make_text(arena, name->cluster));
    value_put(arena, map, "targets", encode_targets(arena, name));
    value_put_text(arena, map, "state", dnspublication_name_states[name->state]);
    if (name->reason)
        value_put_text(arena, map, "reason", reason_name(name->reason));
    if (name->message)
        put_message(arena, map, name->message);
    if (name->since_s)
        value_put(arena, map, "since", status_time_make(arena, name->since_s));
    return map;
}

static struct value *encode_names(struct arena *arena, const struct dnspublication_status *status,
                                  size_t names_max)
{
    struct value *list = value_make(arena, VALUE_LIST);
    struct published_name *sorted =
        arena_new_array(arena, struct published_name, status->name_count + 1);
    for (size_t i = 0; i < status->name_count; i++)
        sorted[i] = status->names[i];
    qsort(sorted, status->name_count, sizeof *sorted, compare_published);
    for (size_t i = 0; i < status->name_count && i < names_max; i++)
        value_append(list, published_name_encode(arena, &sorted[i]));
    return list;
}

static void put_texts(struct arena *arena, struct value *map, const char *key,
                      const struct text *texts, size_t count)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count && i < DNSPUBLICATION_NAMES_MAX; i++)
        value_append(list, value_make_text(arena, texts[i]));
    if (count)
        value_put(arena, map, key, list);
}

static struct value *encode_record(struct arena *arena, const struct published_record *record)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_put(arena, map, "namespace", value_make_text(arena, record->namespace_));
    value_put(arena, map, "name", value_make_text(arena, record->name));
    if (record->is_carried)
        value_put(arena, map, "carried", value_make_bool(arena, true));
    put_texts(arena, map, "names", record->names, record->name_count);
    put_texts(arena, map, "targets", record->targets, record->target_count);
    if (record->message.len)
        value_put(arena, map, "message", value_make_text(arena, record->message));
    if (record->draining_since_s)
        value_put(arena, map, "drainingSince", status_time_make(arena, record->draining_since_s));
    if (record->sync_s)
        value_put(arena, map, "lastSyncTime", status_time_make(arena, record->sync_s));
    if (record->syncs)
        value_put_int(arena, map, "syncs", record->syncs);
    return map;
}

static struct value *encode_records(struct arena *arena, const struct published_record *records,
                                    size_t count)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count && i < DNSPUBLICATION_RECORDS_MAX; i++)
        value_append(list, encode_record(arena, &records[i]));
    return list;
}

const struct value *dnspublication_status_encode(struct arena *arena,
                                                 const struct dnspublication_status *status,
                                                 size_t names_max)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_text(arena, map, "state", dnspublication_states[status->state]);
    value_put_int(arena, map, "observedGeneration", status->observed_generation);
    value_put(arena, map, "names", encode_names(arena, status, names_max));
    value_put_int(arena, map, "namesTotal", (int64_t)status->name_count);
    value_put(arena, map, "records", encode_records(arena, status->records, status->record_count));
    value_set(map, TEXT("retained"),
              status->retained_count
                  ? encode_records(arena, status->retained, status->retained_count)
                  : value_make(arena, VALUE_NULL));
    value_put(arena, map, "conditions", conditions_encode(arena, &status->conditions));
    return map;
}

// ---- reading back -------------------------------------------------------------------------------

// The row of that word, or the first.
static unsigned find_word(const char *const *words, struct text word)
{
    for (unsigned i = 0; words[i]; i++)
        if (text_is(word, words[i]))
            return i;
    return 0;
}

static const struct text *make_texts(struct arena *arena, const struct value *list, size_t *count)
{
    struct text *texts = arena_new_array(arena, struct text, value_count(list) + 1);
    *count = 0;
    value_each (text, list)
        texts[(*count)++] = value_text(text);
    return texts;
}

static struct published_name decode_name(struct arena *arena, const struct value *map)
{
    struct text message = value_text_at(map, "message");
    struct published_name name = {
        .name = value_text_at(map, "name"),
        .type = value_text_at(map, "type"),
        .record = value_text_at(map, "record"),
        .cluster = value_text_at(map, "cluster"),
        .state = find_word(dnspublication_name_states, value_text_at(map, "state")),
        .reason = reason_find(value_text_at(map, "reason")),
        .message = message.len ? arena_copy(arena, message.at, message.len) : NULL,
        .since_s = status_time_at(map, "since"),
    };
    name.targets = make_texts(arena, value_list_at(map, "targets"), &name.target_count);
    return name;
}

static struct published_record decode_record(struct arena *arena, const struct value *map)
{
    struct published_record record = {
        .namespace_ = value_text_at(map, "namespace"),
        .name = value_text_at(map, "name"),
        .draining_since_s = status_time_at(map, "drainingSince"),
        .sync_s = status_time_at(map, "lastSyncTime"),
        .syncs = value_int_at(map, "syncs", 0),
        .is_carried = value_bool_at(map, "carried", false),
        .message = value_text_at(map, "message"),
    };
    record.names = make_texts(arena, value_list_at(map, "names"), &record.name_count);
    record.targets = make_texts(arena, value_list_at(map, "targets"), &record.target_count);
    return record;
}

static const struct published_record *decode_records(struct arena *arena, const struct value *list,
                                                     size_t *count)
{
    struct published_record *records =
        arena_new_array(arena, struct published_record, value_count(list) + 1);
    *count = 0;
    value_each (map, list)
        records[(*count)++] = decode_record(arena, map);
    return records;
}

static void decode_status(struct arena *arena, const struct value *tree,
                          struct dnspublication_status *out)
{
    const struct value *list = value_list_at(tree, "names");
    struct published_name *names =
        arena_new_array(arena, struct published_name, value_count(list) + 1);
    *out = (struct dnspublication_status){
        .state = find_word(dnspublication_states, value_text_at(tree, "state")),
        .names = names,
        .name_total = value_int_at(tree, "namesTotal", 0),
        .observed_generation = value_int_at(tree, "observedGeneration", 0),
    };
    value_each (map, list)
        names[out->name_count++] = decode_name(arena, map);
    out->records = decode_records(arena, value_list_at(tree, "records"), &out->record_count);
    out->retained = decode_records(arena, value_list_at(tree, "retained"), &out->retained_count);
    conditions_decode(&out->conditions, value_find(tree, "conditions"),
                      dnspublication_condition_types);
}

void dnspublication_pack_managed(const struct value *object, struct pack_writer *out)
{
    tree_pack(out, value_find(object, "status"));
}

void dnspublication_unpack_managed(struct arena *arena, struct text spec, struct text ours,
                                   struct dnspublication_status *out)
{
    struct pack_reader in = pack_open_behind(spec, ours);
    decode_status(arena, ours.len ? tree_unpack(arena, &in) : NULL, out);
}

// ---- names --------------------------------------------------------------------------------------

// The record that a name of the status calls "public-dns", or "project/public-dns" where it is of
// another project. Both are names of EMCO.
static const struct value *find_record(struct arena *arena, const struct value *object,
                                       struct text called)
{
    struct text namespace_ = value_text_at(object, "metadata.namespace");
    struct text project;
    if (called.len && memchr(called.at, '/', called.len) && text_cut(&called, '/', &project))
        namespace_ = text_of(emco_object_name(arena, project));
    const char *name = emco_object_name(arena, called);
    value_each (record, value_list_at(object, "status.records"))
        if (text_is(value_text_at(record, "name"), name) &&
            text_equal(value_text_at(record, "namespace"), namespace_))
            return record;
    return NULL;
}

static void go_through(struct kind_name *name, const struct value *record)
{
    name->through_kind = record ? "DNSUpdateRecord" : NULL;
    name->through_namespace = value_text_at(record, "namespace");
    name->through_name = value_text_at(record, "name");
}

static void list_published(const struct value *object, const struct value *item,
                           struct kind_names *out)
{
    struct text state = value_text_at(item, "state");
    bool is_there = text_is(state, dnspublication_name_states[NAME_SYNCED]) ||
                    text_is(state, dnspublication_name_states[NAME_VERIFIED]);
    struct kind_name *added = kind_names_add(out, KIND_NAME_RECORDS, value_text_at(item, "name"));
    added->type = value_text_at(item, "type");
    added->values = kind_names_join(out->arena, value_list_at(item, "targets"));
    added->since = value_text_at(item, "since");
    added->reason = value_text_at(item, "reason");
    added->message = value_text_at(item, "message");
    added->status = is_there && !added->reason.len ? "True" : "False";
    if (!added->reason.len)
        added->reason = state;
    go_through(added, find_record(out->arena, object, value_text_at(item, "record")));
}

// Does the status say of that name by itself what becomes of it at that record?
static bool is_published(struct arena *arena, const struct value *object,
                         const struct value *record, struct text name)
{
    value_each (item, value_list_at(object, "status.names"))
        if (text_equal(value_text_at(item, "name"), name) &&
            find_record(arena, object, value_text_at(item, "record")) == record)
            return true;
    return false;
}

// Names that nobody wants any more, and that stand at a provider.
static void list_leftovers(const struct value *object, const struct value *record,
                           struct kind_names *out)
{
    struct text message = value_text_at(record, "message");
    value_each (name, value_list_at(record, "names")) {
        if (is_published(out->arena, object, record, value_text(name)))
            continue;
        struct kind_name *added = kind_names_add(out, KIND_NAME_RECORDS, value_text(name));
        added->status = "False";
        added->reason = text_of(message.len ? reason_name(REASON_RECORDS_RETAINED)
                                            : dnspublication_name_states[NAME_REMOVING]);
        added->message = message.len ? message
                                     : TEXT("it is not wanted any more, and may stand "
                                            "there until it is proven gone");
        go_through(added, record);
    }
}

void dnspublication_list_names(const struct value *object, struct kind_names *out)
{
    value_each (item, value_list_at(object, "status.names"))
        list_published(object, item, out);
    value_each (record, value_list_at(object, "status.records"))
        list_leftovers(object, record, out);
    value_each (record, value_list_at(object, "status.retained"))
        list_leftovers(object, record, out);
}
