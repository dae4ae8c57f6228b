#include "controllers/clusterdns/target_private.h"

#include <string.h>

#include "dns/corefile/address.h"
#include "dns/corefile/entry.h"
#include "dns/corefile/lint.h"

// For foreign_owner(): which block of a file serves each zone; "": one of ours.
struct foreign {
    struct arena *arena;
    struct dns_owners *blocks;
};

static bool refuse_text(struct reconcile *reconcile, enum reason reason, const char *text)
{
    reconcile->fault = reason;
    reconcile->fault_text = text;
    return false;
}

// ---- reading ------------------------------------------------------------------------------------

// Files of an import are keys of the ConfigMap that is mounted there, by the last part of the path.
static bool matches_glob(struct text pattern, struct text name)
{
    const char *star = memchr(pattern.at, '*', pattern.len);
    if (!star)
        return text_equal(pattern, name);
    struct text head = {pattern.at, (size_t)(star - pattern.at)};
    struct text tail = {star + 1, pattern.len - head.len - 1};
    return name.len >= head.len + tail.len && !memcmp(name.at, head.at, head.len) &&
           !memcmp(name.at + name.len - tail.len, tail.at, tail.len);
}

static bool find_files(void *context, struct arena *arena, const char *pattern,
                       struct corefile_file **files, size_t *count, struct error *err)
{
    const struct config_map *custom = context;
    const char *slash = strrchr(pattern, '/');
    struct text base = text_of(slash ? slash + 1 : pattern);
    *files = arena_new_array(arena, struct corefile_file, custom->data_count + 1);
    *count = 0;
    (void)err;
    for (size_t i = 0; i < custom->data_count; i++)
        if (matches_glob(base, custom->data[i].key))
            (*files)[(*count)++] = (struct corefile_file){
                arena_copy(arena, custom->data[i].key.at, custom->data[i].key.len),
                custom->data[i].value};
    return true;
}

static struct config_map custom_of(const struct reconcile *reconcile)
{
    struct config_map custom = {0};
    const struct object *seen =
        find_input_object(reconcile, INPUT_CONFIG_MAPS, SYSTEM_NAMESPACE, TEXT("coredns-custom"));
    if (seen)
        config_map_unpack(reconcile->arena, object_spec(seen), &custom);
    return custom;
}

// The first fault that CoreDNS would find, in its words; NULL: none.
const char *lint_text(const struct reconcile *reconcile, struct text text)
{
    AUTO_BUFFER out = {0};
    struct config_map custom = custom_of(reconcile);
    const struct corefile_world world = {.context = &custom, .files = find_files};
    const char *name = reconcile->target.key ? reconcile->target.key : "Corefile";
    const struct corefile_file file = {name, text};
    const struct corefile_lint_options options = {.world = &world, .version = reconcile->version};
    struct corefile_problems problems = {.arena = reconcile->arena};
    CLEANUP(corefile) struct corefile *corefile = corefile_lint(&file, &options, &problems);
    for (size_t i = 0; i < problems.kept; i++)
        if (!problems.items[i].is_warning) {
            corefile_write_problem(&out, &problems.items[i]);
            return arena_copy(reconcile->arena, out.at, out.len);
        }
    return NULL;
}

struct corefile *parse_corefile(const struct reconcile *reconcile, struct text text)
{
    const struct corefile_file file = {"Corefile", text};
    const struct corefile_options options = {0};
    struct corefile_problems problems = {.arena = reconcile->arena};
    return text.at ? corefile_new(&file, &options, &problems) : NULL;
}

static void note_block(struct foreign *foreign, const struct corefile *corefile,
                       const struct corefile_block *block, bool is_ours)
{
    const char *place = "";
    const struct corefile_token *token = &corefile->tokens[block->first];
    struct text *zones;
    size_t count;
    if (!is_ours)
        place =
            arena_printf(foreign->arena, "%s:%u", corefile->files[token->file].path, token->line);
    (void)corefile_block_zones(foreign->arena, block, &zones, &count);
    for (size_t i = 0; i < count; i++)
        (void)dns_owners_add(foreign->blocks, zones[i], place);
}

