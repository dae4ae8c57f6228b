#include "frontends/intent/document.h"

#include <stdio.h>
#include <string.h>

#include "base/pack.h"
#include "kinds/dnsupdaterecord/external_dns.h"
#include "kinds/emco_metadata.h"
#include "kinds/emco_name.h"
#include "kinds/namespace/namespace_kind.h"
#include "kinds/tree_body.h"

#define PARAMETERS_KEY "external-dns-parameters"
#define CREDENTIALS_SUFFIX "-credentials"

static const char *const metadata_keys[] = {"description", "userData1", "userData2"};

// Members of a spec that no body of the resource has: they are other resources, stand in the path,
// or are set by other requests.
static const struct {
    const struct resource *resource;
    const char *key;
    bool is_path; // it stands in the path
} hidden[] = {
    {&resource_cloud, "kvPairs", false},
    {&resource_cloud, "clusterReferences", false},
    {&resource_cluster, "provider", true},
    {&resource_cluster, "cluster", true},
    {&resource_cluster, "kvPairs", false},
    {&resource_cluster, "labels", false},
    {&resource_cluster, "kubeconfigSecret", false},
    {&resource_group, "compositeApp", true},
    {&resource_group, "version", true},
    {&resource_group, "deploymentIntentGroup", true},
    {&resource_group, "desired", false},
    {&resource_group, "update", false},
    {&resource_intent, "compositeApp", true},
    {&resource_intent, "version", true},
    {&resource_intent, "deploymentIntentGroup", true},
    {&resource_intent, "inbound", false},
};

// Spellings of a member: in a body, and in the object.
static const struct {
    const struct resource *resource;
    const char *body;
    const char *stored;
    bool is_alias; // it is taken, and never shown
} renamed[] = {
    {&resource_group, "version", "release", false},
    {&resource_reference, "loadBalancerIP", "loadBalancerIP", false},
    {&resource_reference, "loadbalancerIp", "loadBalancerIP", true},
};

static bool is_hidden(const struct resource *resource, struct text key)
{
    for (size_t i = 0; i < COUNT_OF(hidden); i++)
        if (hidden[i].resource == resource && text_is(key, hidden[i].key))
            return true;
    return false;
}

bool document_is_kept(const struct resource *resource, struct text key)
{
    for (size_t i = 0; i < COUNT_OF(hidden); i++)
        if (hidden[i].resource == resource && text_is(key, hidden[i].key))
            return !hidden[i].is_path;
    return false;
}

static bool is_metadata(struct text key)
{
    for (size_t i = 0; i < COUNT_OF(metadata_keys); i++)
        if (text_is(key, metadata_keys[i]))
            return true;
    return false;
}

// ---- objects ------------------------------------------------------------------------------------

static struct value *read_project_metadata(struct arena *arena, struct text json)
{
    static const struct value_limits limits = {.octets = 64 * 1024, .depth = 4};
    struct value *read = json.at ? value_read_json(arena, json, &limits, NULL) : NULL;
    return read && read->type == VALUE_MAP ? read : value_make(arena, VALUE_MAP);
}

static struct value *project_of(struct arena *arena, const struct object *object)
{
    size_t count;
    struct text json = {0};
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *annotations = value_make(arena, VALUE_MAP);
    const struct text_pair *pairs = namespace_annotations(arena, object_spec(object), &count);
    value_put(arena, tree, "metadata.name", value_make_text(arena, object_name(object)));
    value_put(arena, tree, "metadata.annotations", annotations);
    for (size_t i = 0; i < count; i++) {
        value_set(annotations, pairs[i].key, value_make_text(arena, pairs[i].value));
        if (text_is(pairs[i].key, DOCUMENT_METADATA_ANNOTATION))
            json = pairs[i].value;
    }
    value_put(arena, tree, "spec", read_project_metadata(arena, json));
    return tree;
}

struct value *document_of(struct arena *arena, const struct object *object)
{
    if (object->kind == &namespace_kind)
        return project_of(arena, object);
    struct pack_reader in = pack_open(object_spec(object));
    const struct value *tree = tree_unpack(arena, &in);
    return tree ? value_copy(arena, tree) : value_make(arena, VALUE_MAP);
}

struct text document_name(const struct kind *kind, const struct value *tree)
{
    return kind == resource_cluster.kind ? value_text_at(tree, "spec.cluster") : emco_name_of(tree);
}

struct text document_part_name(const struct resource *resource, const struct value *part)
{
    if (resource->form == RESOURCE_WORD)
        return value_text(part);
    return resource->form == RESOURCE_ENTRY ? value_text_at(part, "name")
                                            : document_name(resource->kind, part);
}

