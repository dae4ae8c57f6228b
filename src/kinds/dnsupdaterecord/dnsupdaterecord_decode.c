#include <string.h>

#include "kinds/dnsupdaterecord/dnsupdaterecord_body.h"
#include "kinds/emco_name.h"
#include "kinds/tree_body.h"

enum { VERIFY_TIMEOUT_S = 300 };

#define AT_PARAMETERS "spec.external-dns-parameters"

struct decoder {
    struct arena *arena;
    struct findings *findings;
    struct update_record *out;
};

// ---- parameters ---------------------------------------------------------------------------------

static enum external_dns_provider find_provider(struct text word)
{
    enum external_dns_provider provider = 0;
    while (provider < EXTERNAL_DNS_PROVIDERS && !text_is(word, external_dns_providers[provider]))
        provider++;
    return provider;
}

static bool is_of_provider(const struct external_dns_parameter *row,
                           enum external_dns_provider provider)
{
    return row && (row->owners & 1U << provider);
}

const char *update_record_type_word(enum value_type type)
{
    static const char *const words[] = {
        [VALUE_NULL] = "null",        [VALUE_BOOL] = "a boolean", [VALUE_INT] = "a number",
        [VALUE_FLOAT] = "a fraction", [VALUE_TEXT] = "text",      [VALUE_LIST] = "a list",
        [VALUE_MAP] = "a map"};
    return words[type];
}

static const char *types_wanted(const struct external_dns_parameter *row)
{
    if (row->types == (1U << VALUE_TEXT | 1U << VALUE_LIST))
        return "text or a list of texts";
    if (row->types == (1U << VALUE_TEXT | 1U << VALUE_BOOL))
        return "a boolean or text";
    return update_record_type_word((enum value_type)__builtin_ctz(row->types));
}

static void take_parameter(struct decoder *decoder, const char *path, const struct value *value)
{
    struct update_record *out = decoder->out;
    const struct external_dns_parameter *row = external_dns_find(value->key);
    const char *at = arena_printf(decoder->arena, "%s.%.*s", path, TEXT_ARGS(value->key));
    if (!row)
        return; // the shape says so, or it is oneOf or provider
    size_t id = (size_t)(row - external_dns_parameters);
    if (out->values[id])
        findings_add_at(decoder->findings, FINDING_ERROR, at,
                        "stands beside oneOf, too: remove one");
    else if (!(row->types & 1U << value->type))
        findings_add_at(decoder->findings, FINDING_ERROR, at, "expected %s, found %s",
                        types_wanted(row), update_record_type_word(value->type));
    else {
        out->values[id] = value;
        out->paths[id] = at;
    }
}

static bool fits(const struct value *element, enum external_dns_provider provider)
{
    value_each (item, element)
        if (!text_is(item->key, "provider") &&
            !is_of_provider(external_dns_find(item->key), provider))
            return false;
    return element->type == VALUE_MAP && element->first;
}

// An element that was not chosen stays in the object, with its secret.
static void warn_of_secret(struct decoder *decoder, const char *path, const struct value *element)
{
    const char *name = external_dns_parameters[PARAMETER_RFC2136_TSIG_SECRET].name;
    if (value_find(element, name))
        findings_add_at(decoder->findings, FINDING_WARNING,
                        arena_printf(decoder->arena, "%s.%s", path, name),
                        "is not used, and is no secret here: remove it");
}

// The documentation's oneOf is taken as if the one fitting element stood in its place.
static void take_one_of(struct decoder *decoder, const struct value *list)
{
    static const char at[] = AT_PARAMETERS ".oneOf";
    const char *provider = external_dns_providers[decoder->out->provider];
    const struct value *chosen = NULL;
    const char *chosen_at = NULL;
    size_t count = 0;
    size_t index = 0;
    value_each (element, list) {
        const char *path = arena_printf(decoder->arena, "%s[%zu]", at, index++);
        if (fits(element, decoder->out->provider)) {
            chosen = element;
            chosen_at = path;
            count++;
        } else
            warn_of_secret(decoder, path, element);
    }
    if (count != 1) {
        findings_add_at(decoder->findings, FINDING_ERROR, at,
                        "%s parameters of provider %s alone: write those "
                        "that you want beside the others, without oneOf",
                        count ? "several elements have" : "no element has",
                        provider ? provider : "(unknown)");
        return;
    }
    findings_add_at(decoder->findings, FINDING_WARNING, at,
                    "only the element of provider %s is taken: write its parameters beside the "
                    "others, without oneOf",
                    provider);
    value_each (item, chosen)
        take_parameter(decoder, chosen_at, item);
}

static void take_parameters(struct decoder *decoder, const struct value *map)
{
    const struct value *one_of = value_find(map, "oneOf");
    value_each (item, map && map->type == VALUE_MAP ? map : NULL)
        take_parameter(decoder, AT_PARAMETERS, item);
    if (value_find(map, "provider"))
        findings_add_at(decoder->findings, FINDING_WARNING, AT_PARAMETERS ".provider",
                        "is not used, spec.provider counts: remove it");
    if (one_of && one_of->type == VALUE_LIST)
        take_one_of(decoder, one_of);
    else if (one_of)
        findings_add_at(decoder->findings, FINDING_ERROR, AT_PARAMETERS ".oneOf",
                        "expected a list, found %s", update_record_type_word(one_of->type));
}

// ---- lists --------------------------------------------------------------------------------------

