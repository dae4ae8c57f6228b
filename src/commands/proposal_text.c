#include <string.h>

#include "base/value.h"
#include "commands/print.h"
#include "commands/proposal.h"

enum { SHOWN_OCTETS_MAX = 4096, CHANGE_COLUMNS_MAX = 72 };

static const char *const words[PROPOSAL_ACTS] = {
    [ENGINE_CREATE] = "create",
    [ENGINE_UPDATE] = "update",
    [ENGINE_DELETE] = "delete",
};
static const char *const signs[PROPOSAL_ACTS] = {
    [ENGINE_CREATE] = "+",
    [ENGINE_UPDATE] = "~",
    [ENGINE_DELETE] = "-",
};

// ---- one change ---------------------------------------------------------------------------------

static void write_clean(struct buffer *out, struct text text)
{
    text_clean(out, text, SHOWN_OCTETS_MAX);
}

static void write_numbers(struct buffer *out, const struct record_set *set)
{
    const int32_t numbers[] = {set->priority, set->weight, set->port};
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (numbers[i] >= 0)
            buffer_printf(out, "%d ", numbers[i]);
}

static void write_set_values(struct buffer *out, const struct record_set *set)
{
    for (size_t i = 0; i < set->value_count; i++) {
        AUTO_BUFFER quoted = {0};
        buffer_add_text(out, i ? ", " : "");
        write_numbers(out, set);
        if (set->type == RECORD_TXT)
            value_write_json_text(&quoted, set->values[i]);
        write_clean(out, set->type == RECORD_TXT ? buffer_text(&quoted) : set->values[i]);
    }
}

static const char *type_of(const struct proposal_change *change)
{
    return change->zone ? proposal_zone_type(change->zone) : record_type_name(change->set.type);
}

// Record sets that go have neither TTL nor values.
static bool has_ttl(const struct proposal_change *change)
{
    bool is_whole = change->zone && change->zone->part != PROPOSAL_RECORDS;
    return change->act != ENGINE_DELETE && !is_whole;
}

static uint32_t ttl_of(const struct proposal_change *change)
{
    return change->zone ? change->zone->ttl_s : change->set.ttl_s;
}

static void write_values(struct buffer *out, const struct proposal_change *change)
{
    AUTO_BUFFER values = {0};
    if (change->zone)
        proposal_zone_write_values(&values, change->zone);
    else if (change->act != ENGINE_DELETE)
        write_set_values(&values, &change->set);
    write_clean(out, buffer_text(&values));
}

void proposal_write_change(struct buffer *out, const struct proposal_change *change)
{
    AUTO_BUFFER values = {0};
    buffer_printf(out, "%s %s ", signs[change->act], change->name);
    if (has_ttl(change))
        buffer_printf(out, "%u ", ttl_of(change));
    buffer_add_text(out, type_of(change));
    write_values(&values, change);
    if (values.len)
        buffer_printf(out, " %s", values.at);
    if (!change->replaces)
        return;
    buffer_add_text(out, ", not ours before: ");
    write_clean(out, text_of(change->replaces));
}

void proposal_write_object(struct buffer *out, const struct kind *kind, const char *namespace_,
                           const char *name)
{
    if (!kind) {
        buffer_add_text(out, "(no object wants it)");
        return;
    }
    buffer_printf(out, "%s/%s%s%s", kind->name, namespace_, *namespace_ ? "/" : "", name);
}

// They come first.
static size_t count_unread(const struct proposal *proposal)
{
    size_t count = 0;
    while (count < proposal->trouble_count && proposal->troubles[count].is_unread)
        count++;
    return count;
}

static void write_trouble(struct buffer *out, const struct proposal_trouble *trouble)
{
    if (*trouble->reason)
        buffer_printf(out, "%s: ", trouble->reason);
    write_clean(out, text_of(trouble->message));
}

static void write_counts(struct buffer *out, const struct proposal *proposal)
{
    buffer_printf(out, "%zu to create, %zu to update, %zu to delete",
                  proposal->counts[ENGINE_CREATE], proposal->counts[ENGINE_UPDATE],
                  proposal->counts[ENGINE_DELETE]);
    if (proposal->obstacle_count)
        buffer_printf(out, ", %zu blocked", proposal->obstacle_count);
    if (proposal->refused_count)
        buffer_printf(out, ", %zu refused", proposal->refused_count);
    if (count_unread(proposal))
        buffer_printf(out, ", %zu not read", count_unread(proposal));
}

