#include <string.h>

#include "scenarios/play.h"

// Pi-holes: what happens to them, and what is seen there.

static bool list_word(const char *word, enum pihole_list *list, struct error *err)
{
    *list = !strcmp(word, "hosts") ? PIHOLE_HOSTS : PIHOLE_CNAMES;
    return *list == PIHOLE_HOSTS || !strcmp(word, "cnames") ||
           fail(err, "a Pi-hole has hosts and cnames, not %s", word);
}

// The text with the id of the Signpost that plays for each {owner}.
static const char *with_owner(struct arena *arena, const struct stage *stage, const char *text)
{
    AUTO_BUFFER out = {0};
    static const char mark[] = "{owner}";
    for (const char *hit; (hit = strstr(text, mark)); text = hit + sizeof mark - 1) {
        buffer_add(&out, text, (size_t)(hit - text));
        buffer_add_text(&out, stage_owner(stage));
    }
    buffer_add_text(&out, text);
    return arena_copy(arena, out.at, out.len);
}

// ---- where names go -----------------------------------------------------------------------------

static bool read_settings(struct arena *arena, const struct step *step,
                          struct pihole_targets *settings, struct error *err)
{
    const struct {
        const char *name;
        int64_t *number;
    } numbers[] = {{"verify", &settings->verify_s},
                   {"restart-min", &settings->restart_min_s},
                   {"max-delete", &settings->max_delete_percent}};
    const char *ip = step_option(step, "target-ip");
    settings->adopts = step_option(step, "adopts") != NULL;
    settings->has_finalizer = step_option(step, "finalizer") != NULL;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const char *given = step_option(step, numbers[i].name);
        if (given)
            *numbers[i].number = step_number(given);
    }
    return !ip || pihole_addresses_read(arena, text_of(ip), &settings->addresses, err);
}

// piholes [target-ip=192.0.2.50] [verify=60] [restart-min=10] [max-delete=30] [adopts] [finalizer]
//     <<END: those of PIHOLE_TARGETS, tokenEnv being the token itself; from the next start on
bool play_piholes(struct play *play, const struct step *step, struct error *err)
{
    struct pihole_targets settings = pihole_targets_defaults;
    return read_settings(play->stage->piholes.arena, step, &settings, err) &&
           stage_set_piholes(play->stage, &settings, step->text ? step->text : "", err);
}

// ---- what happens -------------------------------------------------------------------------------

struct deed {
    struct stage *stage;
    struct model_pihole *pihole;
    const struct step *step;
    int64_t now_ms;
};

static bool do_set(const struct deed *deed, struct error *err)
{
    return model_pihole_set(deed->pihole, deed->now_ms, step_word(deed->step, 3),
                            step_word(deed->step, 4), err);
}

static bool do_up(const struct deed *deed, struct error *err)
{
    return model_pihole_set(deed->pihole, deed->now_ms, "up", "true", err);
}

static bool do_down(const struct deed *deed, struct error *err)
{
    return model_pihole_set(deed->pihole, deed->now_ms, "up", "false", err);
}

static bool do_puts(const struct deed *deed, struct error *err)
{
    enum pihole_list list;
    if (!list_word(step_word(deed->step, 3), &list, err))
        return false;
    CLEANUP(arena) struct arena *arena = arena_new();
    model_pihole_put(deed->pihole, list, with_owner(arena, deed->stage, step_word(deed->step, 4)),
                     strcmp(step_word(deed->step, 5), "loosely") != 0);
    return true;
}

static bool do_takes(const struct deed *deed, struct error *err)
{
    enum pihole_list list;
    CLEANUP(arena) struct arena *arena = arena_new();
    const char *entry = with_owner(arena, deed->stage, step_word(deed->step, 4));
    return list_word(step_word(deed->step, 3), &list, err) &&
           (model_pihole_take(deed->pihole, list, entry) || fail(err, "it is not there"));
}

static bool do_seats(const struct deed *deed, struct error *err)
{
    (void)err;
    model_pihole_seat_others(deed->pihole, deed->now_ms,
                             (size_t)step_number(step_word(deed->step, 3)));
    return true;
}

static bool do_forgets(const struct deed *deed, struct error *err)
{
    (void)err;
    model_pihole_forget_sessions(deed->pihole);
    return true;
}

