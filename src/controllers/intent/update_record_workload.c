#include <string.h>

#include "base/digest.h"
#include "base/labels.h"
#include "base/must.h"
#include "controllers/intent/update_record_reconcile.h"
#include "kinds/pod_spec.h"
#include "kinds/role/role_kind.h"
#include "kinds/rolebinding/rolebinding_kind.h"
#include "kinds/serviceaccount/serviceaccount_kind.h"

// The objects by which an external-dns runs. Only what we set in them is compared with what is
// there; it is put back when somebody changes it.

enum { DIGEST_OCTETS = 8, USER_DIGITS = 10 };

static const struct kind *const object_kinds[EXTERNAL_DNS_OBJECTS] = {
    [EXTERNAL_DNS_ACCOUNT] = &serviceaccount_kind,
    [EXTERNAL_DNS_ROLE] = &role_kind,
    [EXTERNAL_DNS_ROLE_BINDING] = &rolebinding_kind,
    [EXTERNAL_DNS_DEPLOYMENT] = &deployment_kind,
};

// ---- what is there ------------------------------------------------------------------------------

static void put_json(struct update_record_reconcile *reconcile, struct value *tree,
                     const char *path, struct text json)
{
    struct error err;
    struct value *value =
        json.at ? value_read_json(reconcile->arena, json, &value_own_limits, &err) : NULL;
    if (value)
        value_put(reconcile->arena, tree, path, value);
}

static void read_account(struct update_record_reconcile *reconcile, struct text spec,
                         struct value *tree)
{
    put_json(reconcile, tree, "metadata.annotations", serviceaccount_annotations(spec));
}

static void read_role(struct update_record_reconcile *reconcile, struct text spec,
                      struct value *tree)
{
    put_json(reconcile, tree, "rules", role_rules(spec));
}

static void read_binding(struct update_record_reconcile *reconcile, struct text spec,
                         struct value *tree)
{
    struct rolebinding binding;
    rolebinding_unpack(spec, &binding);
    put_json(reconcile, tree, "roleRef", binding.role);
    put_json(reconcile, tree, "subjects", binding.subjects);
}

static void read_deployment(struct update_record_reconcile *reconcile, struct text spec,
                            struct value *tree)
{
    size_t count;
    struct value *map = value_make(reconcile->arena, VALUE_MAP);
    const struct text_pair *annotations = deployment_annotations(reconcile->arena, spec, &count);
    for (size_t i = 0; i < count; i++)
        value_set(map, annotations[i].key, value_make_text(reconcile->arena, annotations[i].value));
    value_put(reconcile->arena, tree, "metadata.annotations", map);
    put_json(reconcile, tree, "spec", reconcile->deployment.spec);
}

// As far as it is compared.
static struct value *make_seen_tree(struct update_record_reconcile *reconcile,
                                    enum external_dns_object which)
{
    static void (*const readers[EXTERNAL_DNS_OBJECTS])(struct update_record_reconcile *,
                                                       struct text, struct value *) = {
        [EXTERNAL_DNS_ACCOUNT] = read_account,
        [EXTERNAL_DNS_ROLE] = read_role,
        [EXTERNAL_DNS_ROLE_BINDING] = read_binding,
        [EXTERNAL_DNS_DEPLOYMENT] = read_deployment,
    };
    struct value *tree = value_make(reconcile->arena, VALUE_MAP);
    readers[which](reconcile, object_spec(reconcile->seen[which]), tree);
    return tree;
}

// ---- what is wanted -----------------------------------------------------------------------------

static struct value *null_of(const struct update_record_reconcile *reconcile)
{
    return value_make(reconcile->arena, VALUE_NULL);
}

static const char *user_key(const struct update_record_reconcile *reconcile,
                            const struct record_user *user)
{
    AUTO_BUFFER key = {0};
    const struct text components[] = {user->project, user->composite_app, user->version,
                                      user->group};
    buffer_add_text(&key, UPDATE_RECORD_USERS);
    emco_hash_write(&key, USER_DIGITS, components, COUNT_OF(components));
    return arena_copy(reconcile->arena, key.at, key.len);
}

