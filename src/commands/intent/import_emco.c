#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/intent/emco_client.h"
#include "commands/print.h"
#include "commands/process.h"
#include "frontends/intent/body.h"
#include "frontends/intent/body_secrets.h"
#include "frontends/intent/check.h"
#include "frontends/intent/item.h"
#include "frontends/intent/route.h"
#include "kinds/dnsupdaterecord/external_dns_render.h"

// A project of an EMCO as manifests: its answers are taken as our own REST API takes bodies. Fields
// that have no effect here are not printed, as they may hold secrets and manifests go into
// repositories.

struct imported { // an object that is printed
    enum resource_id id;
    const struct text *names;
    struct text name;
    struct text namespace_; // "": of a cluster-scoped kind
    struct arena *arena;    // its own, renewed with each entry
    struct value *tree;
};
struct import {
    struct arena *arena;
    struct emco_client *client;
    struct imported **items;
    size_t count;
    size_t capacity;
    struct buffer report; // what is left out, or to be done by hand, a line each
    bool is_incomplete;
    struct error *err;
};

static const struct kind *kind_of(const struct imported *object)
{
    return resources[object->id].kind;
}

// ---- reporting ----------------------------------------------------------------------------------

static const char *item_path(struct arena *arena, enum resource_id id, const struct text *names,
                             bool is_item)
{
    AUTO_BUFFER path = {0};
    route_write_path(&path, id, names, is_item);
    return arena_copy(arena, path.at, path.len);
}

static void report(struct import *import, const char *what, const char *text)
{
    text_clean(&import->report, text_of(what), SIZE_MAX);
    buffer_add_text(&import->report, ": ");
    text_clean(&import->report, text_of(text), SIZE_MAX);
    buffer_add_char(&import->report, '\n');
}

static void report_faults(struct import *import, enum resource_id id, const struct text *names,
                          const struct body_faults *faults)
{
    const char *path = item_path(import->arena, id, names, true);
    import->is_incomplete = true;
    for (size_t i = 0; i < faults->count; i++) {
        const struct fault_line *line = &faults->items[i];
        report(import, path,
               arena_printf(import->arena, "is left out: %s%s%s", line->pointer,
                            *line->pointer ? ": " : "", line->text));
    }
}

// False, and nothing is imported, unless it is only that the server has nothing there.
static bool may_lack(struct import *import, const char *what)
{
    if (import->err->status != 404)
        return false;
    report(import, what, import->err->text);
    return true;
}

// ---- items --------------------------------------------------------------------------------------

static const struct imported *find_object(const struct import *import, const struct kind *kind,
                                          struct text namespace_, struct text name)
{
    for (size_t i = 0; i < import->count; i++) {
        const struct imported *object = import->items[i];
        if (kind_of(object) == kind && text_equal(object->name, name) &&
            text_equal(object->namespace_, namespace_))
            return object;
    }
    return NULL;
}

// Go writes what was not given as null or an empty text.
static struct value *copy_given(struct arena *arena, const struct value *map)
{
    struct value *given = value_make(arena, VALUE_MAP);
    value_each (item, map) {
        if (item->type == VALUE_MAP)
            value_set(given, item->key, copy_given(arena, item));
        else if (item->type != VALUE_NULL && (item->type != VALUE_TEXT || item->text.len))
            value_set(given, item->key, value_copy(arena, item));
    }
    return given;
}

// Without what releases of EMCO say of an item besides.
static struct value *copy_document(struct arena *arena, const struct resource *resource,
                                   const struct value *document)
{
    struct value *copy = copy_given(arena, document);
    value_each (item, document)
        if (!text_is(item->key, "metadata") && !text_is(item->key, "clusterLabel") &&
            !(text_is(item->key, "spec") && resource->has_spec))
            value_remove(copy, arena_copy(arena, item->key.at, item->key.len));
    return copy;
}

