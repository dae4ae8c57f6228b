#include "frontends/admission/review.h"

#include "base/value.h"

enum {
    DEPTH_MAX = 80,
    NODES_MAX = 1 << 17,
    WARNING_RUNES = 256,
    WARNINGS_RUNES = 4096,
    SHOWN_MAX = 100
};

// Whoever reaches the port may send one: it must not take more memory than a Pod has.
static const struct value_limits limits = {
    .octets = REVIEW_OCTETS_MAX, .depth = DEPTH_MAX, .nodes = NODES_MAX};

struct review {
    const struct review_rules *rules;
    const struct kind *kind;
    const struct value *request;
    struct findings findings;
};

// ---- reading ------------------------------------------------------------------------------------

static const char *shown(struct arena *arena, struct text text)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text, SHOWN_MAX);
    return clean.len ? arena_copy(arena, clean.at, clean.len) : "nothing";
}

static bool refuse(struct error *err, const char *what, const char *found)
{
    error_set(err, FAULT_SPEC, "", "not an AdmissionReview of admission.k8s.io/v1: %s%s", what,
              found);
    if (err)
        err->status = 400;
    return false;
}

static bool read_request(struct arena *arena, struct text body, const struct value **out,
                         struct error *err)
{
    struct error why;
    const struct value *root = value_read_json(arena, body, &limits, &why);
    if (!root)
        return refuse(err, "", why.text);
    if (!text_is(value_text_at(root, "apiVersion"), "admission.k8s.io/v1"))
        return refuse(err, "apiVersion is ", shown(arena, value_text_at(root, "apiVersion")));
    if (!text_is(value_text_at(root, "kind"), "AdmissionReview"))
        return refuse(err, "kind is ", shown(arena, value_text_at(root, "kind")));
    const struct value *request = value_find(root, "request");
    if (!request || request->type != VALUE_MAP)
        return refuse(err, "it has no request", "");
    if (!value_text_at(request, "uid").len)
        return refuse(err, "its request has no uid", "");
    *out = request;
    return true;
}

// ---- judging ------------------------------------------------------------------------------------

#define WARN(review, ...) findings_add(&(review)->findings, FINDING_WARNING, "", __VA_ARGS__)

static bool is_of_kind(const struct review *review)
{
    const struct kind *kind = review->kind;
    const struct value *named = value_find(review->request, "kind");
    return text_is(value_text_at(named, "group"), kind->group) &&
           kind_has_version(kind, value_text_at(named, "version")) &&
           text_is(value_text_at(named, "kind"), kind->name);
}

static const struct value *map_of(const struct review *review, const char *key)
{
    const struct value *found = value_find(review->request, key);
    return found && found->type == VALUE_MAP ? found : NULL;
}

static bool is_going(const struct value *object)
{
    return value_text_at(value_find(object, "metadata"), "deletionTimestamp").len > 0;
}

// Labels and the like of an object of before its rules: who writes those has no say in its spec.
static bool has_same_spec(const struct value *object, const struct value *old)
{
    const struct value *spec = value_find(object, "spec");
    return old && spec && value_equal(spec, value_find(old, "spec"));
}

static void judge_object(struct review *review, const struct value *object, const struct value *old)
{
    struct findings *findings = &review->findings;
    const struct kind *kind = review->kind;
    kind_check(kind, object, findings);
    size_t shapes = findings->count;
    if (kind->validate)
        kind->validate(object, findings);
    findings_drop_echoes(findings, shapes);
    if (old)
        kind_check_update(kind, old, object, findings);
    if (review->rules->judge && !findings_errors(findings))
        review->rules->judge(review->rules->context, kind, object, findings);
}

// Of an object of others: whoever judges it only advises.
static void advise(struct review *review, const struct value *object)
{
    struct findings *findings = &review->findings;
    if (review->rules->judge)
        review->rules->judge(review->rules->context, review->kind, object, findings);
    for (size_t i = 0; i < findings->count; i++)
        findings->items[i].level = FINDING_WARNING;
}

// Denies what the check of a foreign kind only warns of elsewhere, as an option asks for that.
static void deny_breaches(struct review *review, const struct value *object)
{
    struct findings *findings = &review->findings;
    review->kind->validate(object, findings);
    for (size_t i = 0; i < findings->count; i++)
        findings->items[i].level = FINDING_ERROR;
}

static void judge_write(struct review *review, bool is_update)
{
    const struct value *object = map_of(review, "object");
    if (value_text_at(review->request, "subResource").len)
        return;
    if (!object) {
        WARN(review, "signpost did not check this: the review brings no object");
        return;
    }
    const struct value *old = is_update ? map_of(review, "oldObject") : NULL;
    if (is_going(object))
        return;
    if (review->kind->advised)
        advise(review, object);
    else if (has_same_spec(object, old))
        return;
    else if (review->kind->judged_with)
        deny_breaches(review, object);
    else
        judge_object(review, object, old);
}

