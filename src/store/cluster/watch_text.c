#include <string.h>

#include "store/cluster/watch_private.h"

// A server that starts forbids everything for a moment: a few refusals are waited out.
enum { UNSYNCED_MS = 120 * 1000, REFUSALS_BELIEVED = 3 };

void watch_write_kind(const struct watch *watch, struct buffer *out)
{
    const struct kind *kind = watch->options.kind;
    buffer_printf(out, "%s%s%s", kind->plural, kind->group[0] ? "." : "", kind->group);
}

void watch_log(const struct watch *watch, enum log_level level, const char *message,
               const char *error)
{
    AUTO_BUFFER name = {0};
    watch_write_kind(watch, &name);
    struct text position = buffer_text(&watch->position);
    log_line(watch->options.log, level, message, LOG_TEXT("kind", name.at),
             LOG_TEXT("namespace", watch->options.namespace_),
             LOG_TEXT("name", watch->options.name),
             LOG_SLICE("resourceVersion", position.len ? position : (struct text){0}),
             LOG_TEXT("error", error), LOG_END);
}

// The 1st, 2nd, 4th, 8th ... in a row. What ends and comes back soon is told once, calmly.
void watch_log_failure(struct watch *watch, const struct error *err)
{
    unsigned failures = watch->failures;
    bool is_news = watch->is_lasting && watch->refusals == REFUSALS_BELIEVED;
    bool is_brief = watch->is_synced && watch_now(watch) - watch->down_ms < UNSYNCED_MS;
    bool is_calm = (is_brief || watch->refusals) && !watch->is_lasting;
    if (watch->refusals && watch->options.is_dispensable && !is_news)
        return;
    if (!is_news && (is_calm ? failures > 1 : failures & (failures - 1)))
        return;
    watch_log(watch, is_calm ? LOG_INFO : LOG_WARN,
              watch->is_lasting ? "cannot watch" : "a watch failed, trying again",
              watch->is_lasting ? watch->trouble.at : err->text);
}

static void say_where(const struct watch *watch, struct buffer *out)
{
    if (watch->options.namespace_)
        buffer_printf(out, "in namespace %s", watch->options.namespace_);
    else
        buffer_add_text(out, "at cluster scope");
}

static void say_forbidden(const struct watch *watch, struct buffer *out, const struct error *err)
{
    static const char *const verbs[] = {
        [PHASE_DOWN] = "watch", [PHASE_STREAMING_LIST] = "watch", [PHASE_LIST] = "list",
        [PHASE_GET] = "get",    [PHASE_FOLLOW] = "watch",         [PHASE_LIVE] = "watch",
    };
    const char *verb = verbs[watch->ended];
    if (watch->options.is_once) {
        buffer_add_text(out, err->text);
        return;
    }
    buffer_printf(out, "forbidden: cannot %s %s ", verb, watch->options.kind->plural);
    say_where(watch, out);
    buffer_printf(out, "; add verb %s to role signpost", verb);
    if (strstr(err->text, "system:anonymous"))
        buffer_add_text(out, " (the server knows us as system:anonymous: no credential was sent)");
}

static void say_missing(const struct watch *watch, struct buffer *out)
{
    watch_write_kind(watch, out);
    buffer_add_text(out, watch->options.kind->is_foreign
                             ? " is not installed: install its custom resource definition"
                             : " is not installed: run `signpost manifests --crd | kubectl apply "
                               "--server-side -f -`");
}

void watch_set_trouble(struct watch *watch, enum watch_how how, const struct error *err)
{
    struct buffer *out = &watch->trouble;
    buffer_clear(out);
    watch->is_missing = how == HOW_MISSING;
    bool is_forbidden =
        how == HOW_FORBIDDEN && (watch->options.is_once || watch->refusals >= REFUSALS_BELIEVED);
    bool is_nameless = how != HOW_FORBIDDEN && err->fault == FAULT_AUTH;
    watch->is_lasting = how == HOW_MISSING || is_forbidden || is_nameless;
    if (is_forbidden)
        say_forbidden(watch, out, err);
    else if (how == HOW_MISSING)
        say_missing(watch, out);
    else
        buffer_add_text(out, err->text);
}

const char *watch_refusal(const struct watch *watch)
{
    return watch->is_lasting && watch->refusals ? watch->trouble.at : NULL;
}

