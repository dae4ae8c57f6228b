#include <string.h>

#include "base/backoff.h"
#include "frontends/intent/body_secrets.h"
#include "frontends/intent/call.h"

// Carries out what a request comes to: its writes in their order, then the answer.

// Another replica or a controller has written first; this is long enough for the watch to tell.
enum { AGAIN_MS = 20, AGAIN_MAX_MS = 1000 };

static void write_next(struct call *call);

// ---- the answer ---------------------------------------------------------------------------------

static const char *location_of(const struct call *call)
{
    AUTO_BUFFER path = {0};
    route_write_path(&path, call->route.resource, call->route.names, true);
    return arena_copy(call->arena, path.at, path.len);
}

static void answer_item(struct call *call)
{
    struct place place;
    const struct route *route = &call->route;
    struct text name = route->names[resources[route->resource].name_count - 1];
    place_find(call_options(call)->engine, call->arena, route->resource, route->names, &place);
    if (!place.is_there) {
        call_answer_text(call, 503, "It was stored, and cannot be shown: read it again", NULL);
        return;
    }
    call_answer_tree(call, call->status,
                     call_view(call, route->resource, name, place.map, place.object),
                     call->status == 201 ? location_of(call) : NULL, NULL);
}

static void finish(struct call *call)
{
    if (call->status == 202 || call->status == 204)
        call_answer_nothing(call, call->status);
    else
        answer_item(call);
}

// ---- failures -----------------------------------------------------------------------------------

static bool try_again(struct call *call, const struct error *error)
{
    if (error->fault != FAULT_RACE || call->tries >= CALL_TRIES_MAX || !call->exchange)
        return false;
    int64_t wait_ms = backoff_ms(AGAIN_MS, AGAIN_MAX_MS, ++call->tries);
    struct random *random = call_options(call)->world->random;
    call_serve_again(call, wait_ms + (int64_t)random_below(random, (uint64_t)wait_ms));
    return true;
}

static void creation_undone(void *context, const struct engine_write_result *result)
{
    struct call *call = context;
    struct error error = {0};
    (void)result;
    error_set(&error, FAULT_AGAIN, "SystemError", "the Secret cannot be written");
    call_answer_store(call, &error);
}

// The Secret of an object that was just created cannot be written: all or nothing.
static bool undo_creation(struct call *call)
{
    if (!call->write_at || !call->writes[call->write_at].is_owned)
        return false;
    const struct object_ref_key *key = &call->writes[call->write_at - 1].key;
    const struct object *created = engine_find_object(call_options(call)->engine, key);
    if (!created)
        return false;
    const struct engine_object_write wanted = {
        .key = *key, .seen = created, .deadline_ms = CALL_DEADLINE_MS};
    engine_write_object(call_options(call)->engine, &wanted, creation_undone, call);
    return true;
}

// ---- dry run ------------------------------------------------------------------------------------

// The object as it stands, without notes of others on it, which may hold what was a secret.
static struct value *copy_state(struct arena *arena, const struct value *now)
{
    struct value *copy = value_copy(arena, now);
    value_remove(value_find(copy, "metadata"), "managedFields");
    struct value *annotations = value_at(copy, "metadata.annotations", NULL);
    if (annotations)
        value_remove(annotations, "kubectl.kubernetes.io/last-applied-configuration");
    return copy;
}

static void mask_data(struct arena *arena, struct value *secret, const struct value *kept)
{
    struct value *masked = value_make(arena, VALUE_MAP);
    value_each (item, value_find(secret, "data"))
        value_set(masked, item->key, value_make_text(arena, TEXT(SECRETS_MASK)));
    value_each (key, kept)
        value_set(masked, key->text, value_make_text(arena, TEXT(SECRETS_MASK)));
    value_set(secret, TEXT("data"), masked);
}

// The object as the store would hold it. `now`: as it stands; NULL: it is new, goes or is a Secret.
static struct value *shown_write(struct call *call, const struct call_write *write,
                                 const struct value *now)
{
    struct arena *arena = call->arena;
    struct value *shown = now ? copy_state(arena, now) : value_make(arena, VALUE_MAP);
    int64_t generation = value_int_at(now, "metadata.generation", 0);
    AUTO_BUFFER version = {0};
    kind_api_version(&version, write->key.kind);
    value_put_text(arena, shown, "apiVersion", arena_copy_text(arena, version.at));
    value_put_text(arena, shown, "kind", write->key.kind->name);
    if (write->key.namespace_.len)
        value_put(arena, shown, "metadata.namespace",
                  value_make_text(arena, write->key.namespace_));
    value_put(arena, shown, "metadata.name", value_make_text(arena, write->key.name));
    if (write->tree)
        shown = value_merge_patch(arena, shown, write->tree);
    else
        value_put_bool(arena, shown, "deleted", true);
    if (generation && value_count(write->tree) > !!value_find(write->tree, "metadata"))
        value_put_int(arena, shown, "metadata.generation", generation + 1);
    if (write->key.kind->is_secret)
        mask_data(arena, shown, write->kept);
    return shown;
}