// Who serves what in the file already. `corefile` is NULL where there is none.
static void find_foreign(struct foreign *foreign, const struct corefile *corefile,
                         const struct owned *owned)
{
    if (!corefile)
        return;
    const struct corefile_owned **owners =
        corefile_find_owners(foreign->arena, corefile, owned->items, owned->count);
    for (size_t i = 0; i < corefile->block_count; i++)
        note_block(foreign, corefile, &corefile->blocks[i], owners[i] != NULL);
}

static const char *foreign_owner(const void *context, struct text zone)
{
    const struct foreign *foreign = context;
    const char *place =
        dns_owners_find(foreign->blocks, corefile_zone_name(foreign->arena, zone, false));
    return place && *place ? place : NULL;
}

// ---- merging ------------------------------------------------------------------------------------

// Called when CoreDNS would refuse the whole Corefile, to find the entries that are to blame.
static const char *find_entry_fault(void *context, const struct corefile_entry *entry,
                                    enum reason *reason)
{
    AUTO_BUFFER text = {0};
    struct reconcile *reconcile = context;
    corefile_render_entry(&text, &reconcile->merged.input, entry);
    const char *fault = lint_text(reconcile, buffer_text(&text));
    *reason = REASON_INVALID_OPTION;
    if (fault)
        return arena_printf(reconcile->arena, "CoreDNS would refuse the entry: %s", fault);
    *reason = REASON_TOO_LARGE;
    if (reconcile->entry_octets + text.len > reconcile->entry_octets_max)
        return arena_printf(reconcile->arena,
                            "with this entry the Corefile would have more than %d octets, and no "
                            "ConfigMap holds much more",
                            CONFIG_OCTETS_MAX);
    reconcile->entry_octets += text.len;
    return NULL;
}

static struct merge_settings settings_of(struct reconcile *reconcile)
{
    bool is_openshift =
        reconcile->mode == MODE_OWNED && !strcmp(reconcile->settings->layout, "openshift");
    struct merge_settings settings =
        merge_settings_of(reconcile->settings, is_openshift ? COREFILE_OPENSHIFT : COREFILE_PLAIN,
                          reconcile->mode != MODE_FILE);
    settings.context.cluster_ips = reconcile->cluster_ips;
    settings.context.cluster_ip_count = reconcile->cluster_ip_count;
    settings.context.has_version = reconcile->has_version;
    settings.context.version = reconcile->version;
    settings.bundles = (struct merge_bundles){
        .context = reconcile, .can_be_mounted = reconcile->mode == MODE_OWNED, .find = find_bundle};
    settings.live = reconcile->earlier ? reconcile->earlier : reconcile->live;
    settings.entry_fault = reconcile->checks_entries ? find_entry_fault : NULL;
    settings.entry_context = reconcile;
    return settings;
}

struct text cluster_domain(struct reconcile *reconcile)
{
    return settings_of(reconcile).context.cluster_domain;
}

static void merge_objects(struct reconcile *reconcile, const struct merge_settings *settings)
{
    reconcile->entry_octets = 0;
    dns_merge(reconcile->arena, settings, reconcile->objects, reconcile->object_count,
              &reconcile->merged);
}

// ---- writing ------------------------------------------------------------------------------------

// The id is hashed with zeroes in its place, which are then overwritten.
void settle_config_id(struct reconcile *reconcile, struct buffer *text)
{
    config_id_of(buffer_text(text), reconcile->id);
    static const char chaos[] = "\n    chaos " CONFIG_ID_PREFIX "0000000000000000 signpost\n";
    char *at = text->len ? strstr(text->at, chaos) : NULL;
    if (at)
        memcpy(strchr(at, '-') + 1, reconcile->id, CONFIG_ID_LEN);
    reconcile->text = (struct text){arena_copy(reconcile->arena, text->at, text->len), text->len};
}

static void render_blocks(struct reconcile *reconcile, bool has_last, struct buffer *out)
{
    const struct corefile_input *input = &reconcile->merged.input;
    for (size_t i = 0; i < input->entry_count; i++)
        corefile_render_entry(out, input, &input->entries[i]);
    if (has_last)
        corefile_render_last(out, input, corefile_no_id);
}

