#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dns/rr_type.h"
#include "kinds/configmap/configmap_kind.h"
#include "scenarios/play.h"

// A word that is no number equals none.
static bool is_number(const char *word, int64_t number)
{
    int64_t wanted;
    return text_to_int64(text_of(word), &wanted) && wanted == number;
}

// ---- what is published --------------------------------------------------------------------------

static bool find_zone(const struct stage *stage, const char *word,
                      const struct published_zone **zone, struct error *err)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    if (!zone_word(word, octets, &apex, err))
        return false;
    *zone = stage_zone(stage, apex);
    return true;
}

static void add_line(struct buffer *out, struct text line)
{
    struct text word;
    size_t count = 0;
    while (line.len) {
        if (!text_cut(&line, ' ', &word) || !word.len)
            continue;
        buffer_printf(out, "%s%.*s", count++ ? " " : "", TEXT_ARGS(word));
    }
    if (count)
        buffer_add_char(out, '\n');
}

// A line for each record, blanks as one.
static void squeeze(struct buffer *out, struct text rest)
{
    for (struct text line; text_cut(&rest, '\n', &line);)
        add_line(out, line);
}

// The master file without $ORIGIN and the SOA, classes left out.
static void write_content(struct buffer *out, const struct zone *zone)
{
    AUTO_BUFFER text = {0};
    struct zone_walk walk = {.zone = zone};
    for (const struct rrset *set; (set = zone_walk(&walk));) {
        struct text rdata;
        for (size_t cursor = 0; set->type != RR_SOA && rrset_next(set, &cursor, &rdata);) {
            zone_write_record(&text, set, rdata);
            buffer_add_char(&text, '\n');
        }
    }
    squeeze(out, buffer_text(&text));
}

// expect zone ZONE [served|frozen|held] [<<END]: what is published, all of it but the SOA:
//     www.shop.example. 300 IN A 192.0.2.7
bool expect_zone(struct stage *stage, const struct step *step, struct error *err)
{
    const struct published_zone *zone;
    AUTO_BUFFER wanted = {0};
    AUTO_BUFFER got = {0};
    const char *state = step_word(step, 3);
    if (!find_zone(stage, step_word(step, 2), &zone, err))
        return false;
    if (!zone)
        return fail(err, "it is not known");
    if (*state && *state != '<' && strcmp(state, stage_zone_state(zone)) != 0)
        return fail(err, "it is %s", stage_zone_state(zone));
    const struct zone *newest = zone_history_newest(zone->history);
    if (!step->text)
        return true;
    if (newest)
        write_content(&got, newest);
    squeeze(&wanted, text_of(step->text));
    return text_equal(buffer_text(&got), buffer_text(&wanted)) ||
           fail(err, "it is\n%s", buffer_text(&got).at);
}

bool expect_no_zone(struct stage *stage, const struct step *step, struct error *err)
{
    const struct published_zone *zone;
    if (!find_zone(stage, step_word(step, 3), &zone, err))
        return false;
    return !zone || fail(err, "it is %s", stage_zone_state(zone));
}

// expect serial ZONE N: of what is published.
bool expect_serial(struct stage *stage, const struct step *step, struct error *err)
{
    const struct published_zone *zone;
    if (!find_zone(stage, step_word(step, 2), &zone, err))
        return false;
    const struct zone *newest = zone ? zone_history_newest(zone->history) : NULL;
    if (!newest)
        return fail(err, "nothing is published");
    return is_number(step_word(step, 3), zone_serial(newest)) ||
           fail(err, "it is %" PRIu32, zone_serial(newest));
}

// ---- the servers --------------------------------------------------------------------------------

// expect answer NAME ZONE N|REFUSED|SERVFAIL|...: that the server gets when it asks us for the SOA
bool expect_answer(struct stage *stage, const struct step *step, struct error *err)
{
    char got[ERROR_TEXT_MAX];
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    uint32_t serial = 0;
    struct error refusal = {0};
    struct model_secondary *server = model_dns_find(stage->dns, step_word(step, 2));
    if (!server || !zone_word(step_word(step, 3), octets, &apex, err))
        return fail(err, "no such server");
    if (model_secondary_ask(server, apex, &serial, &refusal))
        snprintf(got, sizeof got, "%" PRIu32, serial);
    else
        snprintf(got, sizeof got, "%s", refusal.code[0] ? refusal.code : refusal.text);
    return !strcmp(got, step_word(step, 4)) || fail(err, "it is %s", got);
}

