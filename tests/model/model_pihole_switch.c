#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "model/model_pihole_private.h"

// ---- switches -----------------------------------------------------------------------------------

const struct pihole_switches model_pihole_defaults = {
    .is_up = true,
    .max_sessions = 16,
    .session_timeout_s = 1800,
    .dns_port = 53,
    .password_ms = 60,
    .read_ms = 1,
    .write_ms = 5,
    .restart_grace_ms = 250,
    .restart_api_ms = 140,
    .restart_dns_ms = 370,
    .deadlocks = true,
    .defers = true,
    .alias_hints = true,
    .restart_allowed = true,
    .cut_octets = -1,
};

void model_pihole_switches_done(struct pihole_switches *switches)
{
    free(switches->password);
    free(switches->app_password);
    free(switches->totp);
    free(switches->body);
}

enum switch_kind { SWITCH_WORD, SWITCH_NUMBER, SWITCH_TEXT };
struct switch_row {
    const char *name;
    enum switch_kind kind;
    size_t offset;
    const char *const *words; // WORD
    int64_t max;              // NUMBER
};

enum { HOUR_MS = 3600 * 1000, COUNT_MAX = 1000 * 1000 };

static const char *const truth[] = {"false", "true", NULL};
static const char *const dialects[] = {"v6", "legacy", NULL};
static const char *const overlaps[] = {"safe", "loses", "dies", NULL};
static const char *const hosts_local[] = {"absent", "missing", "false", "true", NULL};

#define WORD(name, member, words)                                                                  \
    {                                                                                              \
        name, SWITCH_WORD, offsetof(struct pihole_switches, member), words, 0                      \
    }
#define NUMBER(name, member, max)                                                                  \
    {                                                                                              \
        name, SWITCH_NUMBER, offsetof(struct pihole_switches, member), NULL, max                   \
    }
#define TEXTUAL(name, member)                                                                      \
    {                                                                                              \
        name, SWITCH_TEXT, offsetof(struct pihole_switches, member), NULL, 0                       \
    }

static const struct switch_row rows[] = {
    WORD("hangs", hangs, truth),
    WORD("dialect", is_legacy, dialects),
    WORD("legacy_unique", legacy_unique, truth),
    TEXTUAL("password", password),
    TEXTUAL("app_password", app_password),
    WORD("app_sudo", app_sudo, truth),
    TEXTUAL("totp", totp),
    WORD("totp_limited", totp_limited, truth),
    NUMBER("max_sessions", max_sessions, PIHOLE_SEATS_MAX),
    NUMBER("dns_port", dns_port, UINT16_MAX),
    NUMBER("session_timeout_s", session_timeout_s, COUNT_MAX),
    NUMBER("password_ms", password_ms, HOUR_MS),
    NUMBER("read_ms", read_ms, HOUR_MS),
    NUMBER("write_ms", write_ms, HOUR_MS),
    WORD("read_only", read_only, truth),
    WORD("forced_hosts", forced[PIHOLE_HOSTS], truth),
    WORD("forced_cnames", forced[PIHOLE_CNAMES], truth),
    WORD("hosts_local", hosts_local, hosts_local),
    NUMBER("restart_grace_ms", restart_grace_ms, HOUR_MS),
    NUMBER("restart_api_ms", restart_api_ms, HOUR_MS),
    NUMBER("restart_dns_ms", restart_dns_ms, HOUR_MS),
    WORD("overlap", overlap, overlaps),
    WORD("deadlocks", deadlocks, truth),
    WORD("defers", defers, truth),
    WORD("alias_hints", alias_hints, truth),
    WORD("restart_allowed", restart_allowed, truth),
    NUMBER("resurrects", resurrects, COUNT_MAX),
    NUMBER("loses_replies", loses_replies, COUNT_MAX),
    NUMBER("fails", fails, COUNT_MAX),
    NUMBER("cut_octets", cut_octets, COUNT_MAX),
    TEXTUAL("body", body),
};

static bool fail(struct error *err, const char *name, const char *value)
{
    return error_set(err, FAULT_SPEC, "", "%s cannot be \"%s\"", name, value);
}