static void add_zones(struct arena *arena, struct value *list, struct text name,
                      const struct text *zones, size_t count)
{
    struct value *item = value_make(arena, VALUE_MAP);
    struct value *texts = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count; i++)
        value_append(texts, value_make_text(arena, zones[i]));
    value_set(item, TEXT("name"), value_make_text(arena, name.at ? name : TEXT("")));
    value_set(item, TEXT("zones"), texts);
    value_append(list, item);
}

static struct text zones_annotation(struct reconcile *reconcile, bool has_last)
{
    AUTO_BUFFER json = {0};
    const struct corefile_input *input = &reconcile->merged.input;
    struct value *list = value_make(reconcile->arena, VALUE_LIST);
    for (size_t i = 0; i < input->entry_count; i++)
        add_zones(reconcile->arena, list, input->entries[i].name, input->entries[i].zones,
                  input->entries[i].zone_count);
    if (has_last)
        add_zones(reconcile->arena, list, TEXT(""), last_zones, LAST_ZONES);
    value_write_json(&json, list);
    return (struct text){arena_copy(reconcile->arena, json.at, json.len), json.len};
}

void set_annotation(struct reconcile *reconcile, struct value *map, const char *key,
                    struct text value)
{
    value_set(map, text_of(key),
              value.at ? value_make_text(reconcile->arena, value)
                       : value_make(reconcile->arena, VALUE_NULL));
}

// ---- an own file --------------------------------------------------------------------------------

static bool check_text(struct reconcile *reconcile)
{
    if (reconcile->mode == MODE_ADOPTED && text_equal(reconcile->text, reconcile->target.text))
        return true; // can_be_edited() has checked it
    const char *fault = lint_text(reconcile, reconcile->text);
    if (fault)
        return refuse_text(reconcile, REASON_COREFILE_REFUSED,
                           arena_printf(reconcile->arena,
                                        "CoreDNS would refuse what Signpost made, which is a fault "
                                        "of Signpost's; nothing is written: %s",
                                        fault));
    if (reconcile->text.len > CONFIG_OCTETS_MAX && reconcile->text.len > reconcile->target.text.len)
        return refuse_text(reconcile, REASON_TOO_LARGE,
                           arena_printf(reconcile->arena,
                                        "the Corefile would have %zu octets; %d are the most, as "
                                        "no ConfigMap holds much more",
                                        reconcile->text.len, CONFIG_OCTETS_MAX));
    return true;
}

static void make_own(struct reconcile *reconcile)
{
    AUTO_BUFFER out = {0};
    const struct merge_settings settings = settings_of(reconcile);
    struct value *annotations = value_make(reconcile->arena, VALUE_MAP);
    merge_objects(reconcile, &settings);
    corefile_render(&out, &reconcile->merged.input, reconcile->id);
    reconcile->text = (struct text){arena_copy(reconcile->arena, out.at, out.len), out.len};
    set_annotation(reconcile, annotations, CONFIG_ID_ANNOTATION, text_of(reconcile->id));
    reconcile->annotations = annotations;
}

// ---- a file of somebody else's ------------------------------------------------------------------

static uint16_t root_port(const struct corefile *corefile)
{
    uint16_t port = 0;
    return corefile_find_zone(corefile, TEXT("."), &port) && port ? port : 53;
}

static struct text own_forward(struct reconcile *reconcile, const struct corefile_forward *forward)
{
    AUTO_BUFFER out = {0};
    corefile_write_own_forward(&out, forward);
    return (struct text){arena_copy(reconcile->arena, out.at, out.len), out.len};
}

// The `forward` of theirs that ours took the place of; absent: theirs stands there, also because
// they wrote it anew.
static struct text find_saved_forward(struct reconcile *reconcile)
{
    struct corefile_rest rest = {0};
    struct corefile_forward live = {0};
    struct text saved = config_map_annotation(&reconcile->target.map, FORWARD_ANNOTATION);
    struct text written = config_map_annotation(&reconcile->target.map, WRITTEN_ANNOTATION);
    const struct corefile_directive *forward = corefile_find_root_forward(reconcile->live);
    bool is_ours = !written.at || (forward &&
                                   corefile_read_forward(reconcile->arena, reconcile->live, forward,
                                                         &live, &rest) &&
                                   text_equal(own_forward(reconcile, &live), written));
    return is_ours ? saved : (struct text){0};
}