// ---- for people ---------------------------------------------------------------------------------

static bool is_same_class(const struct proposal_change *a, const struct proposal_change *b)
{
    return !strcmp(a->backend, b->backend) && !strcmp(a->server, b->server);
}

static void add_group(struct buffer *out, const struct proposal *proposal, size_t at)
{
    const struct proposal_change *change = &proposal->changes[at];
    if (at && is_same_class(&proposal->changes[at - 1], change))
        return;
    const char *what = change->zone ? "servers " : "";
    buffer_printf(out, "%s%s", at ? "\n" : "", change->class_name);
    if (*change->server)
        buffer_printf(out, " (%s%s)", what, change->server);
    buffer_add_char(out, '\n');
}

static void add_change(struct buffer *out, const struct proposal_change *change, size_t columns)
{
    AUTO_BUFFER line = {0};
    proposal_write_change(&line, change);
    buffer_add_text(out, "  ");
    print_padded(out, buffer_text(&line), columns);
    buffer_add_text(out, "  ");
    proposal_write_object(out, change->kind, change->namespace_, change->object);
    buffer_add_char(out, '\n');
}

static size_t columns_of(const struct proposal *proposal)
{
    size_t widest = 0;
    for (size_t i = 0; i < proposal->count; i++) {
        AUTO_BUFFER line = {0};
        proposal_write_change(&line, &proposal->changes[i]);
        size_t columns = print_columns(buffer_text(&line));
        if (columns > widest)
            widest = columns;
    }
    return widest < CHANGE_COLUMNS_MAX ? widest : CHANGE_COLUMNS_MAX;
}

static void add_obstacles(struct buffer *out, const struct proposal *proposal)
{
    if (proposal->obstacle_count)
        buffer_printf(out, "%snot ready, also after these changes:\n", out->len ? "\n" : "");
    for (size_t i = 0; i < proposal->obstacle_count; i++) {
        const struct proposal_obstacle *obstacle = &proposal->obstacles[i];
        buffer_add_text(out, "  ! ");
        proposal_write_object(out, obstacle->kind, obstacle->namespace_, obstacle->object);
        buffer_printf(out, "  %s: ", obstacle->reason);
        write_clean(out, text_of(obstacle->message));
        buffer_add_char(out, '\n');
    }
}

static void add_troubles(struct buffer *out, const struct proposal *proposal)
{
    size_t unread = count_unread(proposal);
    for (size_t i = 0; i < proposal->trouble_count; i++) {
        const struct proposal_trouble *trouble = &proposal->troubles[i];
        if (i == 0 || i == unread)
            buffer_printf(out, "%s%s:\n", out->len ? "\n" : "",
                          trouble->is_unread ? "not read, so that nothing is known of changes there"
                                             : "in trouble, so that changes there would wait");
        buffer_printf(out, "  ! %s (%s)  ", trouble->class_name, trouble->server);
        write_trouble(out, trouble);
        buffer_add_char(out, '\n');
    }
}

static void add_refused(struct buffer *out, const struct proposal *proposal)
{
    if (proposal->refused_count)
        buffer_printf(out, "%srefused manifests; last good objects stay where there are any:\n",
                      out->len ? "\n" : "");
    for (size_t i = 0; i < proposal->refused_count; i++) {
        buffer_add_text(out, "  ");
        write_clean(out, text_of(proposal->refused[i]));
        buffer_add_char(out, '\n');
    }
}

void proposal_write_text(struct buffer *out, const struct proposal *proposal)
{
    size_t columns = columns_of(proposal);
    for (size_t i = 0; i < proposal->count; i++) {
        add_group(out, proposal, i);
        add_change(out, &proposal->changes[i], columns);
    }
    add_troubles(out, proposal);
    add_obstacles(out, proposal);
    add_refused(out, proposal);
    if (out->len)
        buffer_add_char(out, '\n');
    write_counts(out, proposal);
    buffer_printf(out, "; checksum %s\n", proposal->checksum);
}

