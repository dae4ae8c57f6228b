#include <string.h>

#include "base/digest.h"
#include "frontends/intent/body_secrets.h"
#include "frontends/intent/call.h"
#include "frontends/intent/check.h"
#include "frontends/intent/item.h"
#include "frontends/intent/patch.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"
#include "kinds/namespace/namespace_kind.h"
#include "kinds/secret/secret_kind.h"

// What POST, PUT and DELETE come to: the objects that are written.

#define PARENT_MISSING "Cannot perform requested operation. Parent resource not found"
// For a name that is no text, so that the rest of the body can be checked, too.
#define NAME_STAND_IN "unnamed"
#define KUBECONFIG_MISSING "has no kubeconfig any more: send it as the part file"

// An item, as the body wants it.
struct item_change {
    struct call *call;
    const struct resource *resource;
    enum resource_id id;
    struct place place;
    struct body body;
    struct built_item built;
    struct value *secrets;    // data of the Secret that is written; may be empty
    struct body_faults moved; // by what a record's names would stand elsewhere
    struct text_lines users;  // who has names there
    bool is_moving;           // and may
    bool is_held;             // and may not
};

static const struct engine *engine_of(const struct call *call)
{
    return call_options(call)->engine;
}

static void add_write(struct call *call, struct call_write write)
{
    if (write.seen)
        object_ref(write.seen);
    call->writes[call->write_count++] = write;
}

// ---- projects -----------------------------------------------------------------------------------

static void write_project(struct call *call, struct text project)
{
    struct value *tree = value_make(call->arena, VALUE_MAP);
    const struct object_ref_key key = {&namespace_kind, TEXT(""),
                                       place_namespace(call->arena, project)};
    value_put(call->arena, tree, "spec", value_make(call->arena, VALUE_MAP));
    struct value *next = item_project_namespace(call->arena, project, tree);
    value_put_text(call->arena, next, "metadata.annotations[" PROJECT_CREATED_ANNOTATION "]",
                   "true");
    add_write(call, (struct call_write){.key = key, .tree = next});
}

// A Namespace of others is no project until they say so.
static void explain_foreign(struct text_lines *lines, struct text project)
{
    const struct value *made =
        item_project_namespace(lines->arena, project, value_make(lines->arena, VALUE_MAP));
    text_lines_add(lines,
                   "Namespace %.*s is there and is no project: choose another name, or let whoever "
                   "has it give it the label " PROJECT_LABEL ": %.*s",
                   TEXT_ARGS(place_namespace(lines->arena, project)),
                   TEXT_ARGS(value_text_at(made, "metadata.labels[" PROJECT_LABEL "]")));
}

// ---- reading the request ------------------------------------------------------------------------

static bool refuse_change(struct call *call, int status, const char *first_line)
{
    call_answer_text(call, status, first_line, NULL);
    return false;
}

static bool read_body(struct item_change *change, bool is_create)
{
    struct error err;
    struct call *call = change->call;
    struct route *route = &call->route;
    if (!body_read(call->arena, change->resource, call_header(call, "Content-Type"),
                   http_exchange_body(call->exchange), call_options(call)->max_body_octets,
                   &change->body, &call->faults, &err)) {
        call_answer_error(call, &err);
        return false;
    }
    if (!change->body.name.len && !call->faults.has_type_fault)
        return refuse_change(
            call, 400, is_create ? "Missing name in POST request" : "Missing name in PUT request");
    if (is_create)
        route->names[route->name_count] =
            change->body.name.len ? change->body.name : TEXT(NAME_STAND_IN);
    else if (change->body.name.len &&
             !text_equal(change->body.name, route->names[route->name_count - 1]))
        return refuse_change(call, 400, "Mismatched name in PUT request");
    return true;
}

// Two EMCO names may come to one object's name, and a Namespace may be of others.
static bool check_name_is_free(struct call *call, const struct resource *resource,
                               const struct place *place)
{
    struct text_lines lines = {.arena = call->arena};
    struct text name = call->route.names[resource->name_count - 1];
    if (place->other.at)
        text_lines_add(&lines, "%.*s and %.*s would both be %s %.*s", TEXT_ARGS(place->other),
                       TEXT_ARGS(name), resource->kind->name, TEXT_ARGS(place->key.name));
    else if (place->is_leaving)
        text_lines_add(&lines, "it is being deleted");
    else if (resource == &resources[RESOURCE_PROJECT] && place->object && !place->is_there)
        explain_foreign(&lines, name);
    else
        return true;
    call_answer_text(call, 409, resource->exists, &lines);
    return false;
}

