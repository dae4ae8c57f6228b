#include "controllers/intent/model.h"
#include "controllers/intent/publication_reconcile.h"
#include "controllers/intent/verify.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"

// Whether names stand, and are gone, by what authoritative name servers answer.

enum {
    SECOND_MS = 1000,
    OFTEN_MS = 60 * SECOND_MS,   // until the record's timeoutSeconds are over
    SELDOM_MS = 600 * SECOND_MS, // from then on
    QUESTIONS_MAX = 200,         // of one decision; names that are proven make room for others,
    TURN_MS = 30 * SECOND_MS,    // and those that are not take turns
    TARGET_TYPES = 3,
    QUESTIONS_OF_NAME = 3, // to one server at most: for the name, and for its owner by two types
    QUESTIONS_OF_GONE = 2 * TARGET_TYPES,
};

struct check {
    struct publication_reconcile *reconcile;
    const struct publication_record *record;
    int64_t since_s; // what is answered from then on counts
    bool is_overdue;
    const char *server;               // that is asked
    const struct answer_view *answer; // of that server; NULL: none yet
    bool is_pending;                  // a question has no answer yet
};

// ---- questions ----------------------------------------------------------------------------------

// The longer it takes, the less often.
static int64_t good_for_ms(const struct check *check)
{
    int64_t age_ms = check->reconcile->in->now_ms - check->since_s * SECOND_MS;
    if (check->is_overdue)
        return SELDOM_MS;
    return age_ms < SECOND_MS ? SECOND_MS : age_ms < OFTEN_MS ? age_ms : OFTEN_MS;
}

static struct check open_check(struct publication_reconcile *reconcile,
                               const struct publication_record *record, int64_t since_s)
{
    struct check check = {.reconcile = reconcile, .record = record, .since_s = since_s};
    int64_t end_ms = (since_s + record->spec->verify_timeout_s) * SECOND_MS;
    check.is_overdue = reconcile->in->now_ms >= end_ms;
    if (!check.is_overdue)
        decision_wake_at(reconcile->out, end_ms);
    return check;
}

static void ask(struct check *check, struct text name, struct text type)
{
    struct publication_reconcile *reconcile = check->reconcile;
    struct value *about = value_make(reconcile->arena, VALUE_MAP);
    const char *backend = verify_backend_name(reconcile->arena, check->record->written.namespace_,
                                              check->record->written.name);
    int64_t good_ms = good_for_ms(check);
    value_put_text(reconcile->arena, about, "address", check->server);
    value_set(about, TEXT("name"), value_make_text(reconcile->arena, name));
    value_set(about, TEXT("type"), value_make_text(reconcile->arena, type));
    *decision_add_question(reconcile->out, reconcile->arena) = (struct question){
        .backend = backend, .name = "answers", .about = about, .good_for_ms = good_ms};
    decision_wake_at(reconcile->out, reconcile->in->now_ms + good_ms);
    reconcile->verify_questions++;
    check->answer = snapshot_answer(reconcile->in, backend, "answers", about);
    if (check->answer && check->answer->answered_ms < check->since_s * SECOND_MS)
        check->answer = NULL;
    check->is_pending |= !check->answer;
}

// ---- turns --------------------------------------------------------------------------------------

// Questions that the names of one record which drains may ask in one decision, and all that stand.
static size_t share_of_questions(const struct publication_reconcile *reconcile)
{
    return QUESTIONS_MAX / (reconcile->record_count + 1);
}

// Which of so many names comes first now, where each takes that many questions at most: no name is
// skipped from one turn to the next.
static size_t first_in_turn(const struct publication_reconcile *reconcile, size_t total,
                            size_t questions)
{
    size_t step = share_of_questions(reconcile) / questions;
    size_t turn = (size_t)(reconcile->in->now_ms / TURN_MS);
    return total ? turn * (step ? step : 1) % total : 0;
}

// May one more name ask? If not, it has its turn later.
static bool may_ask(struct publication_reconcile *reconcile, size_t limit)
{
    if (reconcile->verify_questions < limit)
        return true;
    decision_wake_at(reconcile->out, (reconcile->in->now_ms / TURN_MS + 1) * TURN_MS);
    return false;
}

// ---- answers ------------------------------------------------------------------------------------

static bool has_value(const struct check *check, enum record_type type, struct text target)
{
    struct text canonical = record_value_canonical(check->reconcile->arena, type, target);
    value_each (value, value_list_at(check->answer->value, "values"))
        if (text_equal(value_text(value), canonical))
            return true;
    return false;
}

static bool is_equal(const struct check *check, enum record_type type,
                     const struct published_name *name, bool may_have_more)
{
    size_t count = value_count(value_list_at(check->answer->value, "values"));
    for (size_t i = 0; i < name->target_count; i++)
        if (!has_value(check, type, name->targets[i]))
            return false;
    return may_have_more ? count >= name->target_count : count == name->target_count;
}

