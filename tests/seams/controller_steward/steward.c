#include "controllers/steward/steward_controller.h"

#include "controllers/steward/events.def"
#include "kinds/estate/estate_kind.h"
#include "kinds/steward/steward_kind.h"

#define DOMAIN "estate.example"
#define NOTICE_NAMESPACE "estate"

enum { PROBES = 32, GOOD_FOR_MS = 10 * 60 * 1000 };
enum { TTL_S = 300, SECOND_MS = 1000, MINUTE_MS = 60 * SECOND_MS };
enum { INPUT_HOUSES, INPUT_GUESTS, INPUT_NOTICES, INPUTS };

struct reconcile {
    struct arena *arena;
    const struct snapshot *snapshot;
    const struct steward_settings *settings;
    const char *backend;
    struct decision *out;
};

// ---- the book -----------------------------------------------------------------------------------

static void open_book(struct reconcile *reconcile)
{
    struct arena *arena = reconcile->arena;
    const struct steward_settings *settings = reconcile->settings;
    struct value *config = value_make(arena, VALUE_MAP);
    value_put_text(arena, config, "path", settings->book);
    value_put_text(arena, config, "command", arena_printf(arena, "%s.keeper", settings->book));
    struct backend_want *backend = decision_add_backend(reconcile->out, arena);
    *backend = (struct backend_want){
        .name = reconcile->backend,
        .provider = "larder",
        .registry = settings->book,
        .config = config,
        .max_in_flight = PROBES,
        .retry_base_ms = SECOND_MS,
        .retry_max_ms = MINUTE_MS,
        .retry_attempts = 5,
        .retry_slow_ms = 10 * MINUTE_MS,
        .linger_ms = MINUTE_MS,
    };
}

static void claim(struct reconcile *reconcile, enum claim_intent intent, struct text owner,
                  struct text value)
{
    struct text *values = arena_new_of(reconcile->arena, struct text);
    *values = value;
    struct claim_want *want = decision_add_claim(reconcile->out, reconcile->arena);
    *want = (struct claim_want){
        .backend = reconcile->backend,
        .registry = reconcile->settings->book,
        .intent = intent,
        .set = {.type = RECORD_TXT,
                .domain = TEXT(DOMAIN),
                .subdomain = owner,
                .ttl_s = TTL_S,
                .values = intent == CLAIM_SET ? values : NULL,
                .value_count = intent == CLAIM_SET,
                .priority = -1,
                .weight = -1,
                .port = -1},
    };
}

static void claim_line(struct reconcile *reconcile, const char *owner, const char *value)
{
    claim(reconcile, CLAIM_SET,
          text_of(arena_printf(reconcile->arena, "%s.%.*s", owner,
                               TEXT_ARGS(reconcile->snapshot->name))),
          text_of(value));
}

static bool is_claimed(const struct decision *out, struct text owner)
{
    for (size_t i = 0; i < out->claim_count; i++)
        if (text_equal(out->claims[i].set.subdomain, owner))
            return true;
    return false;
}

// What was claimed before and is not any more.
static void claim_removals(struct reconcile *reconcile)
{
    const struct snapshot *snapshot = reconcile->snapshot;
    for (size_t i = 0; i < snapshot->receipt_count; i++) {
        const struct receipt *receipt = &snapshot->receipts[i];
        bool is_gone = receipt->intent == CLAIM_REMOVE && receipt->state == RECEIPT_SETTLED;
        if (!is_gone && !is_claimed(reconcile->out, receipt->subdomain))
            claim(reconcile, CLAIM_REMOVE, receipt->subdomain, (struct text){0});
    }
}

