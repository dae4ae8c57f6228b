#include "frontends/intent/body.h"

#include <stdio.h>
#include <string.h>

#include "frontends/intent/multipart.h"
#include "kinds/emco_metadata.h"

static const char *const metadata_members[] = {"description", "userData1", "userData2"};
static const char *const aliases[][2] = {
    {"userdata1", "userData1"}, {"userdata2", "userData2"}, {"loadbalancerIp", "loadBalancerIP"}};

// ---- the document -------------------------------------------------------------------------------

static bool refuse_body(struct error *err, int status, const char *text)
{
    error_set(err, FAULT_SPEC, "Invalid", "%s", text);
    err->status = status;
    return false;
}

// What is JSON, but not the one document that is wanted.
static bool is_about_content(const char *text)
{
    static const char *const parts[] = {"duplicate key", "nested too deep", "nothing may follow",
                                        "too many values", "larger than"};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (strstr(text, parts[i]))
            return true;
    return false;
}

static bool read_document(struct arena *arena, struct text octets, size_t octets_max,
                          const struct value **out, struct error *err)
{
    const struct value_limits limits = {.octets = octets_max, .depth = BODY_DEPTH_MAX};
    struct error cause;
    if (!text_trim(octets).len)
        return refuse_body(err, 400, "Empty body");
    *out = value_read_json(arena, octets, &limits, &cause);
    if (!*out)
        return refuse_body(err, is_about_content(cause.text) ? 400 : 422, cause.text);
    if ((*out)->type != VALUE_MAP)
        return refuse_body(err, 422, "expected an object");
    return true;
}

// ---- metadata -----------------------------------------------------------------------------------

static struct text real_name(struct text key)
{
    for (size_t i = 0; i < COUNT_OF(aliases); i++)
        if (text_is(key, aliases[i][0]))
            return text_of(aliases[i][1]);
    return key;
}

static const char *pointer_of(struct arena *arena, const char *parent, struct text key)
{
    AUTO_BUFFER path = {0};
    finding_path_add(&path, key);
    return body_faults_pointer(arena, parent, buffer_text(&path).at);
}

static void refuse_type(struct body_faults *faults, const char *pointer, const char *wanted)
{
    faults->has_type_fault = true;
    body_faults_add(faults, pointer, "expected %s", wanted);
}

static void refuse_unknown(struct body_faults *faults, const char *pointer, struct text key,
                           const char *const *known, size_t count)
{
    const char *nearest = text_nearest(key, known, count);
    if (nearest)
        body_faults_add(faults, pointer, "unknown field; did you mean %s?", nearest);
    else
        body_faults_add(faults, pointer, "unknown field");
}

static bool is_metadata_member(struct text key)
{
    for (size_t i = 0; i < COUNT_OF(metadata_members); i++)
        if (text_is(key, metadata_members[i]))
            return true;
    return false;
}

static void take_metadata_member(struct arena *arena, const struct value *item, struct body *out,
                                 struct body_faults *faults)
{
    struct text key = real_name(item->key);
    const char *pointer = pointer_of(arena, "/metadata", item->key);
    bool is_name = text_is(key, "name");
    if (!is_name && !is_metadata_member(key))
        refuse_unknown(faults, pointer, item->key, metadata_members, COUNT_OF(metadata_members));
    else if (item->type != VALUE_TEXT)
        refuse_type(faults, pointer, "a text");
    else if (is_name)
        out->name = item->text;
    else if (value_find_text(out->fields, key))
        body_faults_add(faults, pointer, "stands there twice");
    else if (item->text.len)
        value_set(out->fields, key, value_copy(arena, item));
}

static void check_name(const struct body *body, struct body_faults *faults)
{
    if (body->name.len && !emco_name_is_valid(body->name))
        body_faults_add(
            faults, "/metadata/name",
            "must be 1 to %d letters, digits, - _ or . with a letter or digit at both ends",
            EMCO_NAME_MAX);
}

static void take_metadata(struct arena *arena, const struct value *metadata, struct body *out,
                          struct body_faults *faults)
{
    if (metadata && metadata->type != VALUE_MAP) {
        refuse_type(faults, "/metadata", "an object");
        return;
    }
    value_each (item, metadata)
        take_metadata_member(arena, item, out, faults);
    check_name(out, faults);
}