// expect secondary NAME ZONE N|nothing: that it answers itself
bool expect_secondary(struct stage *stage, const struct step *step, struct error *err)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    uint32_t serial;
    const char *wanted = step_word(step, 4);
    const struct model_secondary *server = model_dns_find(stage->dns, step_word(step, 2));
    if (!server || !zone_word(step_word(step, 3), octets, &apex, err))
        return fail(err, "no such server");
    if (!model_secondary_serial(server, apex, &serial))
        return !strcmp(wanted, "nothing") || fail(err, "it answers nothing");
    return is_number(wanted, serial) || fail(err, "it answers %" PRIu32, serial);
}

static bool is_sort(const char *word)
{
    return !strcmp(word, "NOTIFY") || !strcmp(word, "SOA") || !strcmp(word, "AXFR");
}

// expect sent N NOTIFY|SOA|AXFR [SERVER [ZONE]]: to servers, or fetched by them, since the start
bool expect_sent(struct stage *stage, const struct step *step, struct error *err)
{
    const char *server = step_word(step, 4);
    size_t count = model_dns_count(stage->dns, step_rest(step, 3));
    if (!is_sort(step_word(step, 3)) || (*server && !model_dns_find(stage->dns, server)))
        return fail(err, "no such message, or no such server");
    return is_number(step_word(step, 2), (int64_t)count) || fail(err, "there were %zu", count);
}

// ---- labels -------------------------------------------------------------------------------------

// Of an object that is there; NULL: it has none.
static bool find_label(struct stage *stage, struct arena *arena, const char *object,
                       const char *name, const struct value **label, struct error *err)
{
    struct value *tree = NULL;
    if (!find_object(stage, arena, object, &tree, err))
        return false;
    if (!tree)
        return fail(err, "%s is not there", object);
    *label = value_find(value_at(tree, "metadata.labels", NULL),
                        arena_printf(arena, "kubi.zone/%s", name));
    return true;
}

// expect label KEY NAME VALUE: NAME without kubi.zone/
bool expect_label(struct stage *stage, const struct step *step, struct error *err)
{
    const struct value *found = NULL;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!find_label(stage, arena, step_word(step, 2), step_word(step, 3), &found, err))
        return false;
    if (!found)
        return fail(err, "there is none");
    return text_is(found->text, step_word(step, 4)) ||
           fail(err, "it is %.*s", TEXT_ARGS(found->text));
}

bool expect_no_label(struct stage *stage, const struct step *step, struct error *err)
{
    const struct value *found = NULL;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!find_label(stage, arena, step_word(step, 3), step_word(step, 4), &found, err))
        return false;
    return !found || fail(err, "it is %.*s", TEXT_ARGS(found->text));
}

// ---- ConfigMaps ---------------------------------------------------------------------------------

static void write_made(const struct stage *stage, struct text namespace_, struct text name,
                       struct buffer *out)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct object_ref_key key = {&config_map_kind, namespace_, name};
    if (!stage->server) {
        const char *path = arena_printf(arena, "%s/.signpost/made/configmaps.%.*s.%.*s.yaml",
                                        stage->dir, TEXT_ARGS(namespace_), TEXT_ARGS(name));
        disk_read(out, path, (size_t)2 * 1024 * 1024, NULL);
        return;
    }
    const struct value *tree = model_server_find(stage->server, arena, &key);
    if (tree)
        value_write_yaml(out, tree, 0);
}

// expect made NAMESPACE/NAME PART...: a ConfigMap, as YAML, has these parts; after `without` none.
bool expect_made(struct stage *stage, const struct step *step, struct error *err)
{
    AUTO_BUFFER yaml = {0};
    struct text name = text_of(step_word(step, 2));
    struct text namespace_;
    bool is_without = false;
    text_cut(&name, '/', &namespace_);
    write_made(stage, namespace_, name, &yaml);
    if (!yaml.len)
        return fail(err, "there is none");
    for (size_t i = 3; i < step->word_count; i++) {
        if (!strcmp(step->words[i], "without"))
            is_without = true;
        else if ((strstr(yaml.at, step->words[i]) != NULL) == is_without)
            return fail(err, "it is %s", yaml.at);
    }
    return true;
}
