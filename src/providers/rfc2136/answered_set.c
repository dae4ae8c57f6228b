#include "providers/rfc2136/answered_set.h"

#include <string.h>

enum { HEADER_OCTETS = 12, SHOWN_VALUES = 3, SHOWN_OCTETS = 400 };

static bool is_referral(const struct message *message)
{
    return message->rcode == RCODE_NOERROR && !message->is_authoritative &&
           message->answer_count + message->skipped_count == 0 && !message->has_soa;
}

static unsigned count_at(const char *header, size_t at)
{
    return (unsigned)(unsigned char)header[at] << 8 | (unsigned char)header[at + 1];
}

// The sections follow each other, so that authority and additional read as answers once the header
// counts them there.
static bool read_referral(struct arena *arena, struct text octets, struct message *out)
{
    char *copy = arena_copy(arena, octets.at, octets.len);
    unsigned count = count_at(copy, 8) + count_at(copy, 10);
    copy[6] = (char)(count >> 8);
    copy[7] = (char)count;
    memset(copy + 8, 0, 4);
    return message_read(arena, (struct text){copy, octets.len}, out, NULL);
}

// The name servers at a cut between the zone's apex and the name, or NULL.
static const struct record_set *cut_of(const struct message *message, struct text zone,
                                       struct text name)
{
    for (size_t i = 0; i < message->answer_count; i++) {
        const struct record_set *set = &message->answers[i];
        if (set->type == RECORD_NS && name_is_within(set->domain, zone) &&
            !text_equal(set->domain, zone) && name_is_within(name, set->domain))
            return set;
    }
    return NULL;
}

static bool is_glue(const struct record_set *cut, struct text name, enum record_type type)
{
    if (type != RECORD_A && type != RECORD_AAAA)
        return false;
    for (size_t i = 0; i < cut->value_count; i++)
        if (text_equal_nocase(cut->values[i], name))
            return true;
    return false;
}

static void show(struct buffer *out, const struct record_set *set)
{
    buffer_printf(out, "%s%s ", out->len ? "; " : "", record_type_name(set->type));
    if (set->priority >= 0)
        buffer_printf(out, "%d ", set->priority);
    if (set->weight >= 0)
        buffer_printf(out, "%d %d ", set->weight, set->port);
    for (size_t i = 0; i < set->value_count && i < SHOWN_VALUES; i++) {
        if (i)
            buffer_add_text(out, ", ");
        text_clean(out, set->values[i], 80);
    }
    if (set->value_count > SHOWN_VALUES)
        buffer_printf(out, " and %zu more", set->value_count - SHOWN_VALUES);
    buffer_printf(out, " (TTL %u)", set->ttl_s);
}

static void merge(struct arena *arena, struct record_set *into, const struct record_set *set)
{
    size_t count = into->value_count + set->value_count;
    struct text *values = arena_new_array(arena, struct text, count);
    memcpy(values, into->values, into->value_count * sizeof *values);
    memcpy(values + into->value_count, set->values, set->value_count * sizeof *values);
    into->values = values;
    into->value_count = count;
}

static void collect(struct arena *arena, const struct message *message, struct text name,
                    enum record_type type, struct answered_set *answered)
{
    AUTO_BUFFER shown = {0};
    struct record_set *found = NULL;
    for (size_t i = 0; i < message->answer_count; i++) {
        struct record_set *set = &message->answers[i];
        if (!text_equal(set->domain, name))
            continue;
        if (shown.len < SHOWN_OCTETS)
            show(&shown, set);
        if (set->type != type)
            continue;
        answered->is_split = found != NULL;
        if (found)
            merge(arena, found, set);
        else
            found = set;
    }
    answered->set = found;
    answered->shown = shown.len ? arena_copy_text(arena, shown.at) : "nothing";
}

struct answered_set answered_set_read(struct arena *arena, struct text octets,
                                      const struct message *message, struct text zone,
                                      struct text name, enum record_type type)
{
    struct message referral;
    struct answered_set answered = {.is_authoritative = message->is_authoritative,
                                    .shown = "nothing"};
    if (is_referral(message) && read_referral(arena, octets, &referral)) {
        const struct record_set *cut = cut_of(&referral, zone, name);
        answered.is_authoritative = cut;
        answered.delegation = cut ? cut->domain : (struct text){0};
        answered.is_glue = cut && is_glue(cut, name, type);
        message = &referral;
    }
    if (answered.is_authoritative)
        collect(arena, message, name, type, &answered);
    return answered;
}

bool answered_set_equals(const struct answered_set *answered, const struct record_set *set)
{
    return answered->set && !answered->is_split && record_set_equal(answered->set, set);
}