static bool is_authoritative(const struct check *check)
{
    const struct value *value = check->answer->value;
    return value_bool_at(value, "authoritative", false) &&
           (text_is(value_text_at(value, "rcode"), "NOERROR") ||
            text_is(value_text_at(value, "rcode"), "NXDOMAIN"));
}

static const char *list_values(const struct check *check)
{
    enum { SHOWN_MAX = 3 };
    AUTO_BUFFER out = {0};
    size_t count = 0;
    value_each (value, value_list_at(check->answer->value, "values")) {
        if (count++ >= SHOWN_MAX)
            continue;
        buffer_add_text(&out, count > 1 ? ", " : "");
        text_clean(&out, value_text(value), DNSPUBLICATION_MESSAGE_MAX);
    }
    if (count > SHOWN_MAX)
        buffer_printf(&out, " and %zu more", count - SHOWN_MAX);
    return out.len ? arena_copy(check->reconcile->arena, out.at, out.len) : "nothing";
}

// Why an answer proves nothing; REASON_NONE: it might.
static enum reason doubt(const struct check *check, const char **message)
{
    struct arena *arena = check->reconcile->arena;
    const struct answer_view *answer = check->answer;
    if (!answer || !answer->is_ok) {
        *message = answer && answer->error
                       ? arena_copy_text(arena, answer->error->text)
                       : arena_printf(arena, "%s has not answered yet", check->server);
        return REASON_NOT_ANSWERED;
    }
    if (is_authoritative(check))
        return REASON_NONE;
    *message = arena_printf(arena,
                            "%s answered %.*s, and not with authority: let it answer for the zone, "
                            "or name other servers in spec.verify",
                            check->server, TEXT_ARGS(value_text_at(answer->value, "rcode")));
    return REASON_LAME_SERVER;
}

// ---- whose a name is ----------------------------------------------------------------------------

// By the ownership record at the server; UNKNOWN: there is none in that registry, it was not
// answered, or it cannot be read.
enum ownership { UNKNOWN, OURS, OTHERS, NOBODYS };

// The owner that an ownership record of external-dns names; no text: it is none.
static struct text owner_in(struct text value)
{
    static const struct text key = {"external-dns/owner=", 19};
    struct text piece;
    while (text_cut(&value, ',', &piece)) {
        if (!text_starts(piece, key.at))
            continue;
        struct text owner = {piece.at + key.len, piece.len - key.len};
        owner.len -= text_ends(owner, "\"");
        return owner;
    }
    return (struct text){0};
}

// Asks the server that was asked for the name. `owner` is whose it is, of OTHERS.
static enum ownership ask_owner(struct check *check, struct text name, struct text type,
                                struct text *owner)
{
    AUTO_BUFFER at = {0};
    enum ownership found = NOBODYS;
    const struct update_record *spec = check->record->spec;
    const struct registry_affix affix = update_record_affix(spec);
    if (!text_is(update_record_registry(spec), "txt"))
        return UNKNOWN;
    registry_name_write(&at, name, type, &affix);
    ask(check, text_of(arena_copy(check->reconcile->arena, at.at, at.len)), TEXT("TXT"));
    if (!check->answer || !check->answer->is_ok || !is_authoritative(check))
        return UNKNOWN;
    value_each (value, value_list_at(check->answer->value, "values")) {
        struct text named = owner_in(value_text(value));
        if (text_equal(named, update_record_owner(spec)))
            return OURS;
        if (named.len)
            *owner = named;
        found = named.len || found == OTHERS ? OTHERS : UNKNOWN;
    }
    return found;
}

// ---- names that stand ---------------------------------------------------------------------------

// Asks whose that is which the server has for the name in place of our set: of that type, a host
// name in place of addresses, or the other way round.
static enum ownership ask_rival(struct check *check, const struct published_name *name,
                                struct text alias, struct text *owner)
{
    const struct value *value = check->answer->value;
    bool has_values = value_count(value_list_at(value, "values"));
    bool may_have_addresses =
        text_is(name->type, "CNAME") && text_is(value_text_at(value, "rcode"), "NOERROR");
    if (has_values || alias.len)
        return ask_owner(check, name->name, has_values ? name->type : TEXT("CNAME"), owner);
    if (!may_have_addresses)
        return UNKNOWN;
    enum ownership of_4 = ask_owner(check, name->name, TEXT("A"), owner);
    enum ownership of_6 = ask_owner(check, name->name, TEXT("AAAA"), owner);
    return of_4 == OTHERS ? of_4 : of_6;
}