static bool check_parents(struct item_change *change)
{
    struct call *call = change->call;
    enum resource_id missing = change->id;
    if (place_has_parents(engine_of(call), call->arena, change->id, call->route.names, &missing))
        return true;
    if (missing != RESOURCE_PROJECT || change->resource->parent != RESOURCE_PROJECT ||
        !call_options(call)->makes_projects)
        return refuse_change(call, 409, PARENT_MISSING);
    struct place project;
    place_find(engine_of(call), call->arena, RESOURCE_PROJECT, call->route.names, &project);
    if (!check_name_is_free(call, &resources[RESOURCE_PROJECT], &project))
        return false;
    write_project(call, call->route.names[0]);
    return true;
}

static bool check_precondition(struct item_change *change)
{
    struct call *call = change->call;
    const char *if_match = call_header(call, "If-Match");
    const char *if_none = call_header(call, "If-None-Match");
    const struct place *place = &change->place;
    const char *etag = "";
    if (place->is_there)
        etag = call_etag(call->arena, call_view(call, change->id,
                                                call->route.names[change->resource->name_count - 1],
                                                place->map, place->object));
    if (if_match && (!place->is_there || !call_etag_matches(if_match, etag)))
        return refuse_change(call, 412, "If-Match: the item is another by now");
    if (if_none && place->is_there && call_etag_matches(if_none, etag))
        return refuse_change(call, 412, "If-None-Match: the item exists");
    return true;
}

// ---- secrets ------------------------------------------------------------------------------------

static struct text secret_namespace(const struct item_change *change)
{
    struct text namespace_ = change->place.key.namespace_;
    return namespace_.len ? namespace_ : text_of(call_options(change->call)->own_namespace);
}

static const char *secret_name(const struct item_change *change)
{
    return body_secrets_name(change->call->arena, change->place.key.name);
}

static void take_kubeconfig(struct item_change *change, const char *secret)
{
    struct arena *arena = change->call->arena;
    AUTO_BUFFER coded = {0};
    base64_encode(&coded, change->body.kubeconfig.at, change->body.kubeconfig.len);
    value_put_text(arena, change->secrets, "kubeconfig",
                   arena_copy(arena, buffer_text(&coded).at, coded.len));
    value_put(arena, change->built.map, "kubeconfigSecret.namespace",
              value_make_text(arena, secret_namespace(change)));
    value_put_text(arena, change->built.map, "kubeconfigSecret.name", secret);
    value_put_text(arena, change->built.map, "kubeconfigSecret.key", "kubeconfig");
}

static bool has_own_kubeconfig(const struct item_change *change, const struct value *spec)
{
    const struct value *ref = value_find(spec, "kubeconfigSecret");
    return text_is(value_text_at(ref, "name"), secret_name(change)) &&
           text_equal(value_text_at(ref, "namespace"), secret_namespace(change));
}

static void keep_kubeconfig(const struct item_change *change, struct value *kept)
{
    const char *path = "kubeconfigSecret.key";
    if (has_own_kubeconfig(change, change->place.map) &&
        has_own_kubeconfig(change, change->built.map))
        value_set(kept, value_text_at(change->built.map, path),
                  value_make_text(change->call->arena, TEXT("/spec/kubeconfigSecret")));
}

static void take_secrets(struct item_change *change)
{
    struct call *call = change->call;
    const char *secret = secret_name(change);
    const struct body_secrets found = {value_make(call->arena, VALUE_MAP),
                                       value_make(call->arena, VALUE_MAP)};
    change->secrets = found.data;
    if (change->body.kubeconfig.at)
        take_kubeconfig(change, secret);
    else
        keep_kubeconfig(change, found.kept);
    body_secrets_take(call->arena, change->id, change->body.name, secret, change->built.map,
                      change->place.map, &found, &call->faults);
    call->kept = (struct call_kept){
        .key = {&secret_kind, secret_namespace(change), text_of(secret)},
        .pointers = found.kept,
        .fault = change->id == RESOURCE_CLUSTER ? KUBECONFIG_MISSING : SECRETS_NO_VALUE};
}

static struct value *secret_keys(const struct item_change *change, const struct value *tree)
{
    return body_secrets_keys(change->call->arena, value_find(tree, "spec"), secret_name(change));
}

