#include "kinds/zone/zone_body.h"

// Bodies of the cache. One list of numbers and one of texts for both directions, so that these
// can't part.

enum { NUMBERS = 5, TEXTS = 5 };

static void numbers_of(struct zone_spec *spec, int64_t *out[NUMBERS])
{
    out[0] = &spec->ttl_s;
    out[1] = &spec->refresh_s;
    out[2] = &spec->retry_s;
    out[3] = &spec->expire_s;
    out[4] = &spec->minimum_s;
}

static void texts_of(struct zone_spec *spec, struct text *out[TEXTS])
{
    out[0] = &spec->domain_name;
    out[1] = &spec->mname;
    out[2] = &spec->rname;
    out[3] = &spec->servers;
    out[4] = &spec->file_namespaces;
}

static void pack_texts(struct pack_writer *out, const struct text *texts, size_t count)
{
    pack_number(out, count);
    for (size_t i = 0; i < count; i++)
        pack_text(out, texts[i]);
}

static struct text *unpack_texts(struct arena *arena, struct pack_reader *in, size_t *count)
{
    *count = unpack_number(in);
    struct text *texts = arena_new_array(arena, struct text, *count + 1);
    for (size_t i = 0; i < *count; i++)
        texts[i] = unpack_text(in);
    return texts;
}

// 0: none, else the number and one.
static void pack_serial(struct pack_writer *out, bool is_there, uint32_t serial)
{
    pack_number(out, is_there ? (uint64_t)serial + 1 : 0);
}

static bool unpack_serial(struct pack_reader *in, uint32_t *serial)
{
    uint64_t number = unpack_number(in);
    *serial = number ? (uint32_t)(number - 1) : 0;
    return number != 0;
}

static void pack_delegation(struct pack_writer *out, const struct zone_delegation *delegation)
{
    pack_texts(out, delegation->namespaces, delegation->namespace_count);
    pack_texts(out, delegation->zones, delegation->zone_count);
    pack_number(out, delegation->record_count);
    for (size_t i = 0; i < delegation->record_count; i++) {
        pack_text(out, delegation->records[i].pattern);
        pack_texts(out, delegation->records[i].types, delegation->records[i].type_count);
    }
}

static void unpack_delegation(struct arena *arena, struct pack_reader *in,
                              struct zone_delegation *out)
{
    out->namespaces = unpack_texts(arena, in, &out->namespace_count);
    out->zones = unpack_texts(arena, in, &out->zone_count);
    out->record_count = unpack_number(in);
    out->records = arena_new_array(arena, struct zone_delegation_records, out->record_count + 1);
    for (size_t i = 0; i < out->record_count; i++) {
        out->records[i].pattern = unpack_text(in);
        out->records[i].types = unpack_texts(arena, in, &out->records[i].type_count);
    }
}

void zone_pack_spec(const struct value *object, struct pack_writer *out)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct zone_spec spec;
    int64_t *numbers[NUMBERS];
    struct text *texts[TEXTS];
    zone_decode(arena, object, &spec);
    numbers_of(&spec, numbers);
    texts_of(&spec, texts);
    for (size_t i = 0; i < NUMBERS; i++)
        pack_signed(out, *numbers[i]);
    for (size_t i = 0; i < TEXTS; i++)
        pack_text(out, *texts[i]);
    zone_ref_pack(out, spec.ref);
    pack_number(out, spec.serial_policy);
    pack_serial(out, spec.has_minimum_serial, spec.minimum_serial);
    pack_number(out, spec.delegation_count);
    for (size_t i = 0; i < spec.delegation_count; i++)
        pack_delegation(out, &spec.delegations[i]);
    pack_number(out, spec.nameserver_count);
    for (size_t i = 0; i < spec.nameserver_count; i++) {
        pack_text(out, spec.nameservers[i].name);
        pack_texts(out, spec.nameservers[i].addresses, spec.nameservers[i].address_count);
    }
}

static void unpack_nameservers(struct arena *arena, struct pack_reader *in, struct zone_spec *out)
{
    out->nameserver_count = unpack_number(in);
    out->nameservers =
        arena_new_array(arena, struct zone_spec_nameserver, out->nameserver_count + 1);
    for (size_t i = 0; i < out->nameserver_count; i++) {
        out->nameservers[i].name = unpack_text(in);
        out->nameservers[i].addresses = unpack_texts(arena, in, &out->nameservers[i].address_count);
    }
}