// ---- spec ---------------------------------------------------------------------------------------

static const char *prefix_of(struct arena *arena, const struct resource *resource)
{
    return resource->list ? arena_printf(arena, "spec.%s[0]", resource->list) : "spec";
}

static struct text object_member(const struct resource *resource, struct text key)
{
    return text_is(key, resource->rename.body) && resource->rename.body
               ? text_of(resource->rename.object)
               : key;
}

static bool is_known(struct arena *arena, const struct resource *resource, struct text key)
{
    bool is_renamed = resource->rename.body && text_is(key, resource->rename.body);
    struct text member = object_member(resource, key);
    if (!is_renamed && resource_hides(resource, member.at, member.len))
        return false;
    if (memchr(member.at, '.', member.len) || memchr(member.at, '[', member.len))
        return false;
    const char *path =
        arena_printf(arena, "%s.%.*s", prefix_of(arena, resource), TEXT_ARGS(member));
    return kind_find_field(resource->kind, path) != NULL;
}

static void take_unknown(struct arena *arena, const struct resource *resource,
                         const struct value *item, struct body *out, struct body_faults *faults)
{
    const char *pointer = pointer_of(arena, "/spec", item->key);
    if (!resource->keeps_unknown) {
        body_faults_add(faults, pointer, "unknown field");
        return;
    }
    struct value *extra = value_find(out->fields, "extra");
    if (!extra) {
        extra = value_make(arena, VALUE_MAP);
        value_set(out->fields, TEXT("extra"), extra);
    }
    value_set(extra, item->key, value_copy(arena, item));
    body_faults_warn(faults, "%s has no effect; it is kept", pointer);
}

static void take_spec(struct arena *arena, const struct resource *resource,
                      const struct value *spec, struct body *out, struct body_faults *faults)
{
    if (spec && spec->type != VALUE_MAP) {
        refuse_type(faults, "/spec", "an object");
        return;
    }
    value_each (item, spec) {
        struct text key = real_name(item->key);
        if (!is_known(arena, resource, key)) {
            take_unknown(arena, resource, item, out, faults);
            continue;
        }
        key = object_member(resource, key);
        if (value_find_text(out->fields, key))
            body_faults_add(faults, pointer_of(arena, "/spec", item->key), "stands there twice");
        value_set(out->fields, key, value_copy(arena, item));
    }
}

// ---- reading ------------------------------------------------------------------------------------

static void take_label(struct arena *arena, const struct value *document, struct body *out,
                       struct body_faults *faults)
{
    value_each (item, document)
        if (!text_is(item->key, "clusterLabel"))
            body_faults_add(faults, pointer_of(arena, "", item->key), "unknown field");
        else if (item->type != VALUE_TEXT)
            refuse_type(faults, "/clusterLabel", "a text");
        else
            out->name = item->text;
    if (out->name.len && !emco_name_is_valid(out->name))
        body_faults_add(
            faults, "/clusterLabel",
            "must be 1 to %d letters, digits, - _ or . with a letter or digit at both ends",
            EMCO_NAME_MAX);
}

void body_take(struct arena *arena, const struct resource *resource, const struct value *document,
               struct body *out, struct body_faults *faults)
{
    static const char *const known[] = {"metadata", "spec"};
    *out = (struct body){.fields = value_make(arena, VALUE_MAP)};
    if (!resource->hidden) {
        take_label(arena, document, out, faults);
        return;
    }
    value_each (item, document) {
        bool is_spec = text_is(item->key, "spec") && resource->has_spec;
        if (!is_spec && !text_is(item->key, "metadata"))
            refuse_unknown(faults, pointer_of(arena, "", item->key), item->key, known,
                           resource->has_spec ? 2 : 1);
    }
    take_metadata(arena, value_find(document, "metadata"), out, faults);
    if (resource->has_spec)
        take_spec(arena, resource, value_find(document, "spec"), out, faults);
}