void splice_target(struct reconcile *reconcile, const struct edit *edit, struct value *annotations,
                   struct buffer *out)
{
    struct text saved = find_saved_forward(reconcile);
    struct text written = config_map_annotation(&reconcile->target.map, WRITTEN_ANNOTATION);
    struct corefile_splice splice = {
        .corefile = reconcile->live,
        .owned = edit->owned->items,
        .owned_count = edit->owned->count,
        .blocks = edit->blocks,
        .forward = edit->root,
        .saved = saved,
    };
    if (edit->keeps_root) {
        splice.root = COREFILE_ROOT_KEEP;
    } else if (edit->root) {
        splice.root = COREFILE_ROOT_REPLACE;
        written = own_forward(reconcile, edit->root);
        if (!saved.at)
            saved = corefile_root_forward(reconcile->live);
    } else if (saved.at && corefile_root_forward(reconcile->live).at) {
        splice.root = COREFILE_ROOT_RESTORE;
        saved = (struct text){0};
    }
    set_annotation(reconcile, annotations, FORWARD_ANNOTATION, saved);
    set_annotation(reconcile, annotations, WRITTEN_ANNOTATION,
                   saved.at ? written : (struct text){0});
    corefile_splice(out, &splice);
}

static bool can_be_edited(struct reconcile *reconcile)
{
    if (!reconcile->target.text.at)
        return refuse_text(reconcile, REASON_FOREIGN_COREFILE_BROKEN,
                           arena_printf(reconcile->arena, "ConfigMap %.*s/%.*s has no key %s",
                                        TEXT_ARGS(reconcile->target.namespace_),
                                        TEXT_ARGS(reconcile->target.name), reconcile->target.key));
    const char *fault = lint_text(reconcile, reconcile->target.text);
    if (!fault)
        return true;
    return refuse_text(
        reconcile, REASON_FOREIGN_COREFILE_BROKEN,
        arena_printf(reconcile->arena,
                     "CoreDNS would refuse ConfigMap %.*s/%.*s as it stands there, so nothing in "
                     "it is changed: %s",
                     TEXT_ARGS(reconcile->target.namespace_), TEXT_ARGS(reconcile->target.name),
                     fault));
}

static void find_owned(struct reconcile *reconcile, const struct merge_settings *settings,
                       struct owned *out)
{
    if (read_owned(reconcile, out) || guess_owned(reconcile, out))
        return;
    merge_objects(reconcile, settings);
    guess_rendered(reconcile, &reconcile->merged.input, out);
}

static void make_adopted(struct reconcile *reconcile)
{
    AUTO_BUFFER blocks = {0};
    AUTO_BUFFER out = {0};
    struct owned owned = {0};
    CLEANUP(dns_owners) struct dns_owners *blocks_there = dns_owners_new();
    struct foreign foreign = {reconcile->arena, blocks_there};
    struct merge_settings settings = settings_of(reconcile);
    struct value *annotations = value_make(reconcile->arena, VALUE_MAP);
    settings.port = root_port(reconcile->live);
    if (!corefile_root_forward(reconcile->live).at)
        settings.no_resolvers = "the root block has no single `forward .` that could be changed";
    find_owned(reconcile, &settings, &owned);
    find_foreign(&foreign, reconcile->live, &owned);
    settings.foreign_owner = foreign_owner;
    settings.foreign_context = &foreign;
    merge_objects(reconcile, &settings);
    bool has_last =
        !foreign_owner(&foreign, last_zones[0]) && !foreign_owner(&foreign, last_zones[1]);
    render_blocks(reconcile, has_last, &blocks);
    const struct edit edit = {
        .owned = &owned,
        .blocks = buffer_text(&blocks),
        .keeps_root = reconcile->merged.is_root_refused,
        .root = reconcile->merged.is_root_changed ? &reconcile->merged.input.root : NULL,
    };
    splice_target(reconcile, &edit, annotations, &out);
    settle_config_id(reconcile, &out);
    set_annotation(reconcile, annotations, CONFIG_ID_ANNOTATION, text_of(reconcile->id));
    set_annotation(reconcile, annotations, ZONES_ANNOTATION, zones_annotation(reconcile, has_last));
    reconcile->annotations = annotations;
}

