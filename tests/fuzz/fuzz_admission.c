#include "base/must.h"
#include "base/value.h"
#include "frontends/admission/review.h"
#include "kinds/kinds.h"
#include "store/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

// Only what passed every check comes here, and can be made an object.
static void judge(void *context, const struct kind *kind, const struct value *object,
                  struct findings *findings)
{
    (void)context;
    must(!findings_errors(findings) && object->type == VALUE_MAP);
    if (value_text_at(object, "metadata.resourceVersion").len > UINT8_MAX)
        return;
    object_unref(object_new(kind, NULL, object));
    findings_add(findings, FINDING_WARNING, "", "judged");
}

// A reply is a whole AdmissionReview with the uid that came, or a refusal with a text.
static void check_reply(struct arena *arena, struct text body, struct text reply)
{
    static const struct value_limits limits = {.octets = REVIEW_OCTETS_MAX, .depth = 100};
    struct error err;
    const struct value *review = value_read_json(arena, body, &limits, &err);
    const struct value *answer = value_read_json(arena, reply, &limits, &err);
    must(review && answer);
    const struct value *response = value_find(answer, "response");
    must(text_equal(value_text_at(response, "uid"),
                    value_text_at(value_find(review, "request"), "uid")));
    bool is_allowed = value_bool_at(response, "allowed", false);
    must(is_allowed == !value_find(response, "status"));
    must(is_allowed || value_text_at(value_find(response, "status"), "message").len);
    must(!value_find(response, "patch") && !value_find(response, "patchType"));
}

static void check_kind(struct arena *arena, const struct kind *kind, struct text body)
{
    AUTO_BUFFER reply = {0};
    struct error err = {0};
    const struct review_rules rules = {.judge = judge};
    if (review_answer(arena, &rules, kind, body, &reply, &err))
        check_reply(arena, body, buffer_text(&reply));
    else
        must(err.fault == FAULT_SPEC && err.status == 400 && err.text[0] && !reply.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct text body = {(const char *)at, len};
    check_kind(arena, NULL, body);
    for (size_t i = 0; i < kind_count; i++)
        if (!kinds[i]->is_foreign)
            check_kind(arena, kinds[i], body);
    return 0;
}
