#include "kinds/dnsupdaterecord/external_dns_render.h"

bool external_dns_pinned_read(struct arena *arena, struct text json,
                              struct external_dns_pinned *out)
{
    struct error err;
    const struct value *map = value_read_json(arena, json, &value_reply_limits, &err);
    struct external_dns_pinned read = {
        .owner_id = value_text_at(map, "txt-owner-id"),
        .txt_prefix = value_text_at(map, "txt-prefix"),
        .annotation_prefix = value_text_at(map, "annotation-prefix"),
        .place = value_text_at(map, "place"),
        .is_native = text_is(value_text_at(map, "engine"), "native"),
        .signer = value_text_at(map, "signer"),
    };
    if (!read.owner_id.len || !read.txt_prefix.at || !read.annotation_prefix.len)
        return false;
    *out = read;
    return true;
}

const char *external_dns_pinned_write(struct arena *arena, const struct external_dns_pinned *pinned)
{
    AUTO_BUFFER json = {0};
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("txt-owner-id"), value_make_text(arena, pinned->owner_id));
    struct text prefix = pinned->txt_prefix.at ? pinned->txt_prefix : TEXT("");
    value_set(map, TEXT("txt-prefix"), value_make_text(arena, prefix));
    value_set(map, TEXT("annotation-prefix"), value_make_text(arena, pinned->annotation_prefix));
    if (pinned->place.len)
        value_set(map, TEXT("place"), value_make_text(arena, pinned->place));
    if (pinned->is_native)
        value_put_text(arena, map, "engine", "native");
    if (pinned->is_native && pinned->signer.len)
        value_set(map, TEXT("signer"), value_make_text(arena, pinned->signer));
    value_write_json(&json, map);
    return arena_copy(arena, json.at, json.len);
}

// ---- the place ----------------------------------------------------------------------------------

// Flags whose values are pinned count by those.
static bool is_place(struct text flag)
{
    return external_dns_is_place(flag) && !text_is(flag, "txt-owner-id") &&
           !text_is(flag, "txt-prefix") && !text_is(flag, "annotation-prefix");
}

struct text external_dns_place(struct arena *arena, const struct external_dns_start *start)
{
    AUTO_BUFFER place = {0};
    for (size_t i = 0; i < start->arg_count; i++) {
        struct text flag;
        struct text arg = text_of(start->args[i]);
        struct text rest = {arg.at + 2, arg.len - 2};
        if (text_cut(&rest, '=', &flag) && is_place(flag))
            buffer_printf(&place, "%s%s", place.len ? "\n" : "", start->args[i] + 2);
    }
    return text_of(arena_copy(arena, place.at ? place.at : "", place.len));
}

// The next of the place's values of that flag.
static bool next_value(struct text *rest, struct text flag, struct text *out)
{
    struct text line;
    struct text name;
    while (rest->len && text_cut(rest, '\n', &line))
        if (text_cut(&line, '=', &name) && text_equal(name, flag)) {
            *out = line;
            return true;
        }
    return false;
}

struct text external_dns_place_find(const struct external_dns_pinned *pinned, struct text flag)
{
    struct text found = {0};
    struct text rest = pinned->place;
    next_value(&rest, flag, &found);
    return found;
}

// Hosts and zones are compared as DNS names: without case and final dot.
static bool is_same_value(struct text flag, struct text a, struct text b)
{
    if (!text_is(flag, external_dns_parameters[PARAMETER_RFC2136_HOST].name) &&
        !text_is(flag, external_dns_parameters[PARAMETER_RFC2136_ZONE].name))
        return text_equal(a, b);
    a.len -= a.len > 1 && text_ends(a, ".");
    b.len -= b.len > 1 && text_ends(b, ".");
    return text_equal_nocase(a, b);
}

bool external_dns_is_moved_by(const struct external_dns_pinned *from,
                              const struct external_dns_pinned *to, struct text flag)
{
    struct text a;
    struct text b;
    struct text old = from->place;
    struct text new = to->place;
    if (text_is(flag, "txt-owner-id"))
        return !text_equal(from->owner_id, to->owner_id);
    if (text_is(flag, "txt-prefix"))
        return !text_equal(from->txt_prefix, to->txt_prefix);
    if (text_is(flag, "annotation-prefix"))
        return !text_equal(from->annotation_prefix, to->annotation_prefix);
    while (next_value(&old, flag, &a))
        if (!next_value(&new, flag, &b) || !is_same_value(flag, a, b))
            return true;
    return next_value(&new, flag, &b);
}

bool external_dns_is_same_place(const struct external_dns_pinned *a,
                                const struct external_dns_pinned *b)
{
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct external_dns_parameter *row = &external_dns_parameters[i];
        if ((row->traits & TRAIT_PLACE) && external_dns_is_moved_by(a, b, text_of(row->name)))
            return false;
    }
    return !external_dns_is_moved_by(a, b, TEXT("provider"));
}

// ---- the key ------------------------------------------------------------------------------------

#define SECRET_TARGET "rfc2136-tsig-secret"
static const enum external_dns_id signer_ids[] = {PARAMETER_RFC2136_TSIG_KEYNAME,
                                                  PARAMETER_RFC2136_TSIG_SECRET_ALG};