// The text of a string that stands at `at`; absent when it is none, or is cut off.
static struct text read_string(const char *at, const char *end)
{
    if (at == end || *at != '"')
        return (struct text){0};
    const char *from = ++at;
    while (at < end && *at != '"')
        at += *at == '\\' ? 2 : 1;
    return at < end ? (struct text){from, (size_t)(at - from)} : (struct text){0};
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

// Where the value of this key begins, among the entries of the map that we are in; or NULL.
static const char *find_key(const char *at, const char *end, const char *key)
{
    int depth = 0;
    while (at < end && depth >= 0) {
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (*at++ != '"')
            continue;
        struct text string = read_string(at - 1, end);
        if (!string.at)
            return NULL;
        at = skip_blanks(string.at + string.len + 1, end);
        if (depth == 0 && at < end && *at == ':' && text_is(string, key))
            return skip_blanks(at + 1, end);
    }
    return NULL;
}

static const char *find_map(const char *at, const char *end, const char *key)
{
    const char *found = at ? find_key(at, end, key) : NULL;
    return found && found < end && *found == '{' ? found + 1 : NULL;
}

static struct text find_string(const char *at, const char *end, const char *key)
{
    const char *found = at ? find_key(at, end, key) : NULL;
    return found ? read_string(found, end) : (struct text){0};
}

void watch_handle_skipped(void *context, struct text head, const char *why)
{
    struct watch *watch = context;
    const char *end = head.at + head.len;
    const char *root = head.at + 1;
    AUTO_BUFFER kind = {0};
    if (watch->phase != PHASE_LIST)
        root = find_map(root, end, "object");
    const char *metadata = find_map(root, end, "metadata");
    watch_write_kind(watch, &kind);
    watch->has_unreadable = true;
    watch->has_event = true;
    watch->counts.skipped++;
    if (watch->phase != PHASE_LIST && text_is(find_string(head.at + 1, end, "type"), "DELETED")) {
        error_set(&watch->error, FAULT_AGAIN, "Skipped", "a deletion is %s", why);
        watch_end_soon(watch, HOW_RELIST);
    }
    log_line(
        watch->options.log, LOG_WARN, "an object is skipped; its last known state stays",
        LOG_TEXT("kind", kind.at), LOG_SLICE("namespace", find_string(metadata, end, "namespace")),
        LOG_SLICE("name", find_string(metadata, end, "name")), LOG_TEXT("error", why), LOG_END);
}

static bool is_ok(const struct watch *watch, int64_t now)
{
    if (watch->is_missing)
        return watch->options.is_dispensable || (!watch->options.is_required && !watch->is_synced);
    if (!watch->is_synced || (watch->trouble.len && watch->is_lasting))
        return false;
    return !watch->down_ms || now - watch->down_ms < UNSYNCED_MS;
}

static void say_state(const struct watch *watch, int64_t now, struct buffer *out)
{
    bool is_late = !watch->is_synced && now - watch->started_ms >= UNSYNCED_MS;
    if (!watch->is_lasting && watch->is_synced)
        buffer_add_text(out, "the watch is down: ");
    else if (!watch->is_lasting)
        buffer_add_text(out, is_late ? "not synced after 2 min" : "the first list is under way");
    if (!watch->is_lasting && !watch->is_synced && watch->trouble.len)
        buffer_add_text(out, ": ");
    buffer_add(out, watch->trouble.at, watch->trouble.len);
}

struct store_check watch_check(struct watch *watch)
{
    int64_t now = watch_now(watch);
    bool ok = is_ok(watch, now);
    buffer_clear(&watch->check_text);
    if (ok)
        buffer_add_text(&watch->check_text, watch->is_missing ? "not installed" : "ok");
    else
        say_state(watch, now, &watch->check_text);
    return (struct store_check){.name = watch->check_name.at,
                                .is_ok = ok,
                                .is_advice = watch->options.is_dispensable,
                                .text = watch->check_text.at};
}

const char *watch_relist_name(enum watch_relist reason)
{
    static const char *const names[] = {
        [RELIST_EXPIRED] = "expired",   [RELIST_TOO_LARGE] = "too_large",
        [RELIST_FALLBACK] = "fallback", [RELIST_UNREADABLE] = "unreadable",
        [RELIST_REFUSED] = "refused",
    };
    return names[reason];
}

const char *watch_death_name(enum watch_death how)
{
    static const char *const names[] = {
        [DEATH_SILENT] = "silent",
        [DEATH_RESET] = "reset",
        [DEATH_ENDED] = "ended",
        [DEATH_GARBAGE] = "garbage",
    };
    return names[how];
}