static const char *user_value(const struct update_record_reconcile *reconcile,
                              const struct record_user *user)
{
    bool is_foreign = !text_equal(user->project, reconcile->view.project);
    struct text project = is_foreign ? user->project : TEXT("");
    return arena_printf(reconcile->arena, "%.*s%s%.*s/%.*s/%.*s", TEXT_ARGS(project),
                        is_foreign ? ":" : "", TEXT_ARGS(user->composite_app),
                        TEXT_ARGS(user->version), TEXT_ARGS(user->group));
}

// One annotation for each user. Those of others, or of users whose names go, stand as null.
static struct value *make_user_annotations(const struct update_record_reconcile *reconcile,
                                           const struct value *seen)
{
    struct arena *arena = reconcile->arena;
    struct value *map = value_make(arena, VALUE_MAP);
    const struct value *there = value_at(seen, "metadata.annotations", NULL);
    for (size_t i = 0; i < reconcile->view.user_count; i++) {
        const struct record_user *user = &reconcile->view.users[i];
        if (!user->is_draining)
            value_set(map, text_of(user_key(reconcile, user)),
                      value_make_text(arena, text_of(user_value(reconcile, user))));
    }
    value_each (item, there)
        if (text_starts(item->key, UPDATE_RECORD_USERS) && !value_find_text(map, item->key))
            value_set(map, item->key, null_of(reconcile));
    return map;
}

static const char *digest_tree(const struct update_record_reconcile *reconcile,
                               const struct value *tree)
{
    AUTO_BUFFER json = {0};
    uint8_t octets[DIGEST_MAX];
    char hex[2 * DIGEST_OCTETS + 1];
    value_write_json(&json, tree);
    digest_of(DIGEST_SHA256, buffer_text(&json), octets);
    hex_encode(octets, DIGEST_OCTETS, hex);
    return arena_copy_text(reconcile->arena, hex);
}

// What an earlier decision gave and this one does not stands as null.
static void drop_earlier_fields(const struct update_record_reconcile *reconcile,
                                struct value *wanted, const struct value *seen)
{
    static const char *const fields[] = {"nodeSelector", "tolerations", "imagePullSecrets",
                                         "volumes"};
    struct value *pod = value_at(wanted, "spec.template.spec", NULL);
    const struct value *there = value_at(seen, "spec.template.spec", NULL);
    struct value *selector = value_find(pod, "nodeSelector");
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (value_count(value_find(there, fields[i])) && !value_find(pod, fields[i]))
            value_set(pod, text_of(fields[i]), null_of(reconcile));
    value_each (label, selector ? value_find(there, "nodeSelector") : NULL)
        if (!value_find_text(selector, label->key))
            value_set(selector, label->key, null_of(reconcile));
}

static void complete_deployment(struct update_record_reconcile *reconcile, struct value *wanted,
                                const struct value *seen)
{
    struct arena *arena = reconcile->arena;
    const char *digest = digest_tree(reconcile, wanted);
    struct value *annotations = make_user_annotations(reconcile, seen);
    value_set(annotations, TEXT(UPDATE_RECORD_DIGEST_ANNOTATION),
              value_make_text(arena, text_of(digest)));
    value_set(annotations, TEXT(UPDATE_RECORD_PLACE_ANNOTATION),
              value_make_text(arena, reconcile->pinned.place));
    value_put(arena, wanted, "metadata.annotations", annotations);
    if (seen)
        drop_earlier_fields(reconcile, wanted, seen);
}

static void make_wanted(struct update_record_reconcile *reconcile,
                        struct value *out[EXTERNAL_DNS_OBJECTS])
{
    const struct external_dns_workload workload = {
        .record = &reconcile->record,
        .start = &reconcile->start,
        .project = reconcile->view.project,
        .namespace_ = object_namespace(reconcile->in->subject),
        .image = reconcile->record.image,
        .version = reconcile->record.version,
        .secret_checksum = text_of(reconcile->checksum),
    };
    external_dns_objects_make(reconcile->arena, &workload, out);
    for (size_t i = 0; i < EXTERNAL_DNS_OBJECTS; i++) {
        struct value *metadata = value_find(out[i], "metadata");
        value_remove(out[i], "apiVersion");
        value_remove(out[i], "kind");
        value_remove(metadata, "name");
        value_remove(metadata, "namespace");
    }
}