static void show_writes(struct call *call);

static void state_came(void *context, const struct store_reply *reply)
{
    struct call *call = context;
    if (reply->is_ok) {
        value_append(call->shown, shown_write(call, &call->writes[call->write_at++], reply->tree));
        show_writes(call);
    } else if (!try_again(call, &reply->error)) {
        call_answer_store(call, &reply->error);
    }
}

static void show_writes(struct call *call)
{
    for (; call->write_at < call->write_count; call->write_at++) {
        const struct call_write *write = &call->writes[call->write_at];
        if (write->seen && write->tree) {
            engine_get_object(call_options(call)->engine, &write->key, state_came, call);
            return;
        }
        if (!write->is_after)
            value_append(call->shown, shown_write(call, write, NULL));
    }
    call_answer_tree(call, 200, call->shown, NULL, NULL);
}

// ---- writing ------------------------------------------------------------------------------------

static void fail_write(struct call *call, const struct error *error)
{
    if (!undo_creation(call) && !try_again(call, error))
        call_answer_store(call, error);
}

static void write_came(void *context, const struct engine_write_result *result)
{
    struct call *call = context;
    if (!result->is_ok) {
        fail_write(call, &result->error);
        return;
    }
    call->write_at++;
    if (call->write_at == call->write_count)
        finish(call);
    else
        write_next(call);
}

static void add_owner(struct call *call, struct call_write *write)
{
    const struct object *owner =
        engine_find_object(call_options(call)->engine, &call->writes[call->write_at - 1].key);
    struct value *tree = value_copy(call->arena, write->tree);
    if (owner)
        value_put(call->arena, tree, "metadata.ownerReferences",
                  object_owner_references(call->arena, owner, false));
    write->tree = tree;
}

// An admission webhook of others may have side effects, so that only the write itself can tell.
static bool has_no_dry_run(const struct error *error)
{
    return error->status == 400 && strstr(error->text, "does not support dry run");
}

static void was_tried(void *context, const struct engine_write_result *result)
{
    struct call *call = context;
    if (result->is_ok || has_no_dry_run(&result->error))
        write_next(call);
    else
        fail_write(call, &result->error);
}

// What the store refuses shall leave no Secret behind, as we may not remove any.
static bool try_object(struct call *call)
{
    const struct call_write *secret = &call->writes[call->write_at];
    struct call_write *object = &call->writes[call->write_at + 1];
    if (!secret->is_unread || secret->is_after || call->write_at + 1 == call->write_count ||
        object->is_unread || object->is_tried)
        return false;
    object->is_tried = true;
    const struct engine_object_write wanted = {.key = object->key,
                                               .tree = object->tree,
                                               .seen = object->seen,
                                               .is_dry_run = true,
                                               .deadline_ms = CALL_DEADLINE_MS};
    engine_write_object(call_options(call)->engine, &wanted, was_tried, call);
    return true;
}

static void write_next(struct call *call)
{
    struct call_write *write = &call->writes[call->write_at];
    if (try_object(call))
        return;
    if (write->is_owned)
        add_owner(call, write);
    const struct engine_object_write wanted = {.key = write->key,
                                               .tree = write->tree,
                                               .seen = write->seen,
                                               .is_unread = write->is_unread,
                                               .kept = write->kept,
                                               .deadline_ms = CALL_DEADLINE_MS};
    engine_write_object(call_options(call)->engine, &wanted, write_came, call);
}

void call_release_writes(struct call *call)
{
    for (size_t i = 0; i < call->write_count; i++)
        object_unref(call->writes[i].seen);
    call->write_count = 0;
}

// ---- values that are kept -----------------------------------------------------------------------

static void begin_writes(struct call *call)
{
    if (call->route.is_dry_run)
        show_writes(call);
    else if (!call->write_count)
        finish(call);
    else
        write_next(call);
}

static bool has_value(const struct value *secret, struct text key)
{
    return value_text(value_find_text(value_find(secret, "data"), key)).len ||
           value_text(value_find_text(value_find(secret, "stringData"), key)).len;
}

// A Secret that may not be read (403) is not looked into, and the request goes on.
static void kept_came(void *context, const struct store_reply *reply)
{
    struct call *call = context;
    int status = reply->is_ok ? 200 : reply->error.status;
    if (status != 200 && status != 403 && status != 404) {
        call_answer_store(call, &reply->error);
        return;
    }
    value_each (pointer, status != 403 ? call->kept.pointers : NULL)
        if (!has_value(reply->tree, pointer->key))
            body_faults_add(&call->faults, pointer->text.at, "%s", call->kept.fault);
    if (call->faults.count)
        call_answer_faults(call);
    else
        begin_writes(call);
}

void call_carry_out(struct call *call)
{
    call->write_at = 0;
    call->shown = value_make(call->arena, VALUE_LIST);
    if (!call->route.is_dry_run && call->write_count && !call_take_turn(call))
        return;
    if (value_count(call->kept.pointers))
        engine_get_object(call_options(call)->engine, &call->kept.key, kept_came, call);
    else
        begin_writes(call);
}