static bool has_all(const struct value *list, const struct value *wanted)
{
    value_each (item, wanted)
        if (!value_lists_text(list, item->text))
            return false;
    return true;
}

// Keys of which no value came.
static struct value *kept_keys(const struct item_change *change, const struct value *keys)
{
    struct value *kept = value_make(change->call->arena, VALUE_LIST);
    value_each (key, keys)
        if (!value_find_text(change->secrets, key->text))
            value_append(kept, value_make_text(change->call->arena, key->text));
    return kept;
}

static void add_secret_write(struct item_change *change, struct call_write write,
                             const struct value *data)
{
    struct call *call = change->call;
    struct value *tree = value_make(call->arena, VALUE_MAP);
    if (change->place.object)
        value_put(call->arena, tree, "metadata.ownerReferences",
                  object_owner_references(call->arena, change->place.object, false));
    value_put_text(call->arena, tree, "type", "Opaque");
    value_put(call->arena, tree, "data", value_copy(call->arena, data));
    write.key = (struct object_ref_key){&secret_kind, secret_namespace(change),
                                        text_of(secret_name(change))};
    write.tree = tree;
    write.is_unread = true;
    add_write(call, write);
}

// A record that changes otherwise, too, refers to its new values by keys of their own, so that no
// decision sees the old record with a new value.
static void separate_new_values(struct item_change *change)
{
    const struct place *place = &change->place;
    struct arena *arena = change->call->arena;
    if (change->id == RESOURCE_RECORD && place->object &&
        patch_between(arena, place->tree, change->built.next))
        body_secrets_rekey(arena, secret_name(change), change->built.map,
                           secret_keys(change, place->tree), change->secrets);
}

// New values are written ahead of the object that refers to them.
static void write_new_values(struct item_change *change)
{
    const struct value *now = secret_keys(change, change->place.tree);
    if (change->secrets->first)
        add_secret_write(change, (struct call_write){.kept = kept_keys(change, now)},
                         change->secrets);
}

// A new object owns its Secret only now; one that was there may refer to less of it. Values of a
// new one come again: another replica may have tried to create an object of that name meanwhile.
static void finish_secret(struct item_change *change)
{
    const struct value *now = secret_keys(change, change->place.tree);
    const struct value *wanted = secret_keys(change, change->built.next);
    bool is_new = !change->place.object && change->secrets->first;
    if (is_new)
        add_secret_write(change, (struct call_write){.is_owned = true, .is_after = true},
                         change->secrets);
    else if (!has_all(wanted, now))
        add_secret_write(change, (struct call_write){.kept = wanted, .is_after = true},
                         value_make(change->call->arena, VALUE_MAP));
}

static void write_object(struct item_change *change, const struct value *now,
                         const struct value *next)
{
    const struct place *place = &change->place;
    const struct value *tree = place->object ? patch_between(change->call->arena, now, next) : next;
    if (tree)
        add_write(change->call,
                  (struct call_write){.key = place->key, .tree = tree, .seen = place->object});
}

static void write_item(struct item_change *change)
{
    struct arena *arena = change->call->arena;
    const struct place *place = &change->place;
    struct text own = change->call->route.names[change->resource->name_count - 1];
    if (change->id != RESOURCE_PROJECT) {
        write_object(change, place->tree, change->built.next);
        return;
    }
    struct value *next = item_project_namespace(arena, own, change->built.next);
    struct value *now = value_make(arena, VALUE_MAP);
    if (place->object)
        value_set(now, TEXT("metadata"), value_copy(arena, value_find(place->tree, "metadata")));
    else
        value_put_text(arena, next, "metadata.annotations[" PROJECT_CREATED_ANNOTATION "]", "true");
    value_put(arena, next, "metadata.name", value_make_text(arena, place->key.name));
    write_object(change, now, next);
}

// ---- POST and PUT -------------------------------------------------------------------------------

static struct check_item item_of(const struct item_change *change)
{
    return (struct check_item){.id = change->id,
                               .next = change->built.next,
                               .path = change->built.path,
                               .key = &change->place.key,
                               .map = change->built.map,
                               .names = change->call->route.names,
                               .engine = engine_of(change->call)};
}

static bool check_change(struct item_change *change)
{
    struct call *call = change->call;
    const struct check_item item = item_of(change);
    check_rules(&item, &call->faults);
    if (call->faults.count) {
        call_answer_faults(call);
        return false;
    }
    struct text_lines missing = {.arena = call->arena};
    if (call->route.is_strict)
        check_references(&item, &missing);
    if (missing.count)
        call_answer_text(call, 409, PARENT_MISSING, &missing);
    return !missing.count;
}

