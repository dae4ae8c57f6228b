#include "providers/pihole/trouble.h"

#include "base/backoff.h"

enum {
    RESTART_MS = 180000,
    LONG_DOWN_MS = 600000,
    LONG_DOWN_RETRY_MS = 15000,
    STALE_MS = 600000,
};

static const struct clock {
    const char *reason;
    enum fault fault;
    int64_t first_ms; // doubling
    int64_t most_ms;
    int64_t silent_ms; // so long it is too early to tell
} clocks[TROUBLE_KINDS] = {
    [TROUBLE_RESTARTING] = {"", FAULT_AGAIN, 100, 1000, 0},
    [TROUBLE_DOWN] = {"PiholeUnreachable", FAULT_AGAIN, 100, 1500, 5000},
    [TROUBLE_HUNG] = {"PiholeHung", FAULT_AGAIN, 100, 1500, 0},
    [TROUBLE_UNTRUSTED] = {"PiholeUnreachable", FAULT_AGAIN, 30000, 300000, 0},
    [TROUBLE_FAILED] = {"PiholeUnreachable", FAULT_AGAIN, 30000, 300000, 0},
    [TROUBLE_CONTENDED] = {"PiholeUnreachable", FAULT_AGAIN, 30000, 300000, 0},
    [TROUBLE_PASSWORD] = {"PiholeRefusesUs", FAULT_AUTH, 30000, 300000, 0},
    [TROUBLE_PIN] = {"PiholeRefusesUs", FAULT_AUTH, 30000, 300000, 0},
    [TROUBLE_TWICE] = {"PiholeNamedTwice", FAULT_AUTH, 60000, 300000, 0},
    [TROUBLE_BLOCKED] = {"PiholeReadOnly", FAULT_AUTH, 60000, 60000, 0},
    [TROUBLE_RATE] = {"PiholeRefusesUs", FAULT_LIMIT, 2000, 60000, 5000},
    [TROUBLE_SEATS] = {"PiholeSeatsExceeded", FAULT_LIMIT, 60000, 60000, 0},
};

enum trouble_kind trouble_kind_of(enum reply_kind kind, int64_t restarted_ms, int64_t now_ms)
{
    static const enum trouble_kind kinds[REPLY_KINDS] = {
        [REPLY_THERE] = TROUBLE_FAILED,
        [REPLY_ABSENT] = TROUBLE_FAILED,
        [REPLY_REFUSED] = TROUBLE_FAILED,
        [REPLY_TOO_LONG] = TROUBLE_FAILED,
        [REPLY_UNAUTHORIZED] = TROUBLE_PASSWORD,
        [REPLY_NEEDS_TOKEN] = TROUBLE_PASSWORD,
        [REPLY_READ_ONLY] = TROUBLE_BLOCKED,
        [REPLY_APP_SUDO] = TROUBLE_BLOCKED,
        [REPLY_FORCED] = TROUBLE_BLOCKED,
        [REPLY_RATE] = TROUBLE_RATE,
        [REPLY_SEATS] = TROUBLE_SEATS,
        [REPLY_LIMIT] = TROUBLE_SEATS,
        [REPLY_FAILED] = TROUBLE_FAILED,
        [REPLY_STRANGE] = TROUBLE_FAILED,
        [REPLY_DOWN] = TROUBLE_DOWN,
        [REPLY_HUNG] = TROUBLE_HUNG,
        [REPLY_UNTRUSTED] = TROUBLE_UNTRUSTED,
    };
    if (kind == REPLY_DOWN && restarted_ms && now_ms - restarted_ms <= RESTART_MS)
        return TROUBLE_RESTARTING;
    return kinds[kind];
}

static bool is_silence(enum trouble_kind kind)
{
    return kind == TROUBLE_RESTARTING || kind == TROUBLE_DOWN || kind == TROUBLE_HUNG;
}

// A restart that takes too long is being down since the restart.
static void begin(struct ladder *ladder, enum trouble_kind kind, int64_t now_ms)
{
    bool is_stale = ladder->failures && now_ms - ladder->until_ms > STALE_MS;
    bool is_same = ladder->kind == kind || (is_silence(ladder->kind) && is_silence(kind));
    if (!is_same || is_stale)
        *ladder = (struct ladder){.since_ms = now_ms};
    ladder->kind = kind;
}

static int64_t rung_ms(const struct ladder *ladder, const struct clock *clock, int64_t now_ms)
{
    bool is_down = ladder->kind == TROUBLE_DOWN || ladder->kind == TROUBLE_HUNG;
    if (is_down && now_ms - ladder->since_ms >= LONG_DOWN_MS)
        return LONG_DOWN_RETRY_MS;
    return backoff_ms(clock->first_ms, clock->most_ms, ladder->failures + 1);
}

void trouble_report(struct ladder *ladder, enum trouble_kind kind, int64_t now_ms,
                    int64_t reported_ms, struct random *random, struct error *err, const char *text)
{
    const struct clock *clock = &clocks[kind];
    begin(ladder, kind, now_ms);
    int64_t wait_ms = reported_ms ? reported_ms : rung_ms(ladder, clock, now_ms);
    bool is_early = clock->silent_ms && now_ms - ladder->since_ms < clock->silent_ms;
    error_set(err, clock->fault, is_early ? "" : clock->reason, "%s", text);
    // A wait that was asked for is never cut short.
    int64_t tenths =
        reported_ms ? (int64_t)random_below(random, 101) : (int64_t)random_below(random, 201) - 100;
    err->retry_ms = wait_ms + wait_ms * tenths / 1000;
    ladder->failures++;
    ladder->until_ms = now_ms + err->retry_ms;
}