static bool name_object(struct import *import, struct imported *object, struct body_faults *faults)
{
    const struct kind *kind = kind_of(object);
    object->namespace_ =
        kind->is_namespaced ? place_namespace(import->arena, object->names[0]) : TEXT("");
    for (int is_taken = 0; is_taken < 2; is_taken++) {
        object->name = place_object_name(import->arena, object->id, object->names, is_taken);
        if (!find_object(import, kind, object->namespace_, object->name))
            return true;
    }
    body_faults_add(faults, "/metadata/name", "another %s is called %.*s already", kind->name,
                    TEXT_ARGS(object->name));
    return false;
}

static void build_item(struct imported *object, enum resource_id id, const struct text *names,
                       struct value *fields, struct body_faults *faults)
{
    struct arena *arena = faults->arena;
    const struct item item = {.id = id,
                              .names = names,
                              .object_name = object->name,
                              .now = object->tree,
                              .fields = fields};
    const struct built_item built = item_build(arena, &item);
    const struct object_ref_key key = {kind_of(object), object->namespace_, object->name};
    const struct check_item check = {.id = id,
                                     .next = built.next,
                                     .path = built.path,
                                     .map = built.map,
                                     .key = &key,
                                     .names = names};
    body_secrets_take(arena, id, names[resources[id].name_count - 1],
                      body_secrets_name(arena, object->name), built.map, NULL, NULL, faults);
    check_rules(&check, faults);
    if (!faults->count)
        object->tree = built.next;
}

static const struct text *read_names(struct arena *arena, enum resource_id id,
                                     const struct text *parents, struct text own)
{
    size_t count = resources[id].name_count;
    struct text *names = arena_new_array(arena, struct text, count);
    for (size_t i = 0; i + 1 < count; i++)
        names[i] = parents[i];
    names[count - 1] = (struct text){arena_copy(arena, own.at ? own.at : "", own.len), own.len};
    return names;
}

static void keep_object(struct import *import, struct imported *object, struct arena *arena)
{
    bool is_new = !object->arena;
    arena_free(object->arena);
    object->arena = arena;
    if (!is_new)
        return;
    arena_reserve(import->arena, &import->items, &import->capacity, import->count + 1);
    import->items[import->count++] = object;
}

// The item with the names of its path, put into `owner`, or an object of its own (NULL). NULL: it
// breaks a rule, which is reported.
static struct imported *take_item(struct import *import, enum resource_id id,
                                  const struct text *parents, struct imported *owner,
                                  const struct value *document)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct body_faults faults = {.arena = arena};
    const struct resource *resource = &resources[id];
    struct imported made = {.id = id};
    struct body body;
    body_take(arena, resource, copy_document(arena, resource, document), &body, &faults);
    value_remove(body.fields, "extra");
    made.names = read_names(import->arena, id, parents, body.name);
    if (!body.name.len)
        body_faults_add(&faults, "/metadata/name", "is missing");
    struct imported next = owner ? *owner : made;
    if (!faults.count && (owner || name_object(import, &next, &faults)))
        build_item(&next, id, made.names, body.fields, &faults);
    if (faults.count) {
        report_faults(import, id, made.names, &faults);
        return NULL;
    }
    struct imported *object = owner ? owner : arena_new_of(import->arena, struct imported);
    *object = next;
    keep_object(import, object, steal(arena));
    return object;
}

// ---- the walk -----------------------------------------------------------------------------------

// EMCO tells each action, the last one behind the others; a Signpost tells a state.
static struct text read_state(const struct value *answer)
{
    const struct value *actions = value_list_at(answer, "states.actions");
    return actions && actions->last ? value_text_at(actions->last, "state")
                                    : value_text_at(answer, "status.state");
}

static void import_state(struct import *import, struct imported *group)
{
    static const char *const wanted[] = {"Instantiated", "Instantiating",     "Updated",
                                         "Updating",     "InstantiateFailed", "Migrated"};
    struct error err;
    const char *path = item_path(import->arena, group->id, group->names, true);
    const struct value *answer = emco_client_get(
        import->client, import->arena,
        arena_printf(import->arena, "%s/status?output=summary", path), TEXT(""), &err);
    if (!answer) {
        import->is_incomplete = true;
        report(import, "spec.desired is to be looked at", err.text);
        return;
    }
    struct text state = read_state(answer);
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (text_is(state, wanted[i]))
            value_put_text(group->arena, group->tree, "spec.desired", "Instantiated");
}