static void judge(struct review *review)
{
    struct arena *arena = review->findings.arena;
    struct text operation = value_text_at(review->request, "operation");
    bool is_update = text_is(operation, "UPDATE");
    if (!review->kind)
        return;
    if (!is_of_kind(review)) {
        struct text name = value_text_at(value_find(review->request, "kind"), "kind");
        WARN(review, "signpost did not check this: the path is for %s of %s/%s, the review for %s",
             review->kind->name, review->kind->group, review->kind->version, shown(arena, name));
        return;
    }
    if (!is_update && !text_is(operation, "CREATE")) {
        WARN(review, "signpost did not check this: it knows CREATE and UPDATE, not %s",
             shown(arena, operation));
        return;
    }
    judge_write(review, is_update);
}

// ---- replying -----------------------------------------------------------------------------------

static const char *faults_joined(const struct review *review)
{
    AUTO_BUFFER joined = {0};
    struct arena *arena = review->findings.arena;
    for (size_t i = 0; i < review->findings.count; i++) {
        const struct finding *finding = &review->findings.items[i];
        if (finding->level != FINDING_ERROR)
            continue;
        buffer_add_text(&joined, joined.len ? "; " : "");
        buffer_add_text(&joined, finding_text(arena, finding));
    }
    return arena_copy(arena, buffer_text(&joined).at, joined.len);
}

// The octets of the first `limit` characters, and how many there are.
static struct text first_runes(struct text text, size_t limit, size_t *count)
{
    size_t len = 0;
    for (*count = 0; len < text.len && *count < limit; ++*count) {
        uint32_t code_point;
        size_t step = utf8_decode((struct text){text.at + len, text.len - len}, &code_point);
        len += step ? step : 1;
    }
    return (struct text){text.at, len};
}

static size_t runes_in_all(const struct text *texts, size_t count)
{
    size_t all = 0;
    for (size_t i = 0; i < count; i++) {
        size_t runes;
        first_runes(texts[i], SIZE_MAX, &runes);
        all += runes;
    }
    return all;
}

static size_t warnings_of(const struct review *review, struct text *out)
{
    size_t count = 0;
    struct arena *arena = review->findings.arena;
    for (size_t i = 0; i < review->findings.count; i++) {
        AUTO_BUFFER clean = {0};
        const struct finding *finding = &review->findings.items[i];
        if (finding->level != FINDING_WARNING)
            continue;
        text_clean(&clean, text_of(finding_text(arena, finding)), ERROR_TEXT_MAX);
        out[count++] =
            (struct text){arena_copy(arena, buffer_text(&clean).at, clean.len), clean.len};
    }
    return count;
}

static void write_warnings(struct buffer *out, const struct review *review)
{
    size_t used = 0;
    struct text *texts =
        arena_new_array(review->findings.arena, struct text, review->findings.count + 1);
    size_t count = warnings_of(review, texts);
    bool is_long = runes_in_all(texts, count) > WARNINGS_RUNES;
    for (size_t i = 0; i < count; i++) {
        size_t runes;
        struct text text = first_runes(texts[i], is_long ? WARNING_RUNES : SIZE_MAX, &runes);
        used += runes;
        if (used > WARNINGS_RUNES)
            break;
        buffer_add_text(out, i ? "," : ",\"warnings\":[");
        value_write_json_text(out, text);
    }
    buffer_add_text(out, count ? "]" : "");
}

static void write_reply(struct buffer *out, const struct review *review)
{
    bool is_allowed = !findings_errors(&review->findings);
    buffer_add_text(out, "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                         "\"response\":{\"uid\":");
    value_write_json_text(out, value_text_at(review->request, "uid"));
    buffer_add_text(out, is_allowed ? ",\"allowed\":true" : ",\"allowed\":false");
    if (!is_allowed) {
        buffer_add_text(out, ",\"status\":{\"code\":403,\"reason\":\"Invalid\",\"message\":");
        value_write_json_text(out, text_of(faults_joined(review)));
        buffer_add_char(out, '}');
    }
    write_warnings(out, review);
    buffer_add_text(out, "}}");
}

bool review_answer(struct arena *arena, const struct review_rules *rules, const struct kind *kind,
                   struct text body, struct buffer *out, struct error *err)
{
    struct review review = {
        .rules = rules,
        .kind = kind,
        .findings = {.arena = arena, .patterns = rules->patterns},
    };
    if (!read_request(arena, body, &review.request, err))
        return false;
    judge(&review);
    write_reply(out, &review);
    return true;
}
