#include "commands/view_zones.h"

#include <inttypes.h>
#include <string.h>

#include "dns/rr_type.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"

static struct text without_dot(struct text name)
{
    if (name.len > 1 && dname_text_is_full(name))
        name.len--;
    return name;
}

// ---- zones --------------------------------------------------------------------------------------

static const char *describe_server(struct arena *arena, const struct zone_status_server *server)
{
    const char *state = zone_server_state_name(server->state);
    if (!server->has_serial)
        return arena_printf(arena, "%.*s %s", TEXT_ARGS(server->name), state);
    return arena_printf(arena, "%.*s %" PRIu32 " %s", TEXT_ARGS(server->name), server->serial,
                        state);
}

void view_describe_zone(struct view *view, struct view_row *row, const struct value *tree)
{
    struct zone_status status = {0};
    zone_status_decode(view->arena, tree, &status);
    struct text name = status.fqdn.len ? status.fqdn : value_text_at(tree, "spec.domainName");
    const char **servers = arena_new_array(view->arena, const char *, status.server_count + 1);
    row->what = arena_printf(view->arena, "%.*s", TEXT_ARGS(without_dot(name)));
    if (status.has_serial)
        row->what = arena_printf(view->arena, "%s %" PRIu32, row->what, status.serial);
    for (size_t i = 0; i < status.server_count; i++)
        servers[i] = describe_server(view->arena, &status.servers[i]);
    row->servers = servers;
}

bool view_zone_is_answered(const struct view *view, const struct view_row *zone)
{
    struct text apex = without_dot(value_text_at(zone->tree, "status.fqdn"));
    for (size_t i = 0; i < view->count; i++) {
        const struct view_row *row = &view->rows[i];
        if (row->kind == &record_kind && row->answer == ANSWER_OK &&
            name_is_within(row->question.name, apex))
            return true;
    }
    return false;
}

// ---- records ------------------------------------------------------------------------------------

struct apex {
    uint8_t octets[DNAME_MAX];
    struct dname name; // in octets: it must not move
};

static bool read_apex(const struct view_row *zone, struct apex *out)
{
    struct text fqdn = value_text_at(zone->tree, "status.fqdn");
    struct error err;
    if (!fqdn.len)
        fqdn = value_text_at(zone->tree, "spec.domainName");
    return dname_text_is_full(fqdn) &&
           dname_read(fqdn, NULL, DNAME_OF_OBJECT, out->octets, &out->name, &err);
}

static bool find_named(struct view *view, const struct view_row *row, struct zone_ref ref,
                       struct apex *out)
{
    const char *object =
        arena_printf(view->arena, "%s/%.*s/%.*s", zone_kind.name,
                     TEXT_ARGS(ref.namespace_.len ? ref.namespace_ : text_of(row->namespace_)),
                     TEXT_ARGS(ref.name));
    const struct view_row *zone = ref.name.len ? view_find(view, object) : NULL;
    return zone && read_apex(zone, out);
}

// The one with the most labels; a DS lives above its name.
static bool find_around(const struct view *view, struct dname name, uint16_t type, struct apex *out)
{
    struct apex apex;
    bool is_found = false;
    for (size_t i = 0; i < view->count; i++) {
        if (view->rows[i].kind != &zone_kind || !read_apex(&view->rows[i], &apex) ||
            !dname_is_within(name, apex.name) || (type == RR_DS && dname_equal(name, apex.name)) ||
            (is_found && apex.name.len <= out->name.len))
            continue;
        memcpy(out->octets, apex.octets, apex.name.len);
        out->name = (struct dname){out->octets, apex.name.len};
        is_found = true;
    }
    return is_found;
}

static bool find_zone(struct view *view, const struct view_row *row, struct zone_ref adopter,
                      const struct record_spec *spec, struct record_place *place, struct apex *out)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    if (spec->ref.name.len)
        return find_named(view, row, spec->ref, out);
    return find_named(view, row, adopter, out) ||
           (record_read_name(spec, octets, &name, NULL) == REASON_NONE &&
            find_around(view, name, place->type, out));
}

static bool make_question(struct view *view, struct view_row *row, const struct record_spec *spec,
                          const struct record_place *place)
{
    AUTO_BUFFER name = {0};
    AUTO_BUFFER rdata = {0};
    unsigned marks = 0;
    if (rr_type_is_reserved(place->type) || record_check_ttl(spec, NULL) != REASON_NONE ||
        record_check_class(spec, NULL) != REASON_NONE ||
        record_read_rdata(spec, place, &rdata, &marks, NULL) != REASON_NONE)
        return false;
    dname_write(&name, place->owner);
    row->question = (struct name_question){
        .name = without_dot((struct text){arena_copy(view->arena, name.at, name.len), name.len}),
        .type = place->type,
        .has_ttl = spec->has_ttl,
        .ttl_s = spec->has_ttl ? (uint32_t)spec->ttl_s : 0,
        .rdata = {arena_copy(view->arena, buffer_text(&rdata).at, rdata.len), rdata.len},
    };
    return true;
}

// As `signpost run` will see it; what is not known yet is shown as written.
static bool link_record(struct view *view, struct view_row *row)
{
    struct record_spec spec;
    struct record_status status = {0};
    struct record_place place = {0};
    struct apex zone;
    uint8_t octets[DNAME_MAX];
    record_decode(row->tree, &spec);
    record_status_decode(row->tree, &status);
    struct text fqdn = status.fqdn.len ? status.fqdn : spec.domain_name;
    row->what =
        arena_printf(view->arena, "%.*s %.*s", TEXT_ARGS(without_dot(fqdn)), TEXT_ARGS(spec.type));
    if (record_read_type(&spec, &place.type, NULL) != REASON_NONE ||
        !find_zone(view, row, status.zone, &spec, &place, &zone) ||
        !dname_read(spec.domain_name, &zone.name, DNAME_OF_OBJECT, octets, &place.owner, NULL))
        return false;
    place.zone = zone.name;
    if (!make_question(view, row, &spec, &place))
        return false;
    row->what =
        arena_printf(view->arena, "%.*s %.*s", TEXT_ARGS(row->question.name), TEXT_ARGS(spec.type));
    return true;
}

void view_link_records(struct view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        struct view_row *row = &view->rows[i];
        if (row->kind == &record_kind)
            row->has_question = link_record(view, row) && row->has_question;
    }
}
