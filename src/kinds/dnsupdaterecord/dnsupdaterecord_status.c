#include "kinds/dnsupdaterecord/dnsupdaterecord_body.h"

const char *const update_record_condition_types[] = {
    "Accepted", "CredentialsReady", "DeploymentAvailable", "Synced", "Moving", "Draining", NULL};

// ---- writing ------------------------------------------------------------------------------------

// What there is nothing of stands as null, which removes it.
static void put_text(struct arena *arena, struct value *map, const char *key, struct text text)
{
    value_set(map, text_of(key),
              text.len ? value_make_text(arena, text) : value_make(arena, VALUE_NULL));
}

static void put_texts(struct arena *arena, struct value *map, const char *key,
                      const char *const *texts, size_t count)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count; i++)
        value_append(list, value_make_text(arena, text_of(texts[i])));
    value_set(map, text_of(key), count ? list : value_make(arena, VALUE_NULL));
}

static struct value *user_encode(struct arena *arena, const struct update_record_user *user)
{
    struct value *map = value_make(arena, VALUE_MAP);
    put_text(arena, map, "project", user->project);
    put_text(arena, map, "compositeApp", user->composite_app);
    put_text(arena, map, "version", user->version);
    put_text(arena, map, "deploymentIntentGroup", user->group);
    value_put_int(arena, map, "names", user->names);
    return map;
}

struct value *update_record_status_encode(struct arena *arena,
                                          const struct update_record_status *status)
{
    struct value *map = value_make(arena, VALUE_MAP);
    struct value *users = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < status->user_count; i++)
        value_append(users, user_encode(arena, &status->users[i]));
    value_put_int(arena, map, "observedGeneration", status->observed_generation);
    value_set(map, TEXT("conditions"), conditions_encode(arena, &status->conditions));
    value_set(map, TEXT("users"), users);
    put_text(arena, map, "version", status->version);
    put_texts(arena, map, "args", status->args, status->arg_count);
    put_texts(arena, map, "env", status->env, status->env_count);
    put_text(arena, map, "txtOwnerId", status->owner_id);
    put_text(arena, map, "deployment", status->deployment);
    value_put_int(arena, map, "endpoints", status->endpoints);
    value_set(map, TEXT("lastSyncTime"),
              status->last_sync_s ? status_time_make(arena, status->last_sync_s)
                                  : value_make(arena, VALUE_NULL));
    put_texts(arena, map, "warnings", status->warnings, status->warning_count);
    return map;
}

// ---- what the cache keeps -----------------------------------------------------------------------

void update_record_pack_managed(const struct value *object, struct pack_writer *out)
{
    struct conditions conditions;
    const struct value *status = value_find(object, "status");
    conditions_decode(&conditions, value_find(status, "conditions"), update_record_condition_types);
    conditions_pack(out, &conditions, update_record_condition_types, 0);
    pack_signed(out, value_int_at(status, "observedGeneration", 0));
    pack_text(out, value_text_at(status, "version"));
    pack_text(out, value_text_at(status, "txtOwnerId"));
    pack_text(out, value_text_at(status, "deployment"));
    pack_signed(out, value_int_at(status, "endpoints", 0));
    pack_signed(out, status_time_at(status, "lastSyncTime"));
}

void update_record_status_unpack(struct text spec, struct text ours,
                                 struct update_record_status *out)
{
    struct pack_reader in = pack_open_behind(spec, ours);
    *out = (struct update_record_status){0};
    if (!ours.len)
        return;
    conditions_unpack(&in, &out->conditions, update_record_condition_types, 0);
    out->observed_generation = unpack_signed(&in);
    out->version = unpack_text(&in);
    out->owner_id = unpack_text(&in);
    out->deployment = unpack_text(&in);
    out->endpoints = unpack_signed(&in);
    out->last_sync_s = unpack_signed(&in);
}
