#include "providers/rfc2136/owned_item.h"

#include "providers/rfc2136/signed_exchange.h"

enum { OWNER_SHOWN = 200 }; // octets of somebody else's owner id in a text

bool owned_item_accept(struct item *item, struct arena *arena,
                       const struct rfc2136_session *session, struct error *err)
{
    struct error cause;
    bool has_name = txt_registry_name(&session->registry, arena, text_of(session->zone), item->name,
                                      item->change->set.type, &item->txt_name, &cause);
    if (!has_name && item->change->op == CHANGE_REMOVE) {
        item_end_absent(item); // it was never made, as it could not be marked as ours
        return true;
    }
    if (!has_name)
        return signed_exchange_spec_error(err, "INVALID_DOMAIN", "%s: %s", item_about(arena, item),
                                          cause.text);
    item->registry = &session->registry;
    item->plan = PLAN_QUERY;
    return true;
}

// ---- whose it is --------------------------------------------------------------------------------

static const char *explain_other(struct arena *arena, struct text other)
{
    AUTO_BUFFER shown = {0};
    if (!other.len)
        return "belongs to an external-dns without owner id";
    text_clean(&shown, other, OWNER_SHOWN);
    return arena_printf(arena, "belongs to the external-dns with owner id %s", shown.at);
}

static const char *explain_owner(const struct item *item, struct arena *arena)
{
    struct text other;
    switch (txt_registry_read(item->registry, item->txt, &other)) {
    case OWNER_NONE:
        return "was made by somebody else: it has no ownership record";
    case OWNER_OTHER:
        return explain_other(arena, other);
    case OWNER_UNKNOWN:
        return "was made by somebody else: the TXT record in place of its ownership record does "
               "not say whose it is";
    case OWNER_OURS:
        break;
    }
    return "is ours";
}

static void refuse_foreign(struct item *item, struct arena *arena)
{
    struct error err;
    signed_exchange_owner_error(&err, "%s %s (TXT %.*s)", item_about(arena, item),
                                explain_owner(item, arena), TEXT_ARGS(item->txt_name));
    item_fail(item, arena, &err);
}

static void leave_foreign(struct item *item, struct arena *arena)
{
    bool is_there = item->was_there || item->txt;
    item_end_absent(item);
    if (is_there)
        item->change->outcome.note =
            arena_printf(arena, "nothing was removed: %s %s", item_about(arena, item),
                         explain_owner(item, arena));
}

static enum item_plan plan_set(const struct item *item, enum owner owner)
{
    if (owner == OWNER_OURS)
        return item->is_as_wanted ? PLAN_KEEP : PLAN_REPLACE;
    return owner != OWNER_NONE || item->was_there ? PLAN_REFUSE : PLAN_CREATE;
}

void owned_item_plan(struct item *item, struct arena *arena)
{
    struct text other;
    enum owner owner = txt_registry_read(item->registry, item->txt, &other);
    if (item->change->op == CHANGE_SET)
        item->plan = plan_set(item, owner);
    else if (owner == OWNER_OURS)
        item->plan = PLAN_REMOVE;
    else if (owner == OWNER_NONE)
        item->plan = PLAN_LEAVE;
    else
        leave_foreign(item, arena);
}

bool owned_item_is_proof(const struct item *item)
{
    return item->plan == PLAN_KEEP || item->plan == PLAN_REFUSE || item->plan == PLAN_LEAVE;
}

// ---- what an UPDATE says ------------------------------------------------------------------------

static bool require_ours(struct update *update, const struct item *item, struct error *err)
{
    return update_require_values(update, item->txt_name, item->txt, err);
}

static bool prove_kept(struct update *update, const struct item *item, struct error *err)
{
    return require_ours(update, item, err) &&
           update_require_values(update, item->name, &item->change->set, err);
}

static bool prove_foreign(struct update *update, const struct item *item, struct error *err)
{
    return (!item->was_there ||
            update_require_present(update, item->name, item->change->set.type, err)) &&
           (!item->txt || update_require_present(update, item->txt_name, RECORD_TXT, err));
}

static bool prove_left(struct update *update, const struct item *item, struct error *err)
{
    return update_require_absent(update, item->txt_name, RECORD_TXT, err);
}

// Servers drop a CNAME beside other data, and other data beside a CNAME, without a word.
static bool require_room(struct update *update, const struct item *item, struct error *err)
{
    enum record_type type = item->change->set.type;
    if (type == RECORD_CNAME)
        return update_require_unused(update, item->name, err);
    return update_require_absent(update, item->name, type, err) &&
           update_require_absent(update, item->name, RECORD_CNAME, err);
}