// ---- writing ------------------------------------------------------------------------------------

static const struct decision_event *event_of(const struct update_record_reconcile *reconcile,
                                             const char *reason, const char *text)
{
    struct decision_event *event = arena_new_of(reconcile->arena, struct decision_event);
    *event = (struct decision_event){.reason = reason, .text = text};
    return event;
}

static const struct decision_line *line_of(const struct update_record_reconcile *reconcile,
                                           const char *message, const char *name)
{
    struct decision_line *line = arena_new_of(reconcile->arena, struct decision_line);
    struct log_attr *attrs = arena_new_array(reconcile->arena, struct log_attr, 2);
    attrs[0] = LOG_TEXT("object", name);
    attrs[1] = LOG_END;
    *line = (struct decision_line){.level = LOG_INFO, .message = message, .attrs = attrs};
    return line;
}

enum write { WRITE_MADE, WRITE_CHANGED, WRITE_USERS, WRITE_REMOVED };

// `tree` NULL removes it.
static void want_object(struct update_record_reconcile *reconcile, enum external_dns_object which,
                        const struct value *tree, enum write write)
{
    static const struct {
        const char *event;
        const char *what;
        const char *message;
    } writes[] = {
        [WRITE_MADE] = {EVENT_EXTERNAL_DNS_WRITTEN, "was made", "object of external-dns was made"},
        [WRITE_CHANGED] = {EVENT_EXTERNAL_DNS_WRITTEN, "was changed",
                           "object of external-dns was changed"},
        [WRITE_USERS] = {EVENT_EXTERNAL_DNS_WRITTEN, "has other users",
                         "users of external-dns have changed"},
        [WRITE_REMOVED] = {EVENT_EXTERNAL_DNS_REMOVED, "was removed",
                           "object of external-dns was removed"},
    };
    struct arena *arena = reconcile->arena;
    struct text namespace_ = object_namespace(reconcile->in->subject);
    const char *name = arena_printf(arena, "%s %.*s/%s", object_kinds[which]->name,
                                    TEXT_ARGS(namespace_), reconcile->name);
    *decision_add_object(reconcile->out, arena) = (struct object_want){
        .key = {object_kinds[which], namespace_, text_of(reconcile->name)},
        .tree = tree,
        .seen = reconcile->seen[which],
        .event = event_of(reconcile, writes[write].event,
                          arena_printf(arena, "%s %s", name, writes[write].what)),
        .line = line_of(reconcile, writes[write].message, name),
    };
}

static bool has_labels(const struct object *seen, const struct value *wanted)
{
    value_each (label, value_at(wanted, "metadata.labels", NULL))
        if (!text_equal(labels_find(object_spec(seen), label->key), value_text(label)))
            return false;
    return true;
}

// An API server writes quantities in its own way, so that only the digest tells theirs.
static const struct value *without_quantities(const struct update_record_reconcile *reconcile,
                                              const struct value *wanted)
{
    struct value *copy = value_copy(reconcile->arena, wanted);
    struct value *metadata = value_find(copy, "metadata");
    const struct value *list = value_list_at(copy, "spec.template.spec.containers");
    value_remove(metadata, "labels");
    value_each (container, list)
        value_remove(container, "resources");
    return copy;
}

// Nobody can change which role is bound: such a binding is made anew.
static bool binds_other_role(const struct value *seen, const struct value *wanted)
{
    const struct value *role = value_find(wanted, "roleRef");
    return role && !value_covers(value_find(seen, "roleRef"), role);
}