struct value *document_find_entry(const struct resource *resource, const struct value *tree,
                                  struct text name, size_t *index)
{
    size_t at = 0;
    struct value *list = value_find(value_find(tree, "spec"), resource->list);
    value_each (entry, list) {
        if (text_equal(document_part_name(resource, entry), name)) {
            if (index)
                *index = at;
            return entry;
        }
        at++;
    }
    if (index)
        *index = at;
    return NULL;
}

// ---- showing ------------------------------------------------------------------------------------

static void show_metadata(struct arena *arena, struct text name, const struct value *from,
                          struct value *out)
{
    struct value *metadata = value_make(arena, VALUE_MAP);
    value_set(metadata, TEXT("name"), value_make_text(arena, name));
    for (size_t i = 0; i < COUNT_OF(metadata_keys); i++) {
        struct text text = value_text(value_find(from, metadata_keys[i]));
        value_set(metadata, text_of(metadata_keys[i]),
                  value_make_text(arena, text.at ? text : TEXT("")));
    }
    value_set(out, TEXT("metadata"), metadata);
}

static struct text shown_key(const struct resource *resource, struct text stored)
{
    for (size_t i = 0; i < COUNT_OF(renamed); i++)
        if (renamed[i].resource == resource && !renamed[i].is_alias &&
            text_is(stored, renamed[i].stored))
            return text_of(renamed[i].body);
    return stored;
}

static bool is_shown(const struct resource *resource, struct text key)
{
    return !is_metadata(key) && !is_hidden(resource, key) && !text_is(key, "extra") &&
           !(resource->form == RESOURCE_ENTRY && text_is(key, "name"));
}

static bool is_own_credential(const struct value *ref)
{
    const struct external_dns_parameter *row = external_dns_find(value_text_at(ref, "target"));
    return row && row->form == FORM_SECRET &&
           text_ends(value_text_at(ref, "name"), CREDENTIALS_SUFFIX);
}

// A secret that a body brought is shown where it stood, as a mask.
static void mask_credentials(struct arena *arena, struct value *spec)
{
    struct value *refs = value_find(spec, "secretRefs");
    struct value *others = value_make(arena, VALUE_LIST);
    struct value *parameters = value_find(spec, PARAMETERS_KEY);
    value_each (ref, refs) {
        if (!is_own_credential(ref)) {
            value_append(others, value_copy(arena, ref));
            continue;
        }
        if (!parameters)
            parameters = value_put(arena, spec, PARAMETERS_KEY, value_make(arena, VALUE_MAP));
        value_set(parameters, value_text_at(ref, "target"),
                  value_make_text(arena, TEXT(DOCUMENT_MASK)));
    }
    if (value_count(others))
        value_set(spec, TEXT("secretRefs"), others);
    else
        value_remove(spec, "secretRefs");
}

static struct value *show_spec(struct arena *arena, const struct resource *resource,
                               const struct value *from)
{
    struct value *spec = value_make(arena, VALUE_MAP);
    const struct value *extra = value_find(from, "extra");
    value_each (item, from && from->type == VALUE_MAP ? from : NULL)
        if (is_shown(resource, item->key))
            value_set(spec, shown_key(resource, item->key), value_copy(arena, item));
    value_each (item, extra && extra->type == VALUE_MAP ? extra : NULL)
        value_set(spec, item->key, value_copy(arena, item));
    if (resource == &resource_record)
        mask_credentials(arena, spec);
    return spec;
}

struct value *document_show(struct arena *arena, const struct resource *resource,
                            const struct value *part)
{
    struct value *out = value_make(arena, VALUE_MAP);
    if (resource->form == RESOURCE_WORD) {
        value_set(out, TEXT("clusterLabel"), value_make_text(arena, value_text(part)));
        return out;
    }
    const struct value *from = resource->form == RESOURCE_ENTRY ? part : value_find(part, "spec");
    show_metadata(arena, document_part_name(resource, part), from, out);
    const struct value *spec = show_spec(arena, resource, from);
    if (resource != &resource_project && resource != &resource_provider)
        value_set(out, TEXT("spec"), value_copy(arena, spec));
    else if (value_count(spec))
        value_set(out, TEXT("spec"), value_copy(arena, spec));
    return out;
}

// ---- reading ------------------------------------------------------------------------------------