// Consents to a move that begins, or says anew how one goes on.
static void put_move(struct item_change *change, bool begins)
{
    static const char path[] = "metadata.annotations[" MOVE_ANNOTATION "]";
    struct call *call = change->call;
    if (call->route.move && (begins || value_at(change->built.next, path, NULL)))
        value_put_text(call->arena, change->built.next, path, call->route.move);
}

// Runs before the rules are checked, as these take a consent into account.
static void find_move(struct item_change *change)
{
    struct call *call = change->call;
    const struct check_item item = item_of(change);
    change->moved.arena = change->users.arena = call->arena;
    if (change->id != RESOURCE_RECORD || !change->place.is_there)
        return;
    bool is_agreed = check_moved(&item, &change->moved) || call->route.move;
    place_add_users(engine_of(call), change->place.object, &change->users);
    bool begins = change->moved.count && change->users.count;
    put_move(change, begins);
    change->is_moving = begins && is_agreed;
    change->is_held = begins && !is_agreed;
}

// A record whose names stand somewhere does not move without being told to.
static bool check_move(struct item_change *change)
{
    struct body_faults *faults = &change->call->faults;
    if (change->is_moving)
        body_faults_warn(faults, "names are absent while the record moves");
    if (!change->is_held)
        return true;
    for (size_t i = 0; i < change->moved.count; i++)
        body_faults_add(faults, change->moved.items[i].pointer, "%s", change->moved.items[i].text);
    call_answer_text(change->call, 409,
                     "PinnedChange: names stand at the old place; repeat it with ?move=drain, or "
                     "with ?move=abandon where the old place does not remove them",
                     &change->users);
    return false;
}

static void build_item(struct item_change *change)
{
    const struct place *place = &change->place;
    const struct item item = {.id = change->id,
                              .names = change->call->route.names,
                              .object_name = place->key.name,
                              .now = place->tree,
                              .entry = place->map,
                              .fields = change->body.fields};
    change->built = item_build(change->call->arena, &item);
    take_secrets(change);
}

// Answers with the faults that the body's reading found and those that the kind's check finds in
// the rest, all at once.
static void answer_faulty_body(struct item_change *change)
{
    struct call *call = change->call;
    bool has_parents =
        place_has_parents(engine_of(call), call->arena, change->id, call->route.names, NULL);
    if (has_parents)
        place_find(engine_of(call), call->arena, change->id, call->route.names, &change->place);
    if (!has_parents || change->place.other.at) {
        call_answer_faults(call);
        return;
    }
    build_item(change);
    check_change(change);
}

static bool check_is_new(struct item_change *change, bool is_create)
{
    return !is_create || !change->place.is_there ||
           refuse_change(change->call, 409, change->resource->exists);
}

static void put_item(struct call *call, bool is_create)
{
    struct item_change change = {
        .call = call, .resource = &resources[call->route.resource], .id = call->route.resource};
    call->write_count = 0;
    if (!read_body(&change, is_create))
        return;
    if (call->faults.count) {
        answer_faulty_body(&change);
        return;
    }
    if (!check_parents(&change))
        return;
    place_find(engine_of(call), call->arena, change.id, call->route.names, &change.place);
    if (!check_name_is_free(call, change.resource, &change.place) || !check_precondition(&change) ||
        !check_is_new(&change, is_create))
        return;
    build_item(&change);
    find_move(&change);
    if (!check_change(&change) || !check_move(&change))
        return;
    call->status = change.place.is_there ? 200 : 201;
    separate_new_values(&change);
    write_new_values(&change);
    write_item(&change);
    finish_secret(&change);
    call_carry_out(call);
}

void call_create(struct call *call)
{
    put_item(call, true);
}

void call_replace(struct call *call)
{
    put_item(call, false);
}

// ---- DELETE -------------------------------------------------------------------------------------

#define HAS_CHILDREN "Cannot delete parent without deleting child references first"
#define IS_REFERRED_TO "Cannot delete without deleting or updating referencing resources first"