static void claim_lines(struct reconcile *reconcile, struct text motto, size_t houses)
{
    struct arena *arena = reconcile->arena;
    const struct steward_settings *settings = reconcile->settings;
    size_t guests = reconcile->snapshot->inputs[INPUT_GUESTS].count;
    struct text rules = settings->rules.content, line = {0};
    const char *greeting = settings->greeting ? settings->greeting : "";
    claim_line(reconcile, "houses", arena_printf(arena, "%zu %zu", houses, guests));
    claim_line(reconcile, "motto", arena_printf(arena, "%s: %.*s", greeting, TEXT_ARGS(motto)));
    if (settings->gate)
        claim_line(reconcile, "gate", settings->gate);
    if (rules.at)
        text_cut(&rules, '\n', &line);
    for (const char *const *wing = settings->wings; wing && *wing; wing++)
        claim_line(reconcile, *wing, arena_copy(arena, line.at ? line.at : "", line.len));
}

// ---- the rooms ----------------------------------------------------------------------------------

struct rooms {
    size_t answered;
    size_t count;
};

// One question for each house that has an address.
static struct rooms ask_houses(struct reconcile *reconcile)
{
    struct arena *arena = reconcile->arena;
    const struct input_objects *houses = &reconcile->snapshot->inputs[INPUT_HOUSES];
    struct rooms rooms = {0};
    for (size_t i = 0; i < houses->count; i++) {
        struct estate house;
        struct value *about = value_make(arena, VALUE_MAP);
        estate_unpack(arena, object_spec(houses->objects[i]), &house);
        value_set(about, TEXT("address"), value_make_text(arena, house.address));
        *decision_add_question(reconcile->out, arena) =
            (struct question){.backend = reconcile->backend,
                              .name = "rooms",
                              .about = about,
                              .good_for_ms = GOOD_FOR_MS};
        const struct answer_view *answer =
            snapshot_answer(reconcile->snapshot, reconcile->backend, "rooms", about);
        if (!answer || !answer->is_ok)
            continue;
        rooms.answered++;
        rooms.count += (size_t)value_int_at(answer->value, "rooms", 0);
    }
    return rooms;
}

// ---- the notices --------------------------------------------------------------------------------

struct notice {
    const char *name;
    const char *const *keys; // all that a steward ever writes into it, NULL-terminated
    struct value *data;      // those that it writes now
};

static const struct object *find_notice(const struct snapshot *snapshot, const char *name)
{
    const struct input_objects *notices = &snapshot->inputs[INPUT_NOTICES];
    for (size_t i = 0; i < notices->count; i++)
        if (text_is(object_namespace(notices->objects[i]), NOTICE_NAMESPACE) &&
            text_is(object_name(notices->objects[i]), name))
            return notices->objects[i];
    return NULL;
}

static struct text text_of_key(const struct estate *now, const char *key)
{
    for (size_t i = 0; i < now->text_count; i++)
        if (text_is(now->texts[i].key, key))
            return now->texts[i].value;
    return (struct text){0};
}

// What others write into it beside is theirs.
static bool is_up(struct reconcile *reconcile, const struct notice *notice,
                  const struct object *seen)
{
    struct estate now;
    if (!seen)
        return false;
    estate_unpack(reconcile->arena, object_spec(seen), &now);
    for (const char *const *key = notice->keys; *key; key++)
        if (!text_equal(value_text(value_find(notice->data, *key)), text_of_key(&now, *key)))
            return false;
    return true;
}

static struct value *owners_of(struct reconcile *reconcile)
{
    struct arena *arena = reconcile->arena;
    struct value *owner = value_make(arena, VALUE_MAP);
    struct value *list = value_make(arena, VALUE_LIST);
    char uid[37];
    object_write_uid(reconcile->snapshot->subject, uid);
    value_put_text(arena, owner, "apiVersion", ESTATE_GROUP "/v1");
    value_put_text(arena, owner, "kind", steward_kind.name);
    value_put(arena, owner, "name", value_make_text(arena, reconcile->snapshot->name));
    value_put_text(arena, owner, "uid", arena_copy_text(arena, uid));
    value_append(list, owner);
    return list;
}