static void read_metadata_member(const struct value *item, struct document_input *out,
                                 struct findings *findings)
{
    static const struct {
        const char *body;
        const char *stored;
    } rows[] = {{"description", "description"},
                {"userData1", "userData1"},
                {"userData2", "userData2"},
                {"userdata1", "userData1"},
                {"userdata2", "userData2"}};
    const char *path = arena_printf(findings->arena, "metadata.%.*s", TEXT_ARGS(item->key));
    if (item->type != VALUE_TEXT) {
        findings_add_at(findings, FINDING_ERROR, path, "expected text");
        return;
    }
    if (text_is(item->key, "name")) {
        out->name = item->text;
        return;
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (text_is(item->key, rows[i].body)) {
            value_set(out->part, text_of(rows[i].stored), value_copy(findings->arena, item));
            return;
        }
    findings_add_at(findings, FINDING_ERROR, path, "unknown field");
}

static bool read_metadata(const struct value *metadata, struct document_input *out,
                          struct findings *findings)
{
    if (metadata && metadata->type != VALUE_MAP) {
        findings_add_at(findings, FINDING_ERROR, "metadata", "expected a map");
        return false;
    }
    value_each (item, metadata)
        read_metadata_member(item, out, findings);
    if (out->name.at && !emco_name_is_valid(out->name)) {
        findings_add_at(findings, FINDING_ERROR, "metadata.name",
                        "must be 1 to %d letters, digits, - _ or . with a letter or digit at both "
                        "ends",
                        EMCO_NAME_MAX);
        return false;
    }
    return true;
}

static bool has_field(const struct resource *resource, struct text key)
{
    if (!key.len || memchr(key.at, '.', key.len) || memchr(key.at, '[', key.len) || key.len > 128)
        return false;
    char path[256];
    if (resource->form == RESOURCE_ENTRY)
        snprintf(path, sizeof path, "spec.%s[].%.*s", resource->list, TEXT_ARGS(key));
    else
        snprintf(path, sizeof path, "spec.%.*s", TEXT_ARGS(key));
    return kind_find_field(resource->kind, path) != NULL;
}

static struct text stored_key(const struct resource *resource, struct text body)
{
    for (size_t i = 0; i < COUNT_OF(renamed); i++)
        if (renamed[i].resource == resource && text_is(body, renamed[i].body))
            return text_of(renamed[i].stored);
    return body;
}

static void read_spec_member(const struct resource *resource, const struct value *item,
                             struct document_input *out, struct findings *findings)
{
    struct arena *arena = findings->arena;
    struct text key = stored_key(resource, item->key);
    const char *path = arena_printf(arena, "spec.%.*s", TEXT_ARGS(item->key));
    bool is_renamed = !text_equal(key, item->key);
    if (is_renamed || (has_field(resource, key) && is_shown(resource, key))) {
        value_set(out->part, key, value_copy(arena, item));
        return;
    }
    if (resource->is_strict) {
        findings_add_at(findings, FINDING_ERROR, path, "unknown field");
        return;
    }
    struct value *extra = value_find(out->part, "extra");
    if (!extra)
        extra = value_put(arena, out->part, "extra", value_make(arena, VALUE_MAP));
    value_set(extra, item->key, value_copy(arena, item));
    findings_add_at(findings, FINDING_WARNING, path, "is kept and has no effect");
}

static void read_spec(const struct resource *resource, const struct value *spec,
                      struct document_input *out, struct findings *findings)
{
    if (spec && spec->type != VALUE_MAP) {
        findings_add_at(findings, FINDING_ERROR, "spec", "expected a map");
        return;
    }
    value_each (item, spec)
        read_spec_member(resource, item, out, findings);
}

// A secret among the parameters goes into the credentials Secret, and a reference stays.
static void take_secrets(struct document_input *out, struct arena *arena)
{
    struct value *parameters = value_find(out->part, PARAMETERS_KEY);
    if (!parameters || parameters->type != VALUE_MAP)
        return;
    for (struct value *item = parameters->first, *next; item; item = next) {
        next = item->next;
        const struct external_dns_parameter *row = external_dns_find(item->key);
        if (!row || row->form != FORM_SECRET || item->type != VALUE_TEXT)
            continue;
        if (text_is(item->text, DOCUMENT_MASK)) {
            out->keeps_secrets = true;
        } else {
            if (!out->secrets)
                out->secrets = value_make(arena, VALUE_MAP);
            value_set(out->secrets, item->key, value_make_text(arena, item->text));
        }
        value_remove(parameters, row->name);
    }
}

static bool read_word(const struct value *body, struct findings *findings,
                      struct document_input *out)
{
    value_each (item, body) {
        const char *path = arena_printf(findings->arena, "%.*s", TEXT_ARGS(item->key));
        if (!text_is(item->key, "clusterLabel"))
            findings_add_at(findings, FINDING_ERROR, path, "unknown field");
        else if (item->type != VALUE_TEXT)
            findings_add_at(findings, FINDING_ERROR, path, "expected text");
        else
            out->name = item->text;
    }
    if (out->name.at && !emco_name_is_valid(out->name))
        findings_add_at(findings, FINDING_ERROR, "clusterLabel",
                        "must be 1 to %d letters, digits, - _ or . with a letter or digit at both "
                        "ends",
                        EMCO_NAME_MAX);
    out->part = out->name.at ? value_make_text(findings->arena, out->name) : NULL;
    return true;
}

bool document_read(const struct resource *resource, const struct value *body,
                   struct findings *findings, struct document_input *out)
{
    *out = (struct document_input){.part = value_make(findings->arena, VALUE_MAP)};
    if (body->type != VALUE_MAP) {
        findings_add(findings, FINDING_ERROR, "", "expected a map");
        return false;
    }
    if (resource->form == RESOURCE_WORD)
        return read_word(body, findings, out);
    value_each (item, body)
        if (!text_is(item->key, "metadata") && !text_is(item->key, "spec"))
            findings_add_at(findings, FINDING_ERROR,
                            arena_printf(findings->arena, "%.*s", TEXT_ARGS(item->key)),
                            "unknown field");
    read_metadata(value_find(body, "metadata"), out, findings);
    read_spec(resource, value_find(body, "spec"), out, findings);
    if (resource == &resource_record)
        take_secrets(out, findings->arena);
    if (resource->form == RESOURCE_ENTRY && out->name.at)
        value_set(out->part, TEXT("name"), value_make_text(findings->arena, out->name));
    return true;
}

// ---- changes ------------------------------------------------------------------------------------

struct value *document_patch(struct arena *arena, const struct value *old, const struct value *now)
{
    if (!old || old->type != VALUE_MAP || now->type != VALUE_MAP)
        return value_copy(arena, now);
    struct value *patch = value_make(arena, VALUE_MAP);
    value_each (item, now)
        value_set(patch, item->key, document_patch(arena, value_find_text(old, item->key), item));
    value_each (item, old)
        if (!value_find_text(now, item->key))
            value_set(patch, item->key, value_make(arena, VALUE_NULL));
    return patch;
}

// ---- pointers -----------------------------------------------------------------------------------

static const char *entry_prefix(const struct resource *resource, size_t index, char *out,
                                size_t size)
{
    snprintf(out, size, "spec.%s[%zu]", resource->list, index);
    return out;
}

bool document_is_about(const struct resource *resource, size_t index, const char *path)
{
    char prefix[64];
    char list[64];
    if (resource->form == RESOURCE_OBJECT)
        return true;
    snprintf(list, sizeof list, "spec.%s", resource->list);
    entry_prefix(resource, index, prefix, sizeof prefix);
    size_t len = strlen(prefix);
    return !strcmp(path, list) || (!strncmp(path, prefix, len) && (!path[len] || path[len] == '.'));
}

static void add_escaped(struct buffer *out, char c)
{
    if (c == '~')
        buffer_add_text(out, "~0");
    else if (c == '/')
        buffer_add_text(out, "~1");
    else
        buffer_add_char(out, c);
}

// "a.b[2][c.d]" is /a/b/2/c.d.
static void add_path(struct buffer *out, const char *path)
{
    bool is_inside = false;
    if (*path && *path != '[' && *path != '.')
        buffer_add_char(out, '/');
    for (; *path; path++) {
        if (!is_inside && (*path == '.' || *path == '['))
            buffer_add_char(out, '/');
        else if (!(is_inside && *path == ']'))
            add_escaped(out, *path);
        is_inside = *path == '[' || (is_inside && *path != ']');
    }
}

void document_write_pointer(struct buffer *out, const struct resource *resource, size_t index,
                            const char *path)
{
    char prefix[64] = "spec";
    if (resource->form != RESOURCE_OBJECT)
        entry_prefix(resource, index, prefix, sizeof prefix);
    size_t len = strlen(prefix);
    if (strncmp(path, prefix, len) != 0 || (path[len] && path[len] != '.')) {
        add_path(out, path);
        return;
    }
    const char *rest = path[len] ? path + len + 1 : "";
    struct text key = text_of(rest);
    if (is_metadata(key) || (resource->form == RESOURCE_ENTRY && text_is(key, "name"))) {
        buffer_printf(out, "/metadata/%s", rest);
        return;
    }
    buffer_add_text(out, "/spec");
    if (!strncmp(rest, "extra.", 6))
        rest += 6;
    if (resource == &resource_group && !strcmp(rest, "release"))
        rest = "version";
    add_path(out, rest);
}