static const struct update_record_ref *make_refs(struct arena *arena, const struct value *list,
                                                 size_t *count)
{
    struct update_record_ref *refs =
        arena_new_array(arena, struct update_record_ref, value_count(list) + 1);
    value_each (item, list)
        refs[(*count)++] = (struct update_record_ref){.target = value_text_at(item, "target"),
                                                      .name = value_text_at(item, "name"),
                                                      .key = value_text_at(item, "key")};
    return refs;
}

static const struct update_record_pair *make_pairs(struct arena *arena, const struct value *list,
                                                   size_t *count)
{
    struct update_record_pair *pairs =
        arena_new_array(arena, struct update_record_pair, value_count(list) + 1);
    value_each (item, list)
        pairs[(*count)++] =
            (struct update_record_pair){value_text_at(item, "name"), value_text_at(item, "value")};
    return pairs;
}

// An item that is no text becomes an empty one, so that the others keep their place in the list.
static const struct text *make_texts(struct arena *arena, const struct value *list, size_t *count)
{
    struct text *texts = arena_new_array(arena, struct text, value_count(list) + 1);
    value_each (item, list)
        texts[(*count)++] = value_text(item);
    return texts;
}

// ---- whole --------------------------------------------------------------------------------------

static void take_lists(struct arena *arena, const struct value *object, struct update_record *out)
{
    out->refs = make_refs(arena, value_list_at(object, "spec.secretRefs"), &out->ref_count);
    out->env = make_pairs(arena, value_list_at(object, "spec.env"), &out->env_count);
    out->extra_args =
        make_pairs(arena, value_list_at(object, "spec.extraArgs"), &out->extra_arg_count);
    out->allowed_projects = make_texts(arena, value_list_at(object, "spec.allowedProjects"),
                                       &out->allowed_project_count);
    out->servers =
        make_texts(arena, value_list_at(object, "spec.verify.servers"), &out->server_count);
    out->is_verified =
        value_bool_at(object, "spec.verify.enabled",
                      out->provider == EXTERNAL_DNS_RFC2136 || out->server_count > 0);
}

static void take_annotations(struct arena *arena, const struct value *object,
                             struct update_record *out)
{
    const struct value *all = value_at(object, "metadata.annotations", NULL);
    const struct value *pinned = value_find(all, PINNED_ANNOTATION);
    struct text move = value_text(value_find(all, MOVE_ANNOTATION));
    out->may_abandon_move = text_is(move, "abandon");
    out->may_move = out->may_abandon_move || text_is(move, "drain");
    out->may_abandon = text_is(value_text(value_find(all, ABANDON_ANNOTATION)), "true");
    out->has_pinned = pinned && external_dns_pinned_read(arena, value_text(pinned), &out->pinned);
    out->has_broken_pin = pinned && !out->has_pinned;
}

void update_record_decode(struct arena *arena, const struct value *object,
                          struct findings *findings, struct update_record *out)
{
    struct decoder decoder = {arena, findings, out};
    *out = (struct update_record){
        .name = emco_name_of(object),
        .provider = find_provider(value_text_at(object, "spec.provider")),
        .version = value_text_at(object, "spec.version"),
        .image = value_text_at(object, "spec.image"),
        .adopt_owner = value_text_at(object, "spec.adoptOwner"),
        .is_native = text_is(value_text_at(object, "spec.engine"), "native"),
        .ttl_s = value_int_at(object, "spec.ttl", 0),
        .allows_private = value_bool_at(object, "spec.allowPrivate", false),
        .verify_timeout_s = value_int_at(object, "spec.verify.timeoutSeconds", VERIFY_TIMEOUT_S),
        .resources = value_at(object, "spec.resources", NULL),
        .node_selector = value_at(object, "spec.nodeSelector", NULL),
        .tolerations = value_list_at(object, "spec.tolerations"),
        .image_pull_secrets = value_list_at(object, "spec.imagePullSecrets"),
        .account_annotations = value_at(object, "spec.serviceAccountAnnotations", NULL),
    };
    take_lists(arena, object, out);
    take_annotations(arena, object, out);
    take_parameters(&decoder, value_at(object, AT_PARAMETERS, NULL));
}

// ---- what the cache keeps -----------------------------------------------------------------------

void update_record_unpack(struct arena *arena, struct text spec, struct update_record *out)
{
    struct pack_reader in = pack_open(spec);
    const struct value *object = tree_unpack(arena, &in);
    struct findings unread = {.arena = arena};
    update_record_decode(arena, object, &unread, out);
}

// ---- reading ------------------------------------------------------------------------------------

struct text update_record_text(const struct update_record *record, enum external_dns_id id)
{
    struct text text = value_text(record->values[id]);
    return text.len ? text : text_of(external_dns_parameters[id].fallback);
}

bool update_record_bool(const struct update_record *record, enum external_dns_id id, bool fallback)
{
    const struct value *value = record->values[id];
    if (value && value->type == VALUE_TEXT)
        return !text_is(value->text, "false");
    return value ? value->boolean : fallback;
}

struct text update_record_owner(const struct update_record *record)
{
    struct text given = update_record_text(record, PARAMETER_TXT_OWNER_ID);
    if (record->has_pinned)
        return record->pinned.owner_id;
    if (record->adopt_owner.len)
        return record->adopt_owner;
    return !text_is(given, "default") ? given : (struct text){0};
}

const struct update_record_ref *update_record_find_ref(const struct update_record *record,
                                                       struct text target)
{
    for (size_t i = 0; i < record->ref_count; i++)
        if (text_equal(record->refs[i].target, target))
            return &record->refs[i];
    return NULL;
}

unsigned update_record_minor(const struct update_record *record, struct text fallback)
{
    unsigned minor;
    external_dns_release_read(record->version.len ? record->version : fallback, &minor);
    return minor;
}