// ---- JSON ---------------------------------------------------------------------------------------

static struct value *make_object(struct arena *arena, const struct kind *kind,
                                 const char *namespace_, const char *name)
{
    if (!kind)
        return value_make(arena, VALUE_NULL);
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_text(arena, map, "kind", kind->name);
    if (*namespace_)
        value_put_text(arena, map, "namespace", namespace_);
    value_put_text(arena, map, "name", name);
    return map;
}

static void put_content(struct arena *arena, struct value *map, const struct record_set *set)
{
    static const char *const names[] = {"priority", "weight", "port"};
    const int32_t numbers[] = {set->priority, set->weight, set->port};
    struct value *values = value_make(arena, VALUE_LIST);
    value_put_int(arena, map, "ttl", set->ttl_s);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (numbers[i] >= 0)
            value_put_int(arena, map, names[i], numbers[i]);
    for (size_t i = 0; i < set->value_count; i++)
        value_append(values, value_make_text(arena, set->values[i]));
    value_set(map, TEXT("values"), values);
}

static void put_set(struct arena *arena, struct value *map, const struct proposal_change *change)
{
    value_put_text(arena, map, "class", change->class_name);
    value_put_text(arena, map, "server", change->server);
    value_put_text(arena, map, "name", change->name);
    value_put_text(arena, map, "type", record_type_name(change->set.type));
    value_set(map, TEXT("domain"), value_make_text(arena, change->set.domain));
    value_set(map, TEXT("subdomain"), value_make_text(arena, change->set.subdomain));
    if (change->act != ENGINE_DELETE)
        put_content(arena, map, &change->set);
    if (change->replaces)
        value_put_text(arena, map, "replaces", change->replaces);
}

static struct value *make_change(struct arena *arena, const struct proposal_change *change)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_text(arena, map, "action", words[change->act]);
    if (change->zone)
        proposal_zone_put(arena, map, change->zone, change->act == ENGINE_DELETE);
    else
        put_set(arena, map, change);
    value_set(map, TEXT("object"),
              make_object(arena, change->kind, change->namespace_, change->object));
    return map;
}

static struct value *make_changes(struct arena *arena, const struct proposal *proposal)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < proposal->count; i++)
        value_append(list, make_change(arena, &proposal->changes[i]));
    return list;
}

static struct value *make_obstacles(struct arena *arena, const struct proposal *proposal)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < proposal->obstacle_count; i++) {
        const struct proposal_obstacle *obstacle = &proposal->obstacles[i];
        struct value *map = value_make(arena, VALUE_MAP);
        value_put_text(arena, map, "reason", obstacle->reason);
        value_put_text(arena, map, "message", obstacle->message);
        value_set(map, TEXT("object"),
                  make_object(arena, obstacle->kind, obstacle->namespace_, obstacle->object));
        value_append(list, map);
    }
    return list;
}

static struct value *make_troubles(struct arena *arena, const struct proposal *proposal)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < proposal->trouble_count; i++) {
        const struct proposal_trouble *trouble = &proposal->troubles[i];
        struct value *map = value_make(arena, VALUE_MAP);
        value_put_text(arena, map, "class", trouble->class_name);
        value_put_text(arena, map, "server", trouble->server);
        value_put_text(arena, map, "reason", trouble->reason);
        value_put_text(arena, map, "message", trouble->message);
        value_put_bool(arena, map, "unread", trouble->is_unread);
        value_append(list, map);
    }
    return list;
}

static struct value *make_counts(struct arena *arena, const struct proposal *proposal)
{
    struct value *map = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < PROPOSAL_ACTS; i++)
        value_put_int(arena, map, words[i], (int64_t)proposal->counts[i]);
    value_put_int(arena, map, "blocked", (int64_t)proposal->obstacle_count);
    value_put_int(arena, map, "refused", (int64_t)proposal->refused_count);
    value_put_int(arena, map, "unread", (int64_t)count_unread(proposal));
    return map;
}

void proposal_write_changes(struct buffer *out, const struct proposal *proposal)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    value_write_json(out, make_changes(arena, proposal));
}

