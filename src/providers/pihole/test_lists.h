#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "providers/pihole/revision.h"

// Lists as lines of text, one line each; changes and outcomes as short texts.

#define OWNER "1a2b3c4d"
#define TAG " # signpost:" OWNER
#define OTHER_TAG " # signpost:9f8e7d6c"

// A ledger of rows "A app.lan|192.168.1.50 app.lan\n", NULL at the end.
static inline const char *ledger_find(const void *context, enum record_type type, struct text name)
{
    static char found[512];
    char key[300];
    found[0] = '\0';
    snprintf(key, sizeof key, "%s %.*s|", record_type_name(type), TEXT_ARGS(name));
    for (const char *const *row = context; *row; row++) {
        if (strncmp(*row, key, strlen(key)) == 0)
            snprintf(found, sizeof found, "%s", *row + strlen(key));
    }
    return found[0] ? found : NULL;
}

static inline struct ledger_view ledger_of(const char *const *rows)
{
    return (struct ledger_view){.find = ledger_find, .context = (void *)(uintptr_t)rows};
}

// Lines, each ended by a newline, as a list of texts.
static inline struct value *texts_of(struct arena *arena, const char *lines)
{
    struct value *list = value_make(arena, VALUE_LIST);
    struct text rest = text_of(lines), line;
    while (rest.len && text_cut(&rest, '\n', &line)) {
        struct text copy = {arena_copy(arena, line.at, line.len), line.len};
        value_append(list, value_make_text(arena, copy));
    }
    return list;
}

struct house {
    struct arena *arena;
    struct list_rules rules;
    struct ledger_view ledger;
    struct line_set strangers;
    enum revision_way way;
    struct list *list;
    struct revision *revision;
};

static inline struct house house_of(bool has_tags)
{
    return (struct house){.arena = arena_new(), .rules = {.owner_id = OWNER, .has_tags = has_tags}};
}

static inline void house_done(struct house *house)
{
    revision_free(house->revision);
    list_free(house->list);
    line_set_done(&house->strangers);
    arena_free(house->arena);
}
#define HOUSE(name, has_tags)                                                                      \
    __attribute__((cleanup(house_done))) struct house name = house_of(has_tags)

static inline void house_remember(struct house *house, const char *const *rows)
{
    house->ledger = ledger_of(rows);
    house->rules.ledger = &house->ledger;
}

static inline void house_read(struct house *house, const char *hosts, const char *cnames)
{
    struct error err = {0};
    revision_free(house->revision);
    house->revision = NULL;
    list_free(house->list);
    house->rules.strangers = &house->strangers;
    house->list = list_read(&house->rules, texts_of(house->arena, hosts),
                            texts_of(house->arena, cnames), &err);
    assert_non_null(house->list);
}

// "A app.lan 192.168.1.50 192.168.1.51", "CNAME www.lan app.lan 300"; "-A app.lan" removes;
// "+A ..." may adopt.
static inline struct change change_of(struct arena *arena, const char *text)
{
    struct change change = {.op = CHANGE_SET};
    struct text rest = text_of(text), word;
    bool removes = text_starts(rest, "-"), adopts = text_starts(rest, "+");
    if (removes || adopts)
        rest = text_of(text + 1);
    change.op = removes ? CHANGE_REMOVE : CHANGE_SET;
    change.may_adopt = adopts;
    assert_true(text_cut(&rest, ' ', &word));
    assert_true(record_type_parse(word, &change.set.type));
    assert_true(text_cut(&rest, ' ', &change.set.domain));
    change.set.subdomain = TEXT("@");
    struct text *values = arena_new_array(arena, struct text, 64);
    while (text_cut(&rest, ' ', &word)) {
        if (change.set.type == RECORD_CNAME && change.set.value_count)
            change.set.ttl_s = (uint32_t)strtoul(word.at, NULL, 10);
        else
            values[change.set.value_count++] = word;
    }
    change.set.values = values;
    return change;
}

static inline void house_revise(struct house *house, struct change *changes, size_t count)
{
    struct change **pointers = arena_new_array(house->arena, struct change *, count + 1);
    for (size_t i = 0; i < count; i++)
        pointers[i] = &changes[i];
    revision_free(house->revision);
    house->revision = revision_new(house->list, &(struct revision_setup){house->way, house->arena},
                                   pointers, count);
}

// The part as revised, one line each.
static inline const char *revised(const struct house *house, enum list_part part)
{
    AUTO_BUFFER out = {0}, body = {0};
    for (size_t i = 0; i < revision_write_count(house->revision); i++) {
        struct revision_write write = revision_write(house->revision, i);
        if (!write.writes[part])
            continue;
        assert_int_equal(write.verb, REVISION_PATCH);
        revision_write_body(house->revision, i, &body);
        assert_int_equal(body.len, write.body_len);
        struct value *json =
            value_read_json(house->arena, buffer_text(&body), &value_manifest_limits, NULL);
        const struct value *dns = value_at(json, "config.dns", NULL);
        value_each (line, value_find(dns, list_part_key(part))) {
            buffer_add(&out, line->text.at, line->text.len);
            buffer_add_char(&out, '\n');
        }
    }
    return arena_copy(house->arena, buffer_text(&out).at, out.len);
}

// What came of a change, in words.
static inline const char *outcome_text(struct arena *arena, const struct change *change)
{
    const struct outcome *outcome = &change->outcome;
    AUTO_BUFFER out = {0};
    assert_true(outcome->is_done == !outcome->error);
    buffer_add_text(&out, outcome->is_done ? "done" : outcome->error->reason);
    if (outcome->was_created)
        buffer_add_text(&out, " created");
    if (outcome->was_absent)
        buffer_add_text(&out, " absent");
    if (outcome->is_foreign)
        buffer_add_text(&out, " foreign");
    if (outcome->is_unchanged)
        buffer_add_text(&out, " unchanged");
    if (outcome->replaced) {
        buffer_add_text(&out, " was");
        for (size_t i = 0; i < outcome->replaced->value_count; i++)
            buffer_printf(&out, " %.*s", TEXT_ARGS(outcome->replaced->values[i]));
    }
    return arena_copy_text(arena, out.at);
}