static void keep_object(struct update_record_reconcile *reconcile, enum external_dns_object which,
                        struct value *wanted)
{
    const struct object *seen = reconcile->seen[which];
    const struct value *there = seen ? make_seen_tree(reconcile, which) : NULL;
    if (seen && seen->deleted_s)
        return; // it comes back when it is gone
    if (which == EXTERNAL_DNS_DEPLOYMENT)
        complete_deployment(reconcile, wanted, there);
    if (seen && has_labels(seen, wanted) &&
        value_covers(there, without_quantities(reconcile, wanted)))
        return;
    if (seen && binds_other_role(there, wanted)) {
        want_object(reconcile, which, NULL, WRITE_REMOVED);
        return;
    }
    value_put(reconcile->arena, wanted, "metadata.ownerReferences",
              object_owner_references(reconcile->arena, reconcile->in->subject, true));
    want_object(reconcile, which, wanted, seen ? WRITE_CHANGED : WRITE_MADE);
}

static bool has_account(const struct update_record_reconcile *reconcile)
{
    return reconcile->seen[EXTERNAL_DNS_ACCOUNT] && reconcile->seen[EXTERNAL_DNS_ROLE] &&
           reconcile->seen[EXTERNAL_DNS_ROLE_BINDING];
}

static void keep_workload(struct update_record_reconcile *reconcile)
{
    struct value *wanted[EXTERNAL_DNS_OBJECTS];
    make_wanted(reconcile, wanted);
    // An API server takes no binding to a role that is not there yet.
    for (size_t i = 0; i < EXTERNAL_DNS_DEPLOYMENT; i++)
        if (i != EXTERNAL_DNS_ROLE_BINDING || reconcile->seen[EXTERNAL_DNS_ROLE])
            keep_object(reconcile, (enum external_dns_object)i, wanted[i]);
    if (has_account(reconcile))
        keep_object(reconcile, EXTERNAL_DNS_DEPLOYMENT, wanted[EXTERNAL_DNS_DEPLOYMENT]);
}

// The Deployment stays as it is, but who uses it is written there all the same.
static void keep_users(struct update_record_reconcile *reconcile)
{
    struct value *tree = value_make(reconcile->arena, VALUE_MAP);
    const struct object *seen = reconcile->seen[EXTERNAL_DNS_DEPLOYMENT];
    if (!seen || seen->deleted_s)
        return;
    const struct value *there = make_seen_tree(reconcile, EXTERNAL_DNS_DEPLOYMENT);
    value_put(reconcile->arena, tree, "metadata.annotations",
              make_user_annotations(reconcile, there));
    if (!value_covers(there, tree))
        want_object(reconcile, EXTERNAL_DNS_DEPLOYMENT, tree, WRITE_USERS);
}

static void drop_object(struct update_record_reconcile *reconcile, enum external_dns_object which)
{
    if (reconcile->seen[which] && !reconcile->seen[which]->deleted_s)
        want_object(reconcile, which, NULL, WRITE_REMOVED);
}

// What it acts as goes behind it.
static void drop_workload(struct update_record_reconcile *reconcile)
{
    if (reconcile->seen[EXTERNAL_DNS_DEPLOYMENT]) {
        drop_object(reconcile, EXTERNAL_DNS_DEPLOYMENT);
        return;
    }
    for (size_t i = EXTERNAL_DNS_DEPLOYMENT; i-- > 0;)
        drop_object(reconcile, (enum external_dns_object)i);
}

static bool is_unreadable(const struct update_record_reconcile *reconcile)
{
    static const enum update_record_input read[] = {
        UPDATE_RECORD_ENDPOINTS, UPDATE_RECORD_DEPLOYMENTS, UPDATE_RECORD_ACCOUNTS,
        UPDATE_RECORD_ROLES, UPDATE_RECORD_BINDINGS};
    for (size_t i = 0; i < COUNT_OF(read); i++)
        if (reconcile->in->inputs[read[i]].unreadable)
            return true;
    return false;
}

void update_record_write_workload(struct update_record_reconcile *reconcile)
{
    if (is_unreadable(reconcile))
        return;
    if (!reconcile->wants_deployment)
        drop_workload(reconcile);
    else if (reconcile->is_held)
        keep_users(reconcile);
    else
        keep_workload(reconcile);
}

bool update_record_has_workload(const struct update_record_reconcile *reconcile)
{
    for (size_t i = 0; i < EXTERNAL_DNS_OBJECTS; i++)
        if (reconcile->seen[i])
            return true;
    return false;
}