static const char *object_title(struct arena *arena, const struct imported *object)
{
    return arena_printf(arena, "%s %.*s", kind_of(object)->name, TEXT_ARGS(object->name));
}

// The value of a flag among status.args; empty: it is not there.
static struct text find_argument(const struct value *status, const char *flag)
{
    value_each (item, value_list_at(status, "args")) {
        struct text name;
        struct text rest = item->text;
        if (item->type == VALUE_TEXT && text_cut(&rest, '=', &name) && text_starts(name, "--") &&
            text_is((struct text){name.at + 2, name.len - 2}, flag))
            return rest;
    }
    return TEXT("");
}

// Writes down what marks the names that stand, where the record does not ask for it by itself.
static bool keep_mark(struct import *import, struct imported *record,
                      const struct update_record *asked, enum external_dns_id id, struct text mark,
                      struct text in_force)
{
    if (text_equal(mark, in_force))
        return false;
    const char *name = external_dns_parameters[id].name;
    bool is_owner = id == PARAMETER_TXT_OWNER_ID;
    bool is_asked = is_owner ? update_record_owner(asked).len > 0 : asked->values[id] != NULL;
    if (!is_asked) {
        value_put(record->arena, record->tree,
                  is_owner ? "spec.adoptOwner"
                           : arena_printf(record->arena, "spec.external-dns-parameters.%s", name),
                  value_make_text(record->arena, in_force));
        return true;
    }
    import->is_incomplete = true;
    report(import, object_title(import->arena, record),
           arena_printf(
               import->arena,
               "its names carry the %s \"%.*s\", not \"%.*s\" as it asks: import it again when "
               "they have moved",
               name, TEXT_ARGS(in_force), TEXT_ARGS(mark)));
    return false;
}

static void keep_marks(struct import *import, struct imported *record, const struct value *status)
{
    struct update_record asked;
    struct external_dns_pinned marks;
    struct findings ignored = {.arena = record->arena};
    struct text owner = value_text_at(status, "txtOwnerId");
    update_record_decode(record->arena, record->tree, &ignored, &asked);
    external_dns_pinned_make(record->arena, &asked,
                             update_record_minor(&asked, text_of(EXTERNAL_DNS_VERSION)),
                             record->names[0], TEXT(""), &marks);
    if (owner.len &&
        keep_mark(import, record, &asked, PARAMETER_TXT_OWNER_ID, marks.owner_id, owner))
        report(import, object_title(import->arena, record),
               arena_printf(import->arena,
                            "keeps its owner id %.*s: no two installations may publish by it, so "
                            "stop the old one and its external-dns first",
                            TEXT_ARGS(owner)));
    struct text prefix =
        find_argument(status, external_dns_parameters[PARAMETER_ANNOTATION_PREFIX].name);
    if (prefix.len)
        keep_mark(import, record, &asked, PARAMETER_ANNOTATION_PREFIX, marks.annotation_prefix,
                  prefix);
    if (value_count(value_list_at(status, "args")))
        keep_mark(import, record, &asked, PARAMETER_TXT_PREFIX, marks.txt_prefix,
                  find_argument(status, external_dns_parameters[PARAMETER_TXT_PREFIX].name));
}

// Owner ids are made by each Signpost for itself, and what is pinned need not stand in the spec:
// both are told with the status.
static void import_marks(struct import *import, struct imported *record)
{
    struct error err;
    const char *path = item_path(import->arena, record->id, record->names, true);
    const struct value *answer =
        emco_client_get(import->client, import->arena,
                        arena_printf(import->arena, "%s/status", path), TEXT(""), &err);
    if (answer) {
        keep_marks(import, record, value_find(answer, "status"));
        return;
    }
    import->is_incomplete = true;
    report(import, "spec.adoptOwner is to be looked at, or its names in DNS stay as they are",
           err.text);
}

static bool import_children(struct import *import, struct imported *object);