// What it wrote before and does not write any more goes.
static struct value *data_of(struct reconcile *reconcile, const struct notice *notice,
                             const struct object *seen)
{
    struct value *data = value_copy(reconcile->arena, notice->data);
    for (const char *const *key = notice->keys; seen && *key; key++)
        if (!value_find(data, *key))
            value_set(data, text_of(*key), value_make(reconcile->arena, VALUE_NULL));
    return data;
}

static void keep_notice(struct reconcile *reconcile, const struct notice *notice)
{
    struct arena *arena = reconcile->arena;
    const struct object *seen = find_notice(reconcile->snapshot, notice->name);
    if (!reconcile->snapshot->inputs[INPUT_NOTICES].is_synced || is_up(reconcile, notice, seen))
        return;
    struct value *tree = value_make(arena, VALUE_MAP);
    value_put_text(arena, tree, "metadata.labels[" ESTATE_LABEL "]", "kept");
    value_put(arena, tree, "metadata.ownerReferences", owners_of(reconcile));
    value_set(tree, TEXT("data"), data_of(reconcile, notice, seen));
    struct decision_event *event = arena_new_of(arena, struct decision_event);
    *event = (struct decision_event){
        .reason = EVENT_NOTICE_PUT_UP,
        .text = arena_printf(arena, "the notice %s %s", notice->name, seen ? "changed" : "is up")};
    *decision_add_object(reconcile->out, arena) = (struct object_want){
        .key = {&notice_kind, TEXT(NOTICE_NAMESPACE), text_of(notice->name)},
        .tree = tree,
        .seen = seen,
        .event = event,
    };
}

static void keep_notices(struct reconcile *reconcile, struct text motto, size_t houses)
{
    static const char *const count_keys[] = {"houses", "guests", NULL};
    static const char *const rule_keys[] = {"motto", "gate", NULL};
    struct arena *arena = reconcile->arena;
    size_t guests = reconcile->snapshot->inputs[INPUT_GUESTS].count;
    const char *gate = reconcile->settings->gate;
    struct text name = reconcile->snapshot->name;
    struct notice count = {.name = arena_printf(arena, "%.*s-count", TEXT_ARGS(name)),
                           .keys = count_keys,
                           .data = value_make(arena, VALUE_MAP)};
    struct notice rules = {.name = arena_printf(arena, "%.*s-rules", TEXT_ARGS(name)),
                           .keys = rule_keys,
                           .data = value_make(arena, VALUE_MAP)};
    value_put_text(arena, count.data, "houses", arena_printf(arena, "%zu", houses));
    value_put_text(arena, count.data, "guests", arena_printf(arena, "%zu", guests));
    value_put(arena, rules.data, "motto", value_make_text(arena, motto));
    if (gate)
        value_put_text(arena, rules.data, "gate", gate);
    keep_notice(reconcile, &count);
    keep_notice(reconcile, &rules);
}

// ---- the status ---------------------------------------------------------------------------------

static void report(struct reconcile *reconcile, const struct steward *before, size_t houses,
                   struct rooms rooms)
{
    bool is_all = rooms.answered == houses;
    const struct object *subject = reconcile->snapshot->subject;
    struct conditions conditions = {0};
    const struct error *refused =
        reconcile->out->object_count ? reconcile->snapshot->refused : NULL;
    struct condition ready = {.type = "Ready",
                              .status = is_all ? CONDITION_TRUE : CONDITION_FALSE,
                              .reason = is_all ? REASON_ALL_IN : REASON_SOME_SILENT,
                              .message =
                                  is_all ? "all houses answered" : "a house has not answered",
                              .observed_generation = subject->generation};
    if (refused) {
        ready.status = CONDITION_FALSE;
        ready.reason = REASON_NOTICE_TAKEN;
        ready.message = refused->text;
    }
    conditions_set(&conditions, &before->conditions, ready, reconcile->snapshot->now_ms / 1000);
    reconcile->out->status = steward_status_encode(reconcile->arena, subject->generation, houses,
                                                   rooms.count, &conditions);
    if (!conditions_find(&before->conditions, "Ready"))
        decision_add_event(reconcile->out, false, EVENT_HOUSES_COUNTED,
                           arena_printf(reconcile->arena, "%zu houses", houses));
}