static void unpack_spec(struct arena *arena, struct text body, struct zone_spec *out)
{
    int64_t *numbers[NUMBERS];
    struct text *texts[TEXTS];
    struct pack_reader in = pack_open(body);
    *out = (struct zone_spec){0};
    numbers_of(out, numbers);
    texts_of(out, texts);
    for (size_t i = 0; i < NUMBERS; i++)
        *numbers[i] = unpack_signed(&in);
    for (size_t i = 0; i < TEXTS; i++)
        *texts[i] = unpack_text(&in);
    out->ref = zone_ref_unpack(&in);
    out->serial_policy = (enum serial_policy)unpack_number(&in);
    out->has_minimum_serial = unpack_serial(&in, &out->minimum_serial);
    out->delegation_count = unpack_number(&in);
    out->delegations = arena_new_array(arena, struct zone_delegation, out->delegation_count + 1);
    for (size_t i = 0; i < out->delegation_count; i++)
        unpack_delegation(arena, &in, &out->delegations[i]);
    unpack_nameservers(arena, &in, out);
}

// ---- what we wrote ------------------------------------------------------------------------------

static void pack_server(struct pack_writer *out, const struct zone_status_server *server)
{
    pack_text(out, server->name);
    pack_serial(out, server->has_serial, server->serial);
    pack_serial(out, server->has_fetched, server->fetched_serial);
    pack_number(out, server->state);
}

static void unpack_server(struct pack_reader *in, struct zone_status_server *out)
{
    out->name = unpack_text(in);
    out->has_serial = unpack_serial(in, &out->serial);
    out->has_fetched = unpack_serial(in, &out->fetched_serial);
    out->state = (enum zone_server_state)unpack_number(in);
}

void zone_pack_managed(const struct value *object, struct pack_writer *out)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct zone_status status;
    zone_status_decode(arena, object, &status);
    pack_text(out, status.fqdn);
    pack_text(out, status.content_fqdn);
    pack_text(out, status.hash);
    pack_serial(out, status.has_serial, status.serial);
    pack_number(out, status.entries_complete);
    pack_signed(out, status.entries_total);
    pack_signed(out, status.excluded_count);
    pack_texts(out, status.nameservers, status.nameserver_count);
    pack_text(out, status.server_group);
    pack_number(out, status.server_count);
    for (size_t i = 0; i < status.server_count; i++)
        pack_server(out, &status.servers[i]);
    pack_signed(out, status.observed_generation);
    conditions_pack(out, &status.conditions, zone_condition_types, 0);
    pack_text(out, status.parent_label);
    pack_text(out, status.file_label);
}

static void unpack_managed(struct arena *arena, struct text spec, struct text ours,
                           struct zone_status *out)
{
    struct pack_reader in = pack_open_behind(spec, ours);
    out->fqdn = unpack_text(&in);
    out->content_fqdn = unpack_text(&in);
    out->hash = unpack_text(&in);
    out->has_serial = unpack_serial(&in, &out->serial);
    out->entries_complete = unpack_number(&in);
    out->entries_total = unpack_signed(&in);
    out->excluded_count = unpack_signed(&in);
    out->nameservers = unpack_texts(arena, &in, &out->nameserver_count);
    out->server_group = unpack_text(&in);
    out->server_count = unpack_number(&in);
    out->servers = arena_new_array(arena, struct zone_status_server, out->server_count + 1);
    for (size_t i = 0; i < out->server_count; i++)
        unpack_server(&in, &out->servers[i]);
    out->observed_generation = unpack_signed(&in);
    conditions_unpack(&in, &out->conditions, zone_condition_types, 0);
    out->parent_label = unpack_text(&in);
    out->file_label = unpack_text(&in);
}

void zone_unpack(struct arena *arena, struct text spec, struct text ours, struct zone_spec *out,
                 struct zone_status *out_status)
{
    unpack_spec(arena, spec, out);
    if (out_status)
        *out_status = (struct zone_status){0};
    if (out_status && ours.len)
        unpack_managed(arena, spec, ours, out_status);
}