bool body_read(struct arena *arena, const struct resource *resource, const char *content_type,
               struct text octets, size_t octets_max, struct body *out, struct body_faults *faults,
               struct error *err)
{
    const struct value *document;
    struct multipart parts = {.metadata = octets};
    if (resource == &resources[RESOURCE_CLUSTER] && multipart_is(content_type) &&
        !multipart_read(arena, content_type, octets, &parts, err))
        return false;
    if (!read_document(arena, parts.metadata, octets_max, &document, err))
        return false;
    body_take(arena, resource, document, out, faults);
    out->kubeconfig = parts.file;
    return true;
}

// ---- showing ------------------------------------------------------------------------------------

static void put_member(struct arena *arena, struct value *map, struct text key,
                       const struct value *item)
{
    value_set(map, key, value_copy(arena, item));
}

static struct value *view_spec(struct arena *arena, const struct resource *resource,
                               const struct value *map)
{
    struct value *spec = value_make(arena, VALUE_MAP);
    value_each (item, map) {
        bool is_renamed = resource->rename.object && text_is(item->key, resource->rename.object);
        if (is_renamed)
            put_member(arena, spec, text_of(resource->rename.body), item);
        else if (!resource_hides(resource, item->key.at, item->key.len))
            put_member(arena, spec, item->key, item);
    }
    const struct value *extra = value_find(map, "extra");
    value_each (item, extra && extra->type == VALUE_MAP ? extra : NULL)
        put_member(arena, spec, item->key, item);
    return spec;
}

struct value *body_view(struct arena *arena, const struct resource *resource, struct text name,
                        const struct value *map)
{
    struct value *view = value_make(arena, VALUE_MAP);
    if (!resource->hidden) {
        value_put(arena, view, "clusterLabel", value_make_text(arena, name));
        return view;
    }
    value_put(arena, view, "metadata.name", value_make_text(arena, name));
    for (size_t i = 0; i < COUNT_OF(metadata_members); i++) {
        struct text text = value_text(value_find(map, metadata_members[i]));
        value_set(value_find(view, "metadata"), text_of(metadata_members[i]),
                  value_make_text(arena, text.at ? text : TEXT("")));
    }
    if (resource->has_spec)
        value_set(view, TEXT("spec"), view_spec(arena, resource, map));
    return view;
}

// ---- findings -----------------------------------------------------------------------------------

// What stands of a finding's path behind the place; NULL: it stands elsewhere.
static const char *below(const char *path, const char *place)
{
    size_t len = strlen(place);
    if (strncmp(path, place, len) != 0 || (path[len] && path[len] != '.' && path[len] != '['))
        return NULL;
    return path + len + (path[len] == '.');
}

static const char *body_pointer(struct arena *arena, const struct resource *resource,
                                const char *place, const char *path)
{
    const char *rest = below(path, place);
    if (!rest && resource->list && below(place, path))
        return "";
    if (!resource->hidden)
        return "/clusterLabel";
    if (!rest)
        return "/metadata/name";
    if (is_metadata_member(text_of(rest)) || !strcmp(rest, "name"))
        return body_faults_pointer(arena, "/metadata", rest);
    if (resource->rename.object && !strcmp(rest, resource->rename.object))
        rest = resource->rename.body;
    return body_faults_pointer(arena, "/spec", rest);
}

// The text without its path in front.
static const char *bare_text(const struct finding *finding)
{
    size_t len = strlen(finding->path);
    const char *text = finding->text;
    if (!len || strncmp(text, finding->path, len) != 0)
        return text;
    text += len;
    return text + strspn(text, ": ");
}

// Has the reading of the body refused that place already? The object's check may find it again.
static bool is_reported(const struct body_faults *faults, size_t count, const char *pointer)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(faults->items[i].pointer, pointer))
            return true;
    return false;
}

void body_take_findings(const struct resource *resource, const char *place,
                        const struct findings *findings, struct body_faults *faults)
{
    size_t read = faults->count;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        const char *pointer = body_pointer(faults->arena, resource, place, finding->path);
        const char *text = *pointer ? bare_text(finding) : finding->text;
        if (is_reported(faults, read, pointer))
            continue;
        bool is_type = !strncmp(text, "expected ", 9) && strstr(text, ", found ");
        if (finding->level == FINDING_WARNING) {
            body_faults_warn(faults, "%s: %s", pointer, text);
            continue;
        }
        faults->has_type_fault |= is_type;
        body_faults_add(faults, pointer, "%s", text);
    }
}
