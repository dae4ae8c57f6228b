#include "providers/rfc2136/item.h"

#include "providers/rfc2136/owned_item.h"
#include "providers/rfc2136/signed_exchange.h"

bool item_is_open(const struct item *item)
{
    return !item->change->outcome.is_done && !item->change->outcome.error;
}

const char *item_about(struct arena *arena, const struct item *item)
{
    return arena_printf(arena, "%.*s %s", TEXT_ARGS(item->name),
                        record_type_name(item->change->set.type));
}

static bool accept_apex(const struct item *item, const struct rfc2136_session *session,
                        struct error *err)
{
    const struct record_set *set = &item->change->set;
    if (item->change->op == CHANGE_SET && set->type == RECORD_CNAME)
        return signed_exchange_spec_error(
            err, "INVALID_RECORD", "a CNAME cannot stand at the zone's apex %s: use A and AAAA",
            session->zone);
    if (item->change->op == CHANGE_REMOVE && set->type == RECORD_NS)
        return signed_exchange_spec_error(
            err, "INVALID_RECORD",
            "the zone's apex %s keeps a name server: its NS set can be "
            "changed, not removed. Set deletionPolicy: Retain, or the "
            "annotation dns.homelab.mortenolsen.pro/force-delete: \"true\"",
            session->zone);
    return true;
}

bool item_accept(struct item *item, struct arena *arena, const struct rfc2136_session *session,
                 struct error *err)
{
    const struct record_set *set = &item->change->set;
    const struct text zone = text_of(session->zone);
    struct error cause;
    if (!record_name_join(arena, set->domain, set->subdomain, &item->name, &cause))
        return signed_exchange_spec_error(err, "INVALID_DOMAIN", "%s", cause.text);
    if (!name_is_within(item->name, zone))
        return signed_exchange_spec_error(err, "INVALID_DOMAIN", "%.*s lies outside of the zone %s",
                                          TEXT_ARGS(item->name), session->zone);
    if (text_equal(item->name, zone) && !accept_apex(item, session, err))
        return false;
    return !session->registry.owner_id || item->change->op == CHANGE_READ ||
           owned_item_accept(item, arena, session, err);
}

size_t item_set_octets(struct text name, const struct record_set *set)
{
    enum { RR_FIXED = 10, NUMBERS = 6, ADDRESS = 16 };
    size_t bare = name.len + 2 + RR_FIXED, octets = bare;
    for (size_t i = 0; set && i < set->value_count; i++)
        octets += bare + NUMBERS + ADDRESS + set->values[i].len + txt_string_count(set->values[i]);
    return octets;
}

size_t item_octets(const struct item *item)
{
    if (item->plan != PLAN_PLAIN)
        return owned_item_octets(item);
    if (item->change->op != CHANGE_SET)
        return 2 * item_set_octets(item->name, NULL);
    size_t octets = item_set_octets(item->name, &item->change->set);
    return item->surplus ? 2 * octets + item_set_octets(item->name, item->surplus) : octets;
}

// Not every server gives a record that it has another TTL: those go and come anew. The last one
// never goes, so they do while the surplus stands.
static bool replace_values(struct update *update, const struct item *item, struct error *err)
{
    const struct record_set *set = &item->change->set;
    bool is_same_ttl = item->surplus->ttl_s == set->ttl_s;
    return (is_same_ttl || update_delete_values(update, item->name, set, err)) &&
           update_add_set(update, item->name, set, err) &&
           update_delete_values(update, item->name, item->surplus, err);
}

bool item_add_wanted(struct update *update, const struct item *item, struct error *err)
{
    const struct record_set *set = &item->change->set;
    if (item->surplus)
        return replace_values(update, item, err);
    return update_delete_set(update, item->name, set->type, err) &&
           update_add_set(update, item->name, set, err);
}

bool item_is_unseen_removal(const struct item *item)
{
    return item->change->op == CHANGE_REMOVE && !item->was_there && !item->delegation.at;
}

bool item_add(struct update *update, const struct item *item, struct error *err)
{
    enum record_type type = item->change->set.type;
    if (item->plan != PLAN_PLAIN)
        return owned_item_add(update, item, err);
    if (item->change->op == CHANGE_SET)
        return item_add_wanted(update, item, err);
    if (item_is_unseen_removal(item))
        return update_delete_set(update, item->name, type, err);
    return update_require_present(update, item->name, type, err) &&
           (item->change->op == CHANGE_READ || update_delete_set(update, item->name, type, err));
}

void item_end_unchanged(struct item *item)
{
    item->change->outcome = (struct outcome){.is_done = true, .is_unchanged = true};
}

void item_end_found(struct item *item)
{
    item->change->outcome = (struct outcome){.is_done = true, .found = item->found};
}

void item_end_absent(struct item *item)
{
    item->change->outcome = (struct outcome){.is_done = true, .was_absent = true};
}

void item_end_removed(struct item *item)
{
    item->change->outcome =
        (struct outcome){.is_done = true, .was_absent = item_is_unseen_removal(item)};
}

void item_fail(struct item *item, struct arena *arena, const struct error *error)
{
    item->change->outcome = (struct outcome){.error = error_copy(arena, error)};
}

void item_refuse(struct item *item, struct arena *arena, const struct error *cause)
{
    struct error error;
    signed_exchange_spec_error(&error, "INVALID_RECORD", "%s", cause->text);
    item_fail(item, arena, &error);
}

bool item_hidden_error(const struct item *item, struct text delegation, const char *what,
                       struct error *err)
{
    return signed_exchange_spec_error(
        err, "INVALID_RECORD",
        "%.*s %s lies below the delegation %.*s: the server answers with "
        "that delegation's name servers, %s",
        TEXT_ARGS(item->name), record_type_name(item->change->set.type), TEXT_ARGS(delegation),
        what);
}