// External-dns leaves a name of another owner alone without a word.
static void explain_mismatch(struct check *check, const struct published_name *name,
                             enum reason *reason, const char **message)
{
    struct text owner = {0};
    struct arena *arena = check->reconcile->arena;
    struct text alias = value_text_at(check->answer->value, "alias");
    *reason = REASON_MISMATCH;
    *message = alias.len ? arena_printf(arena, "%s answers with the host name %.*s", check->server,
                                        TEXT_ARGS(alias))
                         : arena_printf(arena, "%s answers %s", check->server, list_values(check));
    if (ask_rival(check, name, alias, &owner) != OTHERS)
        return;
    *reason = REASON_OWNER_MISMATCH;
    *message = arena_printf(arena,
                            "%s: the name belongs to the owner %.*s, so it is left alone; remove "
                            "it there, or take it over with spec.adoptOwner",
                            *message, TEXT_ARGS(owner));
}

static bool is_verified(struct check *check, const struct published_name *name, bool may_have_more,
                        enum reason *reason, const char **message)
{
    enum record_type type;
    if (!record_type_parse(name->type, &type))
        return false;
    ask(check, name->name, name->type);
    *reason = doubt(check, message);
    if (*reason)
        return false;
    if (is_equal(check, type, name, may_have_more))
        return true;
    explain_mismatch(check, name, reason, message);
    return false;
}

// Sets the name's targets to those of all clusters, as a name server answers with all of them.
static void collect_targets(const struct publication_reconcile *reconcile,
                            const struct intent_endpoint *endpoint, struct published_name *name)
{
    struct arena *arena = reconcile->arena;
    struct text *targets = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < reconcile->endpoint_count; i++) {
        const struct intent_endpoint *other = &reconcile->endpoints[i];
        if (other->record->object != endpoint->record->object ||
            !text_equal(other->service->name, name->name))
            continue;
        for (size_t at = 0; at < other->set_count; at++) {
            const struct endpoint *set = &other->sets[at];
            arena_reserve(arena, &targets, &capacity, count + set->target_count);
            for (size_t j = 0; text_equal(set->type, name->type) && j < set->target_count; j++)
                targets[count++] = set->targets[j];
        }
    }
    name->targets = targets;
    name->target_count = count ? endpoint_sort_targets(targets, count) : 0;
}

// Are the targets as before? The status shows the first of them alone.
static bool is_same(const struct published_name *name, const struct published_name *before)
{
    size_t count = name->target_count < DNSPUBLICATION_TARGETS_MAX ? name->target_count
                                                                   : DNSPUBLICATION_TARGETS_MAX;
    if (before->target_count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!text_equal(name->targets[i], before->targets[i]))
            return false;
    return true;
}

// While it is not known anew, what was found of the name goes on being said. False: that is
// nothing.
static bool keep_finding(const struct verified_name *verified)
{
    const struct published_name *before = verified->before;
    if (!before || before->state != verified->name->state || verified->name->reason ||
        !is_same(verified->name, before) ||
        (before->reason != REASON_MISMATCH && before->reason != REASON_OWNER_MISMATCH &&
         before->reason != REASON_NOT_ANSWERED && before->reason != REASON_LAME_SERVER))
        return false;
    verified->name->reason = before->reason;
    verified->name->message = before->message;
    return true;
}

static void ask_servers(struct publication_reconcile *reconcile,
                        const struct publication_record *record,
                        const struct verified_name *verified)
{
    bool may_have_more = reconcile->resolved.publication.share_group.len;
    struct published_name *name = verified->name;
    struct published_name wanted = *name;
    size_t count;
    enum reason reason = REASON_NONE;
    const char *message = NULL;
    const char *const *servers = verify_servers(reconcile->arena, record->spec, &count);
    if (!count)
        return;
    struct check check = open_check(reconcile, record, name->since_s);
    bool is_good = true;
    collect_targets(reconcile, verified->endpoint, &wanted);
    for (size_t i = 0; i < count; i++) {
        enum reason why = REASON_NONE;
        const char *text = NULL;
        check.server = servers[i];
        bool is_right = is_verified(&check, &wanted, may_have_more, &why, &text);
        is_good &= is_right;
        if (!is_right && !reason) {
            reason = why;
            message = text;
        }
    }
    if (is_good)
        name->state = NAME_VERIFIED;
    else if (check.is_pending && keep_finding(verified))
        return;
    else if ((check.is_overdue || reason == REASON_OWNER_MISMATCH) && !name->reason) {
        name->reason = reason;
        name->message = message;
    }
}

// A name that was verified is not asked for again until it changes.
static void verify_name(struct publication_reconcile *reconcile,
                        const struct verified_name *verified)
{
    struct published_name *name = verified->name;
    const struct published_name *before = verified->before;
    const struct publication_record *record =
        publication_find_record(reconcile, verified->endpoint->record->object);
    if (!record || !record->spec || !record->spec->is_verified ||
        (name->state != NAME_READ && name->state != NAME_SYNCED))
        return;
    if (before && before->state == NAME_VERIFIED && is_same(name, before))
        name->state = NAME_VERIFIED;
    else if (may_ask(reconcile, QUESTIONS_MAX))
        ask_servers(reconcile, record, verified);
    else
        keep_finding(verified);
}

