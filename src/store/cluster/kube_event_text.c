#include "store/cluster/kube_event_text.h"

#include <string.h>

#include "base/hash.h"
#include "base/value.h"
#include "base/when.h"

enum {
    NAME_MAX_OCTETS = 253,
    FIELD_MAX = 128,
    NOTE_MAX = 1024,
    HEX_MAX = 16,
};

// ---- what belongs together ----------------------------------------------------------------------

static void add_object(struct buffer *out, const struct object *object)
{
    char uid[37];
    object_write_uid(object, uid);
    buffer_printf(out, "%s/%s/", object->kind->group, object->kind->name);
    object_write_name(out, object);
    buffer_printf(out, "/%s", uid);
}

static uint64_t hash_of(const struct buffer *key)
{
    return hash_octets(key->at, key->len);
}

uint64_t kube_event_object(const struct kube_event *event)
{
    AUTO_BUFFER key = {0};
    add_object(&key, event->regarding);
    return hash_of(&key);
}

uint64_t kube_event_series(const struct kube_event *event)
{
    AUTO_BUFFER key = {0};
    buffer_printf(&key, "%d\n%s\n%s\n", event->is_warning, event->action, event->reason);
    add_object(&key, event->regarding);
    if (event->related)
        add_object(&key, event->related);
    return hash_of(&key);
}

// ---- names --------------------------------------------------------------------------------------

struct text kube_event_namespace(const struct kube_event *event)
{
    struct text namespace_ = object_namespace(event->regarding);
    return namespace_.len ? namespace_ : TEXT("default");
}

void kube_event_write_name(struct buffer *out, struct text regarded, int64_t unix_ns)
{
    struct text name = utf8_prefix(regarded, NAME_MAX_OCTETS - HEX_MAX - 1);
    while (name.len && strchr(".-", name.at[name.len - 1]))
        name.len--;
    buffer_printf(out, "%.*s.%llx", TEXT_ARGS(name), (unsigned long long)unix_ns);
}

// ---- fields -------------------------------------------------------------------------------------

static void add_text(struct buffer *out, const char *key, const char *text, size_t limit)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text_of(text), limit);
    buffer_printf(out, "\"%s\":", key);
    value_write_json_text(out, buffer_text(&clean));
}

static void add_slice(struct buffer *out, const char *key, struct text text)
{
    buffer_printf(out, "\"%s\":", key);
    value_write_json_text(out, text);
}

static void add_time(struct buffer *out, const char *key, int64_t unix_us)
{
    char time[WHEN_TEXT_MAX];
    when_write_us(unix_us, time);
    buffer_printf(out, "\"%s\":\"%s\"", key, time);
}

static void add_reference(struct buffer *out, const char *key, const struct object *object,
                          const char *version)
{
    char uid[37];
    object_write_uid(object, uid);
    buffer_printf(out, "\"%s\":{", key);
    add_slice(out, "apiVersion", text_of(version));
    buffer_add_char(out, ',');
    add_slice(out, "kind", text_of(object->kind->name));
    if (object_namespace(object).len) {
        buffer_add_char(out, ',');
        add_slice(out, "namespace", object_namespace(object));
    }
    buffer_add_char(out, ',');
    add_slice(out, "name", object_name(object));
    buffer_printf(out, ",\"uid\":\"%s\",", uid);
    add_slice(out, "resourceVersion", object_version(object));
    buffer_add_char(out, '}');
}

void kube_event_write_rest(struct buffer *out, const struct kube_event *event, const char *version,
                           const char *related_version, const char *instance, int64_t unix_us)
{
    const char *action = event->action && *event->action ? event->action : event->reason;
    add_time(out, "eventTime", unix_us);
    buffer_add_text(out, ",\"reportingController\":\"signpost\",");
    add_text(out, "reportingInstance", instance, FIELD_MAX);
    buffer_add_char(out, ',');
    add_text(out, "action", action, FIELD_MAX);
    buffer_add_char(out, ',');
    add_text(out, "reason", event->reason, FIELD_MAX);
    buffer_printf(out, ",\"type\":\"%s\",", event->is_warning ? "Warning" : "Normal");
    add_text(out, "note", event->text ? event->text : "", NOTE_MAX);
    buffer_add_char(out, ',');
    add_reference(out, "regarding", event->regarding, version);
    if (event->related) {
        buffer_add_char(out, ',');
        add_reference(out, "related", event->related, related_version);
    }
    buffer_add_char(out, '}');
}

void kube_event_write(struct buffer *out, struct text name, struct text namespace_,
                      struct text rest)
{
    buffer_add_text(out, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{");
    add_slice(out, "name", name);
    buffer_add_char(out, ',');
    add_slice(out, "namespace", namespace_);
    buffer_printf(out, "},%.*s", TEXT_ARGS(rest));
}

void kube_event_write_series(struct buffer *out, uint32_t count, int64_t last_unix_us)
{
    buffer_printf(out, "{\"series\":{\"count\":%u,", count);
    add_time(out, "lastObservedTime", last_unix_us);
    buffer_add_text(out, "}}");
}
