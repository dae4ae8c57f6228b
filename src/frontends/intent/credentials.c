#include "base/digest.h"
#include "frontends/intent/change.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"
#include "kinds/secret/secret_kind.h"

#define PARAMETERS_KEY "external-dns-parameters"

static const char *secret_name(struct request *request, struct text object)
{
    return arena_printf(request->arena, "%.*s-credentials", TEXT_ARGS(object));
}

static struct value *need_refs(struct request *request, struct value *spec)
{
    struct value *refs = value_find(spec, "secretRefs");
    return refs ? refs
                : value_put(request->arena, spec, "secretRefs",
                            value_make(request->arena, VALUE_LIST));
}

static void add_ref(struct request *request, struct value *spec, const char *name, struct text key)
{
    struct value *ref = value_make(request->arena, VALUE_MAP);
    value_set(ref, TEXT("target"), value_make_text(request->arena, key));
    value_set(ref, TEXT("name"), value_make_text(request->arena, text_of(name)));
    value_set(ref, TEXT("key"), value_make_text(request->arena, key));
    value_append(need_refs(request, spec), ref);
}

void credentials_refer(struct request *request, const struct found *found, struct value *spec)
{
    const char *name = secret_name(request, found->key.name);
    const struct value *old =
        request->input.keeps_secrets ? value_list_at(found->tree, "spec.secretRefs") : NULL;
    value_each (item, request->input.secrets)
        add_ref(request, spec, name, item->key);
    value_each (ref, old) {
        struct text key = value_text_at(ref, "key");
        if (text_is(value_text_at(ref, "name"), name) && key.len &&
            !value_find_text(request->input.secrets, key))
            add_ref(request, spec, name, key);
    }
}

// ---- the Secret ---------------------------------------------------------------------------------

struct secret_write {
    struct request *request;
    const struct object *owner; // a reference of its own
    void (*done)(struct request *request, const struct object *owner);
    struct error error;
};

static void removed(void *context, const struct engine_object_result *result)
{
    struct secret_write *write = context;
    (void)result;
    object_unref(write->owner);
    answer_error(write->request, &write->error);
}

// A record without its secret is of no use: one that was made for this goes again.
static void take_back(struct secret_write *write, const struct error *error)
{
    const struct object *owner = write->owner;
    const struct engine_object_write removal = {
        .frontend = "rest",
        .key = {owner->kind, object_namespace(owner), object_name(owner)},
        .seen = owner,
        .deadline_ms = WRITE_MS,
    };
    write->error = *error;
    engine_write_object(write->request->api->options.engine, &removal, removed, write);
}

static void secret_written(void *context, const struct engine_object_result *result)
{
    struct secret_write *write = context;
    struct request *request = write->request;
    const struct object *owner = write->owner;
    if (!result->is_ok && !request->was_there) {
        take_back(write, result->error);
        return;
    }
    if (result->is_ok)
        write->done(request, owner);
    else
        answer_error(request, result->error);
    object_unref(owner);
}

static struct value *make_secret(struct request *request, const struct object *owner)
{
    struct arena *arena = request->arena;
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *data = value_make(arena, VALUE_MAP);
    value_put(arena, tree, "metadata.ownerReferences",
              object_owner_references(arena, owner, false));
    value_put_text(arena, tree, "type", "Opaque");
    value_put(arena, tree, "data", data);
    value_each (item, request->input.secrets) {
        AUTO_BUFFER encoded = {0};
        base64_encode(&encoded, item->text.at, item->text.len);
        value_set(data, item->key,
                  value_make_text(arena, (struct text){arena_copy(arena, encoded.at, encoded.len),
                                                       encoded.len}));
        secret_wipe(encoded.at, encoded.len);
    }
    return tree;
}

void credentials_write(struct request *request, const struct object *owner,
                       void (*done)(struct request *request, const struct object *owner))
{
    struct secret_write *write = arena_new_of(request->arena, struct secret_write);
    *write = (struct secret_write){request, object_ref(owner), done, {0}};
    struct object_ref_key key = {&secret_kind, object_namespace(owner),
                                 text_of(secret_name(request, object_name(owner)))};
    const struct engine_object_write wanted = {
        .frontend = "rest",
        .key = key,
        .tree = make_secret(request, owner),
        .seen = engine_find_object(request->api->options.engine, &key),
        .deadline_ms = WRITE_MS,
    };
    engine_write_object(request->api->options.engine, &wanted, secret_written, write);
}

// ---- places -------------------------------------------------------------------------------------

static bool differs(const struct value *old, const struct value *now, const char *key)
{
    const struct value *a = value_find(old, key);
    const struct value *b = value_find(now, key);
    return (a || b) && (!a || !b || !value_equal(a, b));
}

bool record_is_moved(const struct value *old, const struct value *now)
{
    const struct value *before = value_find(old, "spec");
    const struct value *after = value_find(now, "spec");
    if (differs(before, after, "provider") || differs(before, after, "adoptOwner"))
        return true;
    for (size_t i = 0; i < PARAMETERS; i++)
        if ((external_dns_parameters[i].traits & TRAIT_PLACE) &&
            differs(value_find(before, PARAMETERS_KEY), value_find(after, PARAMETERS_KEY),
                    external_dns_parameters[i].name))
            return true;
    return false;
}