static bool check_is_free(struct item_change *change)
{
    struct call *call = change->call;
    struct text_lines children = {.arena = call->arena};
    struct text_lines referrers = {.arena = call->arena};
    place_add_children(engine_of(call), change->id, call->route.names, &children);
    if (children.count) {
        call_answer_text(call, 409, HAS_CHILDREN, &children);
        return false;
    }
    place_add_referrers(engine_of(call), change->id, call->route.names, &change->place, &referrers);
    if (referrers.count)
        call_answer_text(call, 409, IS_REFERRED_TO, &referrers);
    return !referrers.count;
}

// What is not made by Signpost stays; it is only no project any more.
static void remove_project(struct item_change *change)
{
    static const char *const marks[] = {"metadata.labels[" PROJECT_LABEL "]", ITEM_NAME_PATH,
                                        "metadata.annotations[" PROJECT_METADATA_ANNOTATION "]"};
    struct arena *arena = change->call->arena;
    const struct place *place = &change->place;
    struct value *tree = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        value_put(arena, tree, marks[i], value_make(arena, VALUE_NULL));
    bool is_ours =
        value_at(place->tree, "metadata.annotations[" PROJECT_CREATED_ANNOTATION "]", NULL);
    add_write(change->call, (struct call_write){.key = place->key,
                                                .tree = is_ours ? NULL : tree,
                                                .seen = place->object});
}

static void remove_entry(struct item_change *change)
{
    struct arena *arena = change->call->arena;
    const struct place *place = &change->place;
    const struct value *spec = value_find(place->tree, "spec");
    struct value *entries = value_make(arena, VALUE_LIST);
    change->built.next = value_copy(arena, place->tree);
    change->secrets = value_make(arena, VALUE_MAP);
    value_each (item, value_list_at(spec, change->resource->list))
        if (item != place->map)
            value_append(entries, value_copy(arena, item));
    value_set(value_find(change->built.next, "spec"), text_of(change->resource->list), entries);
    write_object(change, place->tree, change->built.next);
    finish_secret(change);
}

void call_remove(struct call *call)
{
    struct item_change change = {
        .call = call, .resource = &resources[call->route.resource], .id = call->route.resource};
    const struct route *route = &call->route;
    call->write_count = 0;
    if (place_has_parents(engine_of(call), call->arena, change.id, route->names, NULL))
        place_find(engine_of(call), call->arena, change.id, route->names, &change.place);
    if (!change.place.is_there) {
        call_answer_text(call, 404, "The requested resource not found", NULL);
        return;
    }
    if (!check_precondition(&change) || !check_is_free(&change))
        return;
    const char *state = check_removal(call->arena, change.id, change.place.object);
    if (state) {
        call_answer_text(call, 409, state, NULL);
        return;
    }
    if (change.id == RESOURCE_PROJECT)
        remove_project(&change);
    else if (change.resource->list)
        remove_entry(&change);
    else
        add_write(call, (struct call_write){.key = change.place.key, .seen = change.place.object});
    call->status = 204;
    call_carry_out(call);
}

// ---- the life of a group ------------------------------------------------------------------------

// An external-dns that never removes anything leaves the names behind.
static void warn_of_retained(struct call *call, const struct object *group)
{
    struct text_lines records = {.arena = call->arena};
    place_add_retaining(engine_of(call), group, &records);
    for (size_t i = 0; i < records.count; i++)
        body_faults_warn(&call->faults, "%s never removes names: those that stand there stay",
                         records.items[i]);
}

void call_act(struct call *call)
{
    struct place place;
    const struct route *route = &call->route;
    struct value *patch = value_make(call->arena, VALUE_MAP);
    call->write_count = 0;
    place_find(engine_of(call), call->arena, route->resource, route->names, &place);
    if (!place_has_parents(engine_of(call), call->arena, route->resource, route->names, NULL) ||
        !place.is_there) {
        call_answer_missing(call);
        return;
    }
    if (route->action == ROUTE_APPROVE)
        value_put_text(call->arena, patch, "metadata.annotations[" DNS_GROUP "/approved]", "true");
    else if (route->action == ROUTE_UPDATE)
        value_put_int(call->arena, patch, "spec.update", value_int_at(place.map, "update", 0) + 1);
    else
        value_put_text(call->arena, patch, "spec.desired",
                       route->action == ROUTE_TERMINATE ? "Terminated" : "Instantiated");
    if (route->action == ROUTE_TERMINATE)
        warn_of_retained(call, place.object);
    if (!value_covers(place.tree, patch))
        add_write(call, (struct call_write){.key = place.key, .tree = patch, .seen = place.object});
    call->status = 202;
    call_carry_out(call);
}