static size_t most_servers(const struct publication_reconcile *reconcile)
{
    size_t most = 1;
    for (size_t i = 0; i < reconcile->record_count; i++) {
        size_t count = 0;
        if (reconcile->records[i].spec)
            verify_servers(reconcile->arena, reconcile->records[i].spec, &count);
        most = count > most ? count : most;
    }
    return most;
}

void publication_verify_names(struct publication_reconcile *reconcile,
                              const struct verified_name *names, size_t count)
{
    size_t first = first_in_turn(reconcile, count, most_servers(reconcile) * QUESTIONS_OF_NAME);
    for (size_t i = 0; i < count; i++)
        verify_name(reconcile, &names[(first + i) % count]);
}

// ---- names that go ------------------------------------------------------------------------------

static bool is_ours(const struct check *check, enum record_type type)
{
    const struct published_record *written = &check->record->written;
    for (size_t i = 0; i < written->target_count; i++)
        if (has_value(check, type, written->targets[i]))
            return true;
    return false;
}

static bool has_target_of(struct arena *arena, const struct published_record *written,
                          enum record_type type)
{
    struct text out;
    struct error err;
    for (size_t i = 0; i < written->target_count; i++)
        if (record_value_normalise(arena, type, written->targets[i], &out, &err))
            return true;
    return false;
}

// A server that gives no usable answer counts no more when the record's time is over; one that has
// had no time to answer, as the name had no turn before, does.
static bool is_gone(struct check *check, struct text name, enum record_type type,
                    const char **message)
{
    struct text owner;
    struct text type_name = text_of(record_type_name(type));
    ask(check, name, type_name);
    if (doubt(check, message))
        return check->is_overdue && check->answer;
    if (!is_ours(check, type))
        return true;
    *message = arena_printf(check->reconcile->arena, "%s still answers %s for %.*s", check->server,
                            list_values(check), TEXT_ARGS(name));
    enum ownership whose = ask_owner(check, name, type_name, &owner);
    return whose == OTHERS || whose == NOBODYS; // somebody else has our targets, too
}

// Does somebody publish the name by now, so that its answers are his?
static bool is_taken(const struct check *check, struct text name)
{
    const struct publication_reconcile *reconcile = check->reconcile;
    for (size_t i = 0; reconcile->is_wanted && i < reconcile->endpoint_count; i++)
        if (reconcile->endpoints[i].set_count &&
            text_equal(reconcile->endpoints[i].service->name, name))
            return true;
    return intent_model_is_taken(
        &reconcile->reader, reconcile->context.publication,
        &(struct record_name){check->record->object, check->record->spec, name});
}

static bool name_is_gone(struct check *check, struct text name, const char *const *servers,
                         size_t count, const char **message)
{
    static const enum record_type types[TARGET_TYPES] = {RECORD_A, RECORD_AAAA, RECORD_CNAME};
    bool is_all_gone = true;
    if (is_taken(check, name))
        return true;
    for (size_t i = 0; i < count * TARGET_TYPES; i++) {
        enum record_type type = types[i % TARGET_TYPES];
        check->server = servers[i / TARGET_TYPES];
        if (has_target_of(check->reconcile->arena, &check->record->written, type))
            is_all_gone &= is_gone(check, name, type, message);
    }
    return is_all_gone;
}

const char *publication_verify_gone(struct publication_reconcile *reconcile,
                                    struct publication_record *record)
{
    size_t count, kept = 0;
    const char *message = NULL;
    struct published_record *written = &record->written;
    const char *const *servers = verify_servers(reconcile->arena, record->spec, &count);
    if (!count || !written->target_count)
        return NULL;
    struct check check = open_check(reconcile, record, written->draining_since_s);
    size_t limit = reconcile->verify_questions + share_of_questions(reconcile);
    size_t first = first_in_turn(reconcile, written->name_count, count * QUESTIONS_OF_GONE);
    struct text *names = arena_new_array(reconcile->arena, struct text, written->name_count + 1);
    bool *are_gone = arena_new_array(reconcile->arena, bool, written->name_count + 1);
    for (size_t i = 0; i < written->name_count; i++) {
        size_t at = (first + i) % written->name_count;
        are_gone[at] = may_ask(reconcile, limit) &&
                       name_is_gone(&check, written->names[at], servers, count, &message);
    }
    for (size_t i = 0; i < written->name_count; i++)
        if (!are_gone[i])
            names[kept++] = written->names[i];
    written->names = names;
    written->name_count = kept;
    return kept ? message ? message : "name servers are being asked" : NULL;
}