static const struct {
    const char *word;
    bool (*call)(const struct deed *deed, struct error *err);
} deeds[] = {
    {"set", do_set},     {"up", do_up},       {"down", do_down},       {"puts", do_puts},
    {"takes", do_takes}, {"seats", do_seats}, {"forgets", do_forgets},
};

// pihole NAME URL [password=...]: there is one from now on. Then
// pihole NAME set SWITCH VALUE | up | down
//     | puts hosts|cnames ENTRY [loosely]   a person does, and keeps it, if not loosely
//     | takes hosts|cnames ENTRY            a person takes it away
//     | seats COUNT | forgets               browsers take so many; all sessions are gone
bool play_pihole(struct play *play, const struct step *step, struct error *err)
{
    struct stage *stage = play->stage;
    const struct deed deed = {stage, stage_pihole(stage, step_word(step, 1)), step,
                              loop_mono_ms(stage->loop)};
    const char *password = step_option(step, "password");
    if (!deed.pihole) {
        stage_add_pihole(stage, step_word(step, 1), step_word(step, 2), password ? password : "");
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(deeds); i++)
        if (!strcmp(deeds[i].word, step_word(step, 2)))
            return deeds[i].call(&deed, err);
    return fail(err, "nothing like that happens to a Pi-hole: %s", step_word(step, 2));
}

// ---- what is seen -------------------------------------------------------------------------------

static void write_list(const struct model_pihole *pihole, enum pihole_list list, struct buffer *out)
{
    for (size_t i = 0; i < model_pihole_count(pihole, list); i++)
        buffer_printf(out, "%s\n", model_pihole_at(pihole, list, i));
}

static bool check_lines(const struct stage *stage, const struct step *step,
                        const struct buffer *got, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const char *wanted = with_owner(arena, stage, step->text ? step->text : "");
    return text_is(buffer_text(got), wanted) ||
           fail(err, "it is %.*s", TEXT_ARGS(buffer_text(got)));
}

static bool expect_list(const struct stage *stage, const struct model_pihole *pihole,
                        const struct step *step, struct error *err)
{
    enum pihole_list list;
    AUTO_BUFFER got = {0};
    if (!list_word(step_word(step, 3), &list, err))
        return false;
    write_list(pihole, list, &got);
    return check_lines(stage, step, &got, err);
}

static bool expect_served(const struct stage *stage, const struct model_pihole *pihole,
                          const struct step *step, struct error *err)
{
    int64_t now_ms = loop_mono_ms(stage->loop);
    AUTO_BUFFER got = {0};
    if (model_pihole_is_dumb(pihole, now_ms))
        return fail(err, "it answers no query");
    model_pihole_write_hosts(pihole, now_ms, &got);
    model_pihole_write_cnames(pihole, now_ms, &got);
    return check_lines(stage, step, &got, err);
}

static bool expect_counter(const struct stage *stage, const struct model_pihole *pihole,
                           const struct step *step, struct error *err)
{
    uint64_t value;
    if (!model_pihole_counter(pihole, loop_mono_ms(stage->loop), step_word(step, 3), &value))
        return fail(err, "nothing like that is counted: %s", step_word(step, 3));
    return value == (uint64_t)step_number(step_word(step, 4)) ||
           fail(err, "there are %llu", (unsigned long long)value);
}

// expect pihole NAME hosts|cnames <<END: the whole list as it is stored; without text: it is empty;
//     {owner} is the id of the Signpost that plays
// expect pihole NAME served <<END: what it answers, as lines of a hosts file and of dnsmasq
// expect pihole NAME COUNTER N: restarts, seats, logins, ...
bool expect_pihole(struct stage *stage, const struct step *step, struct error *err)
{
    const char *word = step_word(step, 3);
    const struct model_pihole *pihole = stage_pihole(stage, step_word(step, 2));
    if (!pihole)
        return fail(err, "no such Pi-hole: %s", step_word(step, 2));
    if (!strcmp(word, "hosts") || !strcmp(word, "cnames"))
        return expect_list(stage, pihole, step, err);
    if (!strcmp(word, "served"))
        return expect_served(stage, pihole, step, err);
    return expect_counter(stage, pihole, step, err);
}