static bool create(struct update *update, const struct item *item, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct record_set record = txt_registry_record(item->registry, arena);
    return require_room(update, item, err) &&
           update_require_absent(update, item->txt_name, RECORD_TXT, err) &&
           update_require_absent(update, item->txt_name, RECORD_CNAME, err) &&
           update_add_set(update, item->name, &item->change->set, err) &&
           update_add_set(update, item->txt_name, &record, err);
}

static bool replace(struct update *update, const struct item *item, struct error *err)
{
    return require_ours(update, item, err) && item_add_wanted(update, item, err);
}

static bool remove_both(struct update *update, const struct item *item, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct record_set marks = txt_registry_marks(arena, item->txt);
    return require_ours(update, item, err) &&
           update_delete_set(update, item->name, item->change->set.type, err) &&
           update_delete_values(update, item->txt_name, &marks, err);
}

bool owned_item_add(struct update *update, const struct item *item, struct error *err)
{
    static bool (*const adders[])(struct update *, const struct item *, struct error *) = {
        [PLAN_KEEP] = prove_kept, [PLAN_REFUSE] = prove_foreign, [PLAN_LEAVE] = prove_left,
        [PLAN_CREATE] = create,   [PLAN_REPLACE] = replace,      [PLAN_REMOVE] = remove_both,
    };
    return adders[item->plan](update, item, err);
}

size_t owned_item_octets(const struct item *item)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct record_set record = txt_registry_record(item->registry, arena);
    const struct record_set *wanted = item->change->op == CHANGE_SET ? &item->change->set : NULL;
    size_t set = item_set_octets(item->name, wanted);
    size_t bare = item_set_octets(item->name, NULL) + item_set_octets(item->txt_name, NULL);
    size_t surplus = item->surplus ? set + item_set_octets(item->name, item->surplus) : 0;
    return 2 * bare + set + surplus + item_set_octets(item->txt_name, &record) +
           2 * item_set_octets(item->txt_name, item->txt);
}

// ---- what came of it ----------------------------------------------------------------------------

void owned_item_take_proof(struct item *item, struct arena *arena)
{
    if (item->plan == PLAN_KEEP)
        item_end_unchanged(item);
    else if (item->plan == PLAN_REFUSE)
        refuse_foreign(item, arena);
    else
        leave_foreign(item, arena);
}

static void plan_creation(struct item *item)
{
    item->plan = PLAN_CREATE;
    item->was_there = false;
}

// The proof shows that the zone does not hold what queries show: a wildcard answers.
static bool plan_unproved(struct item *item)
{
    if (item->plan == PLAN_KEEP) {
        item->plan = PLAN_REPLACE;
        return true;
    }
    if (item->plan != PLAN_REFUSE)
        return false;
    plan_creation(item);
    return true;
}

// Below a delegation no query shows the record: ours is as we write it.
static void plan_hidden_removal(struct item *item, struct arena *arena)
{
    struct record_set *record = arena_new_of(arena, struct record_set);
    *record = txt_registry_record(item->registry, arena);
    item->txt = record;
    item->plan = PLAN_REMOVE;
}

// Queries show an ownership record of ours, or none, and both times the zone did not agree.
static bool plan_last_try(struct item *item, struct arena *arena)
{
    if (item->plan == PLAN_CREATE)
        return false;
    if (item->plan == PLAN_LEAVE) {
        plan_hidden_removal(item, arena);
        return true;
    }
    item->txt = NULL; // a wildcard's
    if (item->plan == PLAN_REPLACE)
        plan_creation(item);
    else
        leave_foreign(item, arena);
    return true;
}

static void fail_contradicted(struct item *item, struct arena *arena, unsigned rcode)
{
    struct error err;
    if (item->change->op == CHANGE_SET)
        signed_exchange_owner_error(
            &err,
            "%s: the server answered %s: other data that no query shows stand at that name or at "
            "its ownership record (TXT %.*s), a CNAME perhaps, and nothing was changed",
            item_about(arena, item), message_rcode_name(rcode), TEXT_ARGS(item->txt_name));
    else
        signed_exchange_again_error(
            &err, "ServerError",
            "%s: its ownership record (TXT %.*s) is not what queries show: nothing was removed",
            item_about(arena, item), TEXT_ARGS(item->txt_name));
    item_fail(item, arena, &err);
}

void owned_item_take_contradiction(struct item *item, struct arena *arena, unsigned rcode)
{
    static const unsigned tries = 2;
    if (plan_unproved(item))
        return;
    if (!item->contradictions++)
        item->plan = PLAN_QUERY;
    else if (item->contradictions > tries || !plan_last_try(item, arena))
        fail_contradicted(item, arena, rcode);
}