// ---- deciding -----------------------------------------------------------------------------------

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct reconcile reconcile = {
        .arena = snapshot->arena,
        .snapshot = snapshot,
        .settings = snapshot->settings,
        .backend = arena_printf(snapshot->arena, "steward-%.*s", TEXT_ARGS(snapshot->name)),
        .out = out,
    };
    (void)model;
    if (snapshot->subject && !snapshot->subject->deleted_s) {
        struct steward steward;
        size_t houses = snapshot->inputs[INPUT_HOUSES].count;
        steward_unpack(object_spec(snapshot->subject), object_managed(snapshot->subject), &steward);
        struct rooms rooms = {0};
        if (reconcile.settings->book) {
            claim_lines(&reconcile, steward.motto, houses);
            rooms = ask_houses(&reconcile);
        }
        keep_notices(&reconcile, steward.motto, houses);
        report(&reconcile, &steward, houses, rooms);
    }
    claim_removals(&reconcile);
    if (out->claim_count)
        open_book(&reconcile);
}

// ---- the controller -----------------------------------------------------------------------------

static const struct input inputs[INPUTS] = {
    [INPUT_HOUSES] = {.kind = &house_kind, .labels = ESTATE_LABEL},
    [INPUT_GUESTS] = {.kind = &guest_kind, .labels = ESTATE_LABEL},
    [INPUT_NOTICES] = {.kind = &notice_kind, .labels = ESTATE_LABEL "=kept"},
};

static const char *const follow[] = {"get", "list", "watch", NULL};
static const char *const keep[] = {"get", "list", "watch", "create", "patch", "delete", NULL};
static const char *const patch[] = {"patch", NULL};

static const struct kube_right rights[] = {
    {.group = ESTATE_GROUP,
     .resource = "stewards",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .why = "Stewards, and how they go about it."},
    {.group = ESTATE_GROUP,
     .resource = "stewards/status",
     .verbs = patch,
     .scope = RIGHT_CLUSTER,
     .why = "What they found."},
    {.group = ESTATE_GROUP,
     .resource = "houses",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .why = "Houses that they look after."},
    {.group = ESTATE_GROUP,
     .resource = "guests",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .why = "Guests of theirs."},
    {.group = ESTATE_GROUP,
     .resource = "notices",
     .verbs = keep,
     .scope = RIGHT_OBJECTS,
     .why = "Notices that they put up."},
    {0},
};

static const struct controller_setting settings[] = {
    {.name = "steward-book",
     .type = SETTING_TEXT,
     .placeholder = "FILE",
     .doc = "The file in which stewards keep their lines; beside it stands FILE.keeper, a program "
            "that is run whenever it has changed. Without it there are none.",
     .offset = offsetof(struct steward_settings, book)},
    {.name = "steward-greeting",
     .type = SETTING_TEXT,
     .doc = "Words that stand before the motto of each steward.",
     .offset = offsetof(struct steward_settings, greeting)},
    {.name = "steward-gate",
     .type = SETTING_ADDRESS,
     .doc = "Where visitors knock.",
     .offset = offsetof(struct steward_settings, gate)},
    {.name = "steward-wings",
     .type = SETTING_LIST,
     .placeholder = "NAME",
     .doc = "Wings of the houses; the rules hang in each.",
     .offset = offsetof(struct steward_settings, wings)},
    {.name = "steward-rules",
     .type = SETTING_FILE,
     .doc = "Rules of the house; the first line counts.",
     .offset = offsetof(struct steward_settings, rules)},
};

const struct controller steward_controller = {
    .name = "steward",
    .kind = &steward_kind,
    .inputs = inputs,
    .input_count = COUNT_OF(inputs),
    .decide = decide,
    .rights = rights,
    .settings = settings,
    .setting_count = COUNT_OF(settings),
    .settings_size = sizeof(struct steward_settings),
};