struct text external_dns_signer(struct arena *arena, const struct update_record *record)
{
    AUTO_BUFFER lines = {0};
    const struct update_record_ref *ref = update_record_find_ref(record, TEXT(SECRET_TARGET));
    for (size_t i = 0; i < COUNT_OF(signer_ids); i++) {
        struct text text = value_text(record->values[signer_ids[i]]);
        if (text.len)
            buffer_printf(&lines, "%s=%.*s\n", external_dns_parameters[signer_ids[i]].name,
                          TEXT_ARGS(text));
    }
    if (ref)
        buffer_printf(&lines, SECRET_TARGET "=%.*s/%.*s\n", TEXT_ARGS(ref->name),
                      TEXT_ARGS(ref->key));
    return text_of(arena_copy(arena, lines.at ? lines.at : "", lines.len));
}

// ---- what is asked for --------------------------------------------------------------------------

static bool makes_owner(const struct update_record *record)
{
    return !record->adopt_owner.len &&
           text_is(update_record_text(record, PARAMETER_TXT_OWNER_ID), "default");
}

void external_dns_pinned_ask(struct arena *arena, const struct external_dns_input *input,
                             struct text process_owner, struct external_dns_pinned *out)
{
    struct external_dns_start start;
    struct external_dns_input asked = *input;
    const struct update_record *record = input->record;
    external_dns_pinned_make(arena, record, input->minor, input->project, process_owner, out);
    if (record->has_pinned && makes_owner(record))
        out->owner_id = record->pinned.owner_id;
    if (record->has_pinned && !record->values[PARAMETER_TXT_PREFIX])
        out->txt_prefix = record->pinned.txt_prefix;
    if (record->has_pinned && !record->values[PARAMETER_ANNOTATION_PREFIX])
        out->annotation_prefix = record->pinned.annotation_prefix;
    asked.pinned = out;
    external_dns_start_make(arena, &asked, &start);
    out->place = external_dns_place(arena, &start);
    out->is_native = record->is_native;
    out->signer = external_dns_signer(arena, record);
}

// ---- the key in force ---------------------------------------------------------------------------

// A Secret's name has no slash.
static void take_secret(struct arena *arena, struct update_record *record, struct text text)
{
    struct text name;
    struct update_record_ref *ref = arena_new_of(arena, struct update_record_ref);
    text_cut(&text, '/', &name);
    *ref = (struct update_record_ref){.target = TEXT(SECRET_TARGET), .name = name, .key = text};
    record->refs = ref;
    record->ref_count = 1;
}

static void put_signer_in_force(struct arena *arena, struct update_record *record)
{
    struct text line;
    struct text rest = record->pinned.signer;
    record->ref_count = 0;
    for (size_t i = 0; i < COUNT_OF(signer_ids); i++)
        record->values[signer_ids[i]] = NULL;
    while (rest.len && text_cut(&rest, '\n', &line)) {
        struct text flag;
        text_cut(&line, '=', &flag);
        if (text_is(flag, SECRET_TARGET))
            take_secret(arena, record, line);
        for (size_t i = 0; i < COUNT_OF(signer_ids); i++)
            if (text_is(flag, external_dns_parameters[signer_ids[i]].name))
                record->values[signer_ids[i]] = value_make_text(arena, line);
    }
}

// ---- in force -----------------------------------------------------------------------------------

// A parameter's value with one more line of the place; one that stands several times is a list.
static const struct value *take_line(struct arena *arena, const struct value *before,
                                     enum external_dns_id id, struct text text)
{
    const struct external_dns_parameter *row = &external_dns_parameters[id];
    struct value *list = before ? value_copy(arena, before) : value_make(arena, VALUE_LIST);
    int64_t number;
    if (row->types == 1U << VALUE_INT && text_to_int64(text, &number))
        return value_make_int(arena, number);
    if (row->form != FORM_LIST)
        return value_make_text(arena, text);
    value_append(list, value_make_text(arena, text));
    return list;
}

static void forget_place(struct update_record *record)
{
    for (size_t i = 0; i < PARAMETERS; i++)
        if (is_place(text_of(external_dns_parameters[i].name)))
            record->values[i] = NULL;
}

static void take_place(struct arena *arena, struct update_record *record)
{
    struct text line;
    struct text rest = record->pinned.place;
    forget_place(record);
    while (rest.len && text_cut(&rest, '\n', &line)) {
        struct text flag;
        const struct external_dns_parameter *row = text_cut(&line, '=', &flag) && is_place(flag)
                                                       ? external_dns_find_flag(flag, NULL)
                                                       : NULL;
        size_t id = row ? (size_t)(row - external_dns_parameters) : PARAMETERS;
        if (row)
            record->values[id] =
                take_line(arena, record->values[id], (enum external_dns_id)id, line);
    }
}

void update_record_put_in_force(struct arena *arena, struct update_record *record)
{
    if (!record->has_pinned || !record->pinned.place.len)
        return;
    record->is_native = record->pinned.is_native;
    if (!record->is_native)
        return;
    record->provider = EXTERNAL_DNS_RFC2136;
    put_signer_in_force(arena, record);
    take_place(arena, record);
}

void update_record_put_zones_in_force(struct arena *arena, struct update_record *record)
{
    struct update_record standing = *record;
    if (!record->has_pinned || !record->pinned.place.len)
        return;
    take_place(arena, &standing);
    record->values[PARAMETER_RFC2136_ZONE] = standing.values[PARAMETER_RFC2136_ZONE];
}