// The main file, which imports ours, may serve zones of its own.
static void make_imported(struct reconcile *reconcile)
{
    AUTO_BUFFER out = {0};
    struct config_map main_map = {0};
    const struct object *seen =
        find_input_object(reconcile, INPUT_CONFIG_MAPS, SYSTEM_NAMESPACE, TEXT("coredns"));
    struct value *annotations = value_make(reconcile->arena, VALUE_MAP);
    if (seen)
        config_map_unpack(reconcile->arena, object_spec(seen), &main_map);
    CLEANUP(corefile)
    struct corefile *corefile = parse_corefile(reconcile, config_map_data(&main_map, "Corefile"));
    struct owned owned = {0}; // from before it imported ours: release_other_modes() takes them out
    (void)read_zones(reconcile, config_map_annotation(&main_map, ZONES_ANNOTATION), &owned);
    CLEANUP(dns_owners) struct dns_owners *blocks_there = dns_owners_new();
    struct foreign foreign = {reconcile->arena, blocks_there};
    find_foreign(&foreign, corefile, &owned);
    struct merge_settings settings = settings_of(reconcile);
    if (corefile)
        settings.port = root_port(corefile);
    settings.no_resolvers =
        "the root block is not ours: a `forward` beside its own is ignored or stops CoreDNS";
    settings.foreign_owner = foreign_owner;
    settings.foreign_context = &foreign;
    merge_objects(reconcile, &settings);
    render_blocks(reconcile, !foreign_owner(&foreign, last_zones[1]), &out);
    settle_config_id(reconcile, &out);
    set_annotation(reconcile, annotations, CONFIG_ID_ANNOTATION, text_of(reconcile->id));
    reconcile->annotations = annotations;
}

// ---- the text -----------------------------------------------------------------------------------

static void (*const makers[MODES])(struct reconcile *reconcile) = {
    [MODE_OWNED] = make_own,
    [MODE_ADOPTED] = make_adopted,
    [MODE_IMPORT] = make_imported,
    [MODE_FILE] = make_own,
};

void drop_text(struct reconcile *reconcile)
{
    reconcile->text = (struct text){0};
    reconcile->id[0] = '\0';
}

// The next text has only entries that CoreDNS takes, as many as there is room for.
static void check_entries(struct reconcile *reconcile)
{
    AUTO_BUFFER entries = {0};
    render_blocks(reconcile, false, &entries);
    size_t others = reconcile->text.len - entries.len;
    reconcile->checks_entries = true;
    reconcile->entry_octets_max = others < CONFIG_OCTETS_MAX ? CONFIG_OCTETS_MAX - others : 0;
    reconcile->fault = 0;
    reconcile->fault_text = NULL;
}

// Where nothing of ours stands yet, what Pods run is what an earlier mode wrote.
static struct corefile *parse_earlier_mode(const struct reconcile *reconcile)
{
    static const enum mode earlier_modes[] = {MODE_ADOPTED, MODE_IMPORT, MODE_OWNED};
    if (reconcile->mode == MODE_FILE ||
        config_map_annotation(&reconcile->target.map, CONFIG_ID_ANNOTATION).at)
        return NULL;
    for (size_t i = 0; i < COUNT_OF(earlier_modes); i++) {
        struct text text = find_other_text(reconcile, earlier_modes[i]);
        if (text.at && reconcile->mode != earlier_modes[i])
            return parse_corefile(reconcile, text);
    }
    return NULL;
}

void make_text(struct reconcile *reconcile)
{
    reconcile->live = parse_corefile(reconcile, reconcile->target.text);
    reconcile->earlier = parse_earlier_mode(reconcile);
    if (reconcile->mode == MODE_ADOPTED && !can_be_edited(reconcile)) {
        const struct merge_settings settings = settings_of(reconcile);
        merge_objects(reconcile, &settings);
        return;
    }
    makers[reconcile->mode](reconcile);
    if (check_text(reconcile))
        return;
    check_entries(reconcile);
    makers[reconcile->mode](reconcile);
    if (!check_text(reconcile))
        drop_text(reconcile);
}