static bool set_word(unsigned *word, const struct switch_row *row, const char *value,
                     struct error *err)
{
    for (unsigned i = 0; row->words[i]; i++)
        if (!strcmp(row->words[i], value)) {
            *word = i;
            return true;
        }
    return fail(err, row->name, value);
}

static bool set_number(int64_t *number, const struct switch_row *row, const char *value,
                       struct error *err)
{
    int64_t parsed;
    if (!text_to_int64(text_of(value), &parsed) || parsed < 0 || parsed > row->max)
        return fail(err, row->name, value);
    *number = parsed;
    return true;
}

static bool set_row(struct pihole_switches *switches, const struct switch_row *row,
                    const char *value, struct error *err)
{
    char *member = (char *)switches + row->offset;
    if (row->kind == SWITCH_WORD)
        return set_word((unsigned *)(void *)member, row, value, err);
    if (row->kind == SWITCH_NUMBER)
        return set_number((int64_t *)(void *)member, row, value, err);
    char **text = (char **)(void *)member;
    free(*text);
    *text = mem_copy_text(value);
    return true;
}

static bool set_up(struct model_pihole *pihole, const char *value, struct error *err)
{
    if (!strcmp(value, "true"))
        model_pihole_start(pihole);
    else if (!strcmp(value, "false"))
        model_pihole_kill(pihole);
    else
        return fail(err, "up", value);
    return true;
}

// What a new value brings with it.
static void follow(struct model_pihole *pihole, const char *name)
{
    if (!strcmp(name, "password") || !strcmp(name, "app_password"))
        model_pihole_forget_sessions(pihole);
    if (!strcmp(name, "totp")) {
        free(pihole->used_totp);
        pihole->used_totp = mem_copy_text("");
    }
}

bool model_pihole_set(struct model_pihole *pihole, int64_t now_ms, const char *name,
                      const char *value, struct error *err)
{
    model_pihole_settle(pihole, now_ms);
    if (!strcmp(name, "up"))
        return set_up(pihole, value, err);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!strcmp(rows[i].name, name)) {
            if (!set_row(&pihole->switches, &rows[i], value, err))
                return false;
            follow(pihole, name);
            return true;
        }
    return error_set(err, FAULT_SPEC, "", "a Pi-hole has no switch \"%s\"", name);
}

// ---- counters -----------------------------------------------------------------------------------

#define COUNTER(name)                                                                              \
    {                                                                                              \
#name, offsetof(struct pihole_counters, name)                                              \
    }
static const struct {
    const char *name;
    size_t offset;
} counters[] = {
    COUNTER(requests),     COUNTER(gets),     COUNTER(posts),          COUNTER(puts),
    COUNTER(patches),      COUNTER(deletes),  COUNTER(logins),         COUNTER(failed_logins),
    COUNTER(logouts),      COUNTER(changes),  COUNTER(written_octets), COUNTER(restarts),
    COUNTER(largest_body), COUNTER(overlaps), COUNTER(deadlocks),
};

static uint64_t counter_at(const struct model_pihole *pihole, size_t at)
{
    const char *member = (const char *)&pihole->counters + counters[at].offset;
    return *(const uint64_t *)(const void *)member;
}

bool model_pihole_counter(const struct model_pihole *pihole, int64_t now_ms, const char *name,
                          uint64_t *value)
{
    if (!strcmp(name, "seats")) {
        *value = model_pihole_seats(pihole, now_ms);
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(counters); i++)
        if (!strcmp(counters[i].name, name)) {
            *value = counter_at(pihole, i);
            return true;
        }
    return false;
}

void model_pihole_write_counters(const struct model_pihole *pihole, int64_t now_ms,
                                 struct buffer *out)
{
    buffer_add_char(out, '{');
    for (size_t i = 0; i < COUNT_OF(counters); i++)
        buffer_printf(out, "\"%s\":%llu,", counters[i].name,
                      (unsigned long long)counter_at(pihole, i));
    buffer_printf(out, "\"seats\":%zu}", model_pihole_seats(pihole, now_ms));
}