void proposal_write_json(struct buffer *out, const struct proposal *proposal)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_make(arena, VALUE_MAP);
    struct value *refused = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < proposal->refused_count; i++)
        value_append(refused, value_make_text(arena, text_of(proposal->refused[i])));
    value_set(root, TEXT("changes"), make_changes(arena, proposal));
    value_set(root, TEXT("blocked"), make_obstacles(arena, proposal));
    value_set(root, TEXT("refused"), refused);
    value_set(root, TEXT("troubles"), make_troubles(arena, proposal));
    value_set(root, TEXT("counts"), make_counts(arena, proposal));
    value_put_text(arena, root, "checksum", proposal->checksum);
    value_write_json(out, root);
    buffer_add_char(out, '\n');
}

// ---- markdown -----------------------------------------------------------------------------------

// What would end a cell, or mean something to the reader's program, is taken as it is.
static void write_cell(struct buffer *out, struct text text)
{
    AUTO_BUFFER clean = {0};
    write_clean(&clean, text);
    for (size_t i = 0; i < clean.len; i++) {
        if (strchr("\\`*_{}[]<>#|~&$", clean.at[i]))
            buffer_add_char(out, '\\');
        buffer_add_char(out, clean.at[i]);
    }
}

static void add_row(struct buffer *out, const struct proposal_change *change)
{
    AUTO_BUFFER values = {0};
    AUTO_BUFFER object = {0};
    write_values(&values, change);
    proposal_write_object(&object, change->kind, change->namespace_, change->object);
    buffer_printf(out, "| %s | ", words[change->act]);
    write_cell(out, text_of(change->name));
    buffer_printf(out, " | %s | ", type_of(change));
    if (has_ttl(change))
        buffer_printf(out, "%u", ttl_of(change));
    buffer_add_text(out, " | ");
    write_cell(out, buffer_text(&values));
    if (change->replaces) {
        buffer_add_text(out, ", not ours before: ");
        write_cell(out, text_of(change->replaces));
    }
    buffer_add_text(out, " | ");
    write_cell(out, text_of(change->class_name));
    buffer_add_text(out, " | ");
    write_cell(out, buffer_text(&object));
    buffer_add_text(out, " |\n");
}

static void add_trouble_points(struct buffer *out, const struct proposal *proposal)
{
    for (size_t i = 0; i < proposal->trouble_count; i++) {
        const struct proposal_trouble *trouble = &proposal->troubles[i];
        AUTO_BUFFER text = {0};
        write_trouble(&text, trouble);
        buffer_add_text(out, trouble->is_unread ? "- not read: " : "- in trouble: ");
        write_cell(out, text_of(trouble->class_name));
        buffer_add_text(out, ", ");
        write_cell(out, buffer_text(&text));
        buffer_add_char(out, '\n');
    }
}

static void add_points(struct buffer *out, const struct proposal *proposal)
{
    add_trouble_points(out, proposal);
    for (size_t i = 0; i < proposal->obstacle_count; i++) {
        const struct proposal_obstacle *obstacle = &proposal->obstacles[i];
        AUTO_BUFFER object = {0};
        proposal_write_object(&object, obstacle->kind, obstacle->namespace_, obstacle->object);
        buffer_add_text(out, "- not ready: ");
        write_cell(out, buffer_text(&object));
        buffer_printf(out, ", %s: ", obstacle->reason);
        write_cell(out, text_of(obstacle->message));
        buffer_add_char(out, '\n');
    }
    for (size_t i = 0; i < proposal->refused_count; i++) {
        buffer_add_text(out, "- refused: ");
        write_cell(out, text_of(proposal->refused[i]));
        buffer_add_char(out, '\n');
    }
    if (proposal->trouble_count || proposal->obstacle_count || proposal->refused_count)
        buffer_add_char(out, '\n');
}

void proposal_write_markdown(struct buffer *out, const struct proposal *proposal)
{
    if (proposal->count)
        buffer_add_text(out, "| change | name | type | TTL | values | class or zone | object |\n"
                             "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < proposal->count; i++)
        add_row(out, &proposal->changes[i]);
    if (proposal->count)
        buffer_add_char(out, '\n');
    add_points(out, proposal);
    write_counts(out, proposal);
    buffer_printf(out, "; checksum `%s`\n", proposal->checksum);
}