static bool import_list(struct import *import, enum resource_id id, const struct text *names,
                        struct imported *owner)
{
    const char *path = item_path(import->arena, id, names, false);
    const struct value *list = emco_client_list(import->client, import->arena, path, import->err);
    // The one list that an EMCO need not have.
    import->is_incomplete |= !list && id != RESOURCE_RECORD;
    if (!list)
        return may_lack(import, "none are imported");
    value_each (document, list) {
        struct imported *object =
            take_item(import, id, names, resources[id].list ? owner : NULL, document);
        if (!object || resources[id].list)
            continue;
        if (id == RESOURCE_GROUP)
            import_state(import, object);
        if (id == RESOURCE_RECORD)
            import_marks(import, object);
        if (!import_children(import, object))
            return false;
    }
    return true;
}

// Groups stand below versions of apps, and of the clusters only those count that are referred to.
static bool import_children(struct import *import, struct imported *object)
{
    for (enum resource_id id = 0; id < RESOURCES; id++) {
        bool is_child = resources[id].parent == object->id && id != object->id;
        if (is_child && id != RESOURCE_GROUP && id != RESOURCE_CLUSTER &&
            !import_list(import, id, object->names, object))
            return false;
    }
    return true;
}

// With all below it.
static bool import_item(struct import *import, enum resource_id id, const struct text *names)
{
    const char *path = item_path(import->arena, id, names, true);
    const struct value *document = emco_client_get(
        import->client, import->arena, path, names[resources[id].name_count - 1], import->err);
    import->is_incomplete |= !document;
    if (!document)
        return id != RESOURCE_PROJECT &&
               may_lack(import, arena_printf(import->arena, "%s is not imported", path));
    struct imported *object = take_item(import, id, names, NULL, document);
    return !object || import_children(import, object);
}

static bool has_item(const struct import *import, enum resource_id id, const struct text *names)
{
    return find_object(import, resources[id].kind, TEXT(""),
                       place_object_name(import->arena, id, names, false)) != NULL;
}

static bool import_cluster(struct import *import, const struct value *reference)
{
    const struct text names[] = {value_text_at(reference, "clusterProvider"),
                                 value_text_at(reference, "cluster")};
    return (has_item(import, RESOURCE_PROVIDER, names) ||
            import_item(import, RESOURCE_PROVIDER, names)) &&
           (has_item(import, RESOURCE_CLUSTER, names) ||
            import_item(import, RESOURCE_CLUSTER, names));
}

static bool import_clusters(struct import *import)
{
    size_t count = import->count;
    for (size_t i = 0; i < count; i++)
        value_each (reference, value_list_at(import->items[i]->tree, "spec.clusterReferences"))
            if (!import_cluster(import, reference))
                return false;
    return true;
}

static bool import_groups(struct import *import, struct text project)
{
    const char *path =
        arena_printf(import->arena, "/v2/projects/%.*s/composite-apps", TEXT_ARGS(project));
    const struct value *list = emco_client_list(import->client, import->arena, path, import->err);
    import->is_incomplete |= !list;
    if (!list)
        return may_lack(import, "no groups are imported");
    value_each (app, list) {
        const struct text names[] = {project, value_text_at(app, "metadata.name"),
                                     value_text_at(app, "spec.compositeAppVersion")};
        bool is_named = emco_name_is_valid(names[1]) && emco_name_is_valid(names[2]);
        import->is_incomplete |= !is_named;
        if (!is_named)
            report(import, path, "an app without a good name and version is left out");
        else if (!import_list(import, RESOURCE_GROUP, names, NULL))
            return false;
    }
    return true;
}

// ---- printing -----------------------------------------------------------------------------------

static void write_object(struct arena *arena, const struct imported *object, struct buffer *out)
{
    AUTO_BUFFER version = {0};
    struct value *tree = value_make(arena, VALUE_MAP);
    const struct value *from = object->id == RESOURCE_PROJECT
                                   ? item_project_namespace(arena, object->names[0], object->tree)
                                   : object->tree;
    kind_api_version(&version, kind_of(object));
    value_put_text(arena, tree, "apiVersion", version.at);
    value_put_text(arena, tree, "kind", kind_of(object)->name);
    value_put(arena, tree, "metadata.name", value_make_text(arena, object->name));
    if (object->namespace_.len)
        value_put(arena, tree, "metadata.namespace", value_make_text(arena, object->namespace_));
    value_each (item, value_find(from, "metadata"))
        if (!text_is(item->key, "name"))
            value_set(value_find(tree, "metadata"), item->key, value_copy(arena, item));
    if (object->id != RESOURCE_PROJECT)
        value_set(tree, TEXT("spec"), value_copy(arena, value_find(from, "spec")));
    buffer_add_text(out, "---\n");
    value_write_yaml(out, tree, 0);
}

static void report_secrets(struct import *import, const struct imported *object)
{
    struct arena *arena = import->arena;
    const struct value *spec = value_find(object->tree, "spec");
    const char *secret = body_secrets_name(arena, object->name);
    const char *what = object_title(arena, object);
    value_each (key, body_secrets_keys(arena, spec, secret)) {
        import->is_incomplete = true;
        report(import, what,
               arena_printf(arena,
                            "its secret is not printed: put it into the Secret %s/%s as %.*s",
                            object->namespace_.at, secret, TEXT_ARGS(key->text)));
    }
    if (object->id == RESOURCE_CLUSTER && !value_bool_at(spec, "local", false))
        report(import, what,
               "EMCO gives no kubeconfig back: for addresses that stand in no set of keys and "
               "values, put one into a Secret, and name that in spec.kubeconfigSecret");
}

static int print_all(struct import *import)
{
    AUTO_BUFFER out = {0};
    struct error err;
    for (size_t i = 0; i < import->count; i++) {
        write_object(import->arena, import->items[i], &out);
        report_secrets(import, import->items[i]);
    }
    if (!print_out(&out, &err))
        return command_fail(2, "%s", err.text);
    if (import->report.len)
        fprintf(stderr, "left out, or to be done by hand:\n%s", import->report.at);
    return import->is_incomplete ? 1 : 0;
}

// ---- the command --------------------------------------------------------------------------------

static int import_project(struct import *import, struct text project)
{
    if (!import_item(import, RESOURCE_PROJECT, &project) || !import_clusters(import) ||
        !import_groups(import, project))
        return command_fail(2, "%s", import->err->text);
    return print_all(import);
}

static int import_run(struct invocation *invocation)
{
    struct error err;
    struct import import = {.arena = invocation->arena, .err = &err};
    const char *project = option_text(invocation, "project");
    if (!project || !emco_name_is_valid(text_of(project)))
        return command_fail(2, "give --project: the name of a project in EMCO, of letters, digits, "
                               "- _ or . with a letter or digit at both ends");
    CLEANUP(emco_client) struct emco_client *client = emco_client_new(invocation, &err);
    if (!client)
        return command_fail(2, "%s", err.text);
    import.client = client;
    int code = import_project(&import, text_of(project));
    for (size_t i = 0; i < import.count; i++)
        arena_free(import.items[i]->arena);
    buffer_done(&import.report);
    return code;
}

extern const struct command import_emco_command;
const struct command import_emco_command = {
    .name = "import emco",
    .summary = "turn a project of an EMCO into manifests",
    .doc = "Reads a project by the REST API of an EMCO, or of a Signpost, and prints the "
           "manifests that say the same: the project's Namespace, its DNS update records where "
           "the server has them, logical clouds, the clusters that these refer to, deployment "
           "intent groups with their traffic group intents, and which of them are instantiated. "
           "It asks once, and changes nothing there. A record keeps the owner id that a Signpost "
           "made for it, as adoptOwner, so that its names in DNS stay its own.\n\n"
           "Secrets are not printed, nor fields that have no effect on names. What is left out, "
           "because a rule refuses it or the server does not have it, and the Secrets that have "
           "to be made, stand on stderr.",
    .exit_docs =
        {
            "all of it is said",
            "some is not",
            "the project cannot be read, and nothing is printed",
        },
    .examples = "signpost import emco --url https://emco.example --project shop > shop.yaml\n"
                "signpost check shop.yaml\n",
    .groups = {{emco_options, EMCO_OPTION_COUNT, false}},
    .run = import_run,
};
