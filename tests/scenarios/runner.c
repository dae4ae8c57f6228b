#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/faulty_disk.h"
#include "scenarios/play.h"

// scenario FILE...            each on cluster and folder; if a shared model hears of its objects,
//                             again with models that are made anew before each use; and on a
//                             folder where each name that two claim is a crowded one
// scenario --torture FILE...  each again with every outside call failing, and a death at each step;
//                             it has to end as without
//
// `torture leaves TEXT` in a script: after a death, what was known to the process alone may be
// missed, and records at the servers that hold TEXT do not count.
// `torture steady`: it ends so only if each edit is seen; watches do not break, as edits in a row
// are one then. `torture ignores TEXT`: lines of the end that begin so depend on what came first.

enum {
    SHOWN_LOG = 200 * 160,
    END_MS = 40 * 60 * 1000, // all retries are over
    PART_OF_END_MS = 4 * 60 * 1000,
    WHOLE_END_EVERY = 4, // each fourth run waits END_MS even if it has ended as it should before
    POINTS_MAX = 20,     // of one sort and scenario; evenly spread if there are more
    POINTS_MIN = 1,      // of a scenario with many calls; between the two:
    CALLS_OF_ALL_POINTS = 1500,
};

struct variant {
    enum stage_store store;
    bool renews_models;
    const char *name;
};
static const struct variant variants[] = {
    {STAGE_CLUSTER, false, "kept models"},
    {STAGE_CLUSTER, true, "renewed models"},
    {STAGE_FOLDER, false, "kept models"},
    {STAGE_FOLDER, true, "renewed models"},
};

// Two claims at a name are many, and planned later.
static const struct variant crowded = {STAGE_FOLDER, false, "crowded"};

// Each process is recorded, and its reconciliations come out the same when they are made again.
static const struct variant recorded[] = {
    {STAGE_CLUSTER, false, "recorded"},
    {STAGE_FOLDER, false, "recorded"},
};

struct tap_count {
    unsigned number;
    unsigned failed;
    unsigned runs;
};

static const char *store_name(enum stage_store store)
{
    return store == STAGE_CLUSTER ? "cluster" : "folder";
}

// ---- what a script says about its own runs ------------------------------------------------------

static bool says(const struct script *script, const char *first, const char *second)
{
    for (size_t i = 0; i < script->count; i++)
        if (!strcmp(step_word(&script->steps[i], 0), first) &&
            (!second || !strcmp(step_word(&script->steps[i], 1), second)))
            return true;
    return false;
}

static bool is_for(const struct script *script, enum stage_store store)
{
    return !says(script, "only", NULL) || says(script, "only", store_name(store));
}

static bool has_object_of(const struct script *script, const struct kind *kind)
{
    char line[64];
    snprintf(line, sizeof line, "kind: %s\n", kind->name);
    for (size_t i = 0; i < script->count; i++)
        if (script->steps[i].text && strstr(script->steps[i].text, line))
            return true;
    return false;
}

static bool has_model(const struct script *script)
{
    for (size_t i = 0; i < controller_count; i++)
        for (size_t j = 0; controllers[i]->shared_model && controllers[i]->shared_model->kinds[j];
             j++)
            if (has_object_of(script, controllers[i]->shared_model->kinds[j]))
                return true;
    return false;
}

static bool is_wanted(const struct script *script, const struct variant *variant)
{
    return is_for(script, variant->store) && (!variant->renews_models || has_model(script));
}

static const char *compared(const struct script *script)
{
    for (size_t i = 0; i < script->count; i++)
        if (!strcmp(step_word(&script->steps[i], 0), "compare"))
            return step_word(&script->steps[i], 1);
    return NULL;
}

// ---- telling ------------------------------------------------------------------------------------

static void report(struct tap_count *tap, bool is_ok, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void report(struct tap_count *tap, bool is_ok, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tap->failed += !is_ok;
    printf("%sok %u - ", is_ok ? "" : "not ", ++tap->number);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

static void show_lines(const char *title, struct text rest)
{
    struct text line;
    printf("# %s\n", title);
    if (rest.len > SHOWN_LOG) {
        rest.at += rest.len - SHOWN_LOG;
        rest.len = SHOWN_LOG;
    }
    while (text_cut(&rest, '\n', &line))
        if (line.len)
            printf("#   %.*s\n", TEXT_ARGS(line));
}

static void show_failure(struct stage *stage, const char *text)
{
    AUTO_BUFFER requests = {0};
    stage_dump_requests(stage, &requests);
    printf("# %s\n", text);
    show_lines("log:", buffer_text(&stage->log_text));
    show_lines("requests:", buffer_text(&requests));
}

static bool has_line(const char *text, struct text wanted)
{
    struct text line;
    struct text rest = text_of(text);
    while (text_cut(&rest, '\n', &line))
        if (text_equal(line, wanted))
            return true;
    return false;
}

// Lines that one has and the other has not.
static void show_difference(const char *wanted, const char *got)
{
    struct text line;
    struct text rest = text_of(wanted);
    while (text_cut(&rest, '\n', &line))
        if (line.len && !has_line(got, line))
            printf("#   - %.*s\n", TEXT_ARGS(line));
    rest = text_of(got);
    while (text_cut(&rest, '\n', &line))
        if (line.len && !has_line(wanted, line))
            printf("#   + %.*s\n", TEXT_ARGS(line));
}

// What the servers saw all the time: serials, talks one at a time, entries that people made.
static bool keeps_rules(const struct stage *stage, struct error *err)
{
    const char *breach = stage_breach(stage);
    return !breach || fail(err, "%s", breach);
}

// ---- plain runs ---------------------------------------------------------------------------------

// Requests and end state of a good run; NULL after a failure.
static char *run_plain(struct tap_count *tap, const struct script *script,
                       const struct variant *variant, bool with_extras)
{
    struct error err = {0};
    struct buffer seen = {0};
    struct stage *stage = stage_new(variant->store, variant->renews_models);
    stage->crowd = variant == &crowded;
    stage->is_recorded = variant >= recorded && variant < recorded + COUNT_OF(recorded);
    struct play play = {
        .stage = stage, .script = script, .with_extras = with_extras, .strike_at = SIZE_MAX};
    bool is_ok = play_run(&play, &err);
    if (stage->is_recorded)
        stage_kill(stage);
    is_ok = is_ok && keeps_rules(stage, &err);
    report(tap, is_ok, "%s (%s, %s)%s", script->name, store_name(variant->store), variant->name,
           with_extras ? "" : " alone");
    if (!is_ok)
        show_failure(stage, err.text);
    stage_dump_requests(stage, &seen);
    if (!stage->is_recorded)
        stage_dump(stage, &seen);
    stage_free(stage);
    char *text = buffer_steal(&seen);
    if (is_ok)
        return text;
    free(text);
    return NULL;
}

static void compare_models(struct tap_count *tap, const struct script *script,
                           enum stage_store store, const char *kept, const char *renewed)
{
    if (!kept || !renewed || !strcmp(kept, renewed))
        return;
    report(tap, false, "%s (%s) differs with renewed models", script->name, store_name(store));
    show_difference(kept, renewed);
}

static void run_all_plain(struct tap_count *tap, const struct script *script)
{
    for (size_t i = 0; i < COUNT_OF(variants); i += 2) {
        if (!is_for(script, variants[i].store))
            continue;
        autofree char *kept = run_plain(tap, script, &variants[i], true);
        if (!has_model(script))
            continue;
        autofree char *renewed = run_plain(tap, script, &variants[i + 1], true);
        compare_models(tap, script, variants[i].store, kept, renewed);
    }
    if (is_for(script, crowded.store))
        free(run_plain(tap, script, &crowded, true));
    for (size_t i = 0; i < COUNT_OF(recorded); i++)
        if (is_for(script, recorded[i].store))
            free(run_plain(tap, script, &recorded[i], true));
}

// ---- what is not to depend on other classes -----------------------------------------------------

static void requests_of(const struct stage *stage, const char *name, struct buffer *out)
{
    const struct model_host *host = stage_host(stage, name);
    for (size_t i = 0; i < model_backend_request_count(stage->backend); i++) {
        const struct model_request *request = model_backend_request(stage->backend, i);
        if (request->host == host)
            buffer_printf(out, "%lld %s %s %s\n", (long long)request->at_ms, request->method,
                          request->path, request->body);
    }
}

static void run_compared(struct tap_count *tap, const struct script *script,
                         const struct variant *variant)
{
    struct buffer seen[2] = {{0}, {0}};
    struct error err = {0};
    bool is_ok = true;
    for (int i = 0; i < 2 && is_ok; i++) {
        struct stage *stage = stage_new(variant->store, variant->renews_models);
        struct play play = {
            .stage = stage, .script = script, .with_extras = i, .strike_at = SIZE_MAX};
        is_ok = play_run(&play, &err);
        if (!is_ok)
            show_failure(stage, err.text);
        requests_of(stage, compared(script), &seen[i]);
        stage_free(stage);
    }
    bool is_same = is_ok && text_equal(buffer_text(&seen[0]), buffer_text(&seen[1]));
    report(tap, is_same, "%s (%s, %s) alone and beside", script->name, store_name(variant->store),
           variant->name);
    if (is_ok && !is_same)
        show_difference(buffer_text(&seen[0]).at, buffer_text(&seen[1]).at);
    buffer_done(&seen[0]);
    buffer_done(&seen[1]);
}

// ---- torture ------------------------------------------------------------------------------------

enum torture {
    TORTURE_NONE,
    TORTURE_NETWORK,
    TORTURE_STORE,
    TORTURE_STREAM,
    TORTURE_SERVER,
    TORTURE_DISK,
    TORTURE_DNS,
    TORTURE_RESTART,
};

struct torment {
    enum torture torture;
    int fault; // of that sort
    const char *name;
    bool is_death;
};
static const struct torment torments[] = {
    {TORTURE_NETWORK, NETWORK_FAILS, "request fails", false},
    {TORTURE_NETWORK, NETWORK_LOSES, "reply lost", false},
    {TORTURE_NETWORK, NETWORK_SILENCE, "killed after request", true},
    {TORTURE_STORE, MODEL_FAILS, "write fails", false},
    {TORTURE_STORE, MODEL_LOSES, "write's reply lost", false},
    {TORTURE_STORE, MODEL_CONFLICT, "write conflicts", false},
    {TORTURE_STORE, MODEL_MISSING, "killed after write", true},
    {TORTURE_STREAM, STREAM_TORN, "watches break after step", false},
    {TORTURE_SERVER, 0, "API server restarts after step", false},
    {TORTURE_SERVER, 1, "API server goes back after step", false},
    {TORTURE_DISK, DISK_FAILS, "disk fails", false},
    {TORTURE_DISK, DISK_STOPS, "killed before disk call", true},
    {TORTURE_DISK, DISK_ACTS_LAST, "killed after disk call", true},
    {TORTURE_DISK, DISK_TORN, "killed within disk call", true},
    {TORTURE_DNS, DNS_FAILS, "message to a name server fails", false},
    {TORTURE_DNS, DNS_LOSES, "answer of a name server lost", false},
    {TORTURE_DNS, DNS_SILENCE, "killed after message to a name server", true},
    {TORTURE_RESTART, 0, "killed after step", true},
};

struct totals {
    size_t requests;
    size_t writes;
    size_t disk;
    size_t dns;
    size_t steps; // as struct play counts them
    size_t steps_running;
};

static void set_fault(struct stage *stage, const struct torment *torment, size_t at)
{
    if (torment->torture == TORTURE_NETWORK)
        model_backend_fault(stage->backend, (unsigned)at, (enum model_network_fault)torment->fault);
    if (torment->torture == TORTURE_STORE)
        model_server_fault(stage->server, MODEL_ANY_WRITE, (unsigned)at,
                           (enum model_fault)torment->fault);
    if (torment->torture == TORTURE_DISK)
        faulty_disk_fault(stage->disk, (unsigned)at, (enum disk_fault)torment->fault);
    if (torment->torture == TORTURE_DNS)
        model_dns_fault(stage->dns, (unsigned)at, (enum model_dns_fault)torment->fault);
}

static bool breaks_watches(const struct torment *torment)
{
    return torment->torture == TORTURE_SERVER || torment->torture == TORTURE_STREAM;
}

// What comes after a step, not at a call.
static bool is_strike(const struct torment *torment)
{
    return torment && (torment->torture == TORTURE_RESTART || breaks_watches(torment));
}

static void strike(struct stage *stage, const struct torment *torment)
{
    if (torment->torture == TORTURE_STREAM)
        model_api_meet(stage->api, NULL, (enum model_stream_fault)torment->fault);
    else if (torment->torture == TORTURE_SERVER && torment->fault)
        model_api_rewind(stage->api, 1);
    else if (torment->torture == TORTURE_SERVER)
        model_api_restart(stage->api);
    else
        stage_crash(stage);
}

static struct totals totals_of(const struct stage *stage, const struct play *play)
{
    return (struct totals){
        .requests = model_backend_change_count(stage->backend),
        .writes = stage->server ? (size_t)model_server_writes(stage->server) : 0,
        .disk = faulty_disk_calls(stage->disk),
        .dns = model_dns_calls(stage->dns),
        .steps = play->steps,
        .steps_running = play->steps_running,
    };
}

// The run before the long wait at the end; `totals` says what it came to.
static bool run_until_end(struct stage *stage, const struct script *script,
                          const struct torment *torment, size_t at, struct totals *totals,
                          struct error *err)
{
    struct play play = {.stage = stage,
                        .script = script,
                        .is_torture = true,
                        .with_extras = true,
                        .strike_at = SIZE_MAX,
                        .strikes_process = torment && torment->torture == TORTURE_RESTART,
                        .strike = strike,
                        .torment = torment};
    if (is_strike(torment))
        play.strike_at = at;
    else if (torment)
        set_fault(stage, torment, at);
    bool is_ok = play_run(&play, err);
    *totals = totals_of(stage, &play);
    return is_ok;
}

// `dump` is the end state, and empty after a failure.
static bool wait_at_end(struct stage *stage, int64_t wait_ms, struct buffer *dump,
                        struct error *err)
{
    buffer_clear(dump);
    if (!stage_advance(stage, wait_ms, err) || !keeps_rules(stage, err))
        return false;
    stage_dump(stage, dump);
    return true;
}

static bool is_left_out(const struct step *step, bool is_death, struct text line)
{
    const char *text = step_word(step, 2);
    if (strcmp(step_word(step, 0), "torture") != 0)
        return false;
    if (!strcmp(step_word(step, 1), "ignores"))
        return text_starts(line, text);
    return is_death && text_starts(line, "record ") &&
           memmem(line.at, line.len, text, strlen(text));
}

static bool counts(const struct script *script, bool is_death, struct text line)
{
    for (size_t i = 0; i < script->count; i++)
        if (is_left_out(&script->steps[i], is_death, line))
            return false;
    return true;
}

// The end state without what does not count.
static void copy_what_counts(struct buffer *out, const char *dump, const struct script *script,
                             bool is_death)
{
    struct text line;
    struct text rest = text_of(dump);
    while (text_cut(&rest, '\n', &line))
        if (counts(script, is_death, line))
            buffer_printf(out, "%.*s\n", TEXT_ARGS(line));
}

static bool is_same_end(const struct script *script, const struct torment *torment,
                        const char *wanted, const char *got)
{
    if (!strcmp(wanted, got))
        return true;
    AUTO_BUFFER wanted_rest = {0};
    AUTO_BUFFER got_rest = {0};
    copy_what_counts(&wanted_rest, wanted, script, torment->is_death);
    copy_what_counts(&got_rest, got, script, torment->is_death);
    return text_equal(buffer_text(&wanted_rest), buffer_text(&got_rest));
}

static size_t points_of(const struct torment *torment, const struct totals *totals,
                        enum stage_store store)
{
    switch (torment->torture) {
    case TORTURE_NETWORK:
        return totals->requests;
    case TORTURE_STREAM:
    case TORTURE_SERVER:
        return store == STAGE_CLUSTER ? totals->steps : 0;
    case TORTURE_STORE:
        return store == STAGE_CLUSTER ? totals->writes : 0;
    case TORTURE_DISK:
        return store == STAGE_FOLDER ? totals->disk : 0;
    case TORTURE_DNS:
        return totals->dns;
    case TORTURE_RESTART:
        return totals->steps_running;
    case TORTURE_NONE:
        break;
    }
    return 0;
}

// Waits until it has ended as it should, or until all retries are over.
static bool wait_for_same_end(struct stage *stage, const struct script *script,
                              const struct torment *torment, const char *wanted, bool is_whole,
                              struct buffer *got, struct error *err)
{
    int64_t part_ms = is_whole ? END_MS : PART_OF_END_MS;
    for (int64_t waited_ms = 0; waited_ms < END_MS; waited_ms += part_ms) {
        if (!wait_at_end(stage, part_ms, got, err))
            return false;
        if (is_same_end(script, torment, wanted, buffer_text(got).at))
            return true;
    }
    return fail(err, "it ends otherwise:");
}

static bool run_point(struct tap_count *tap, const struct script *script,
                      const struct variant *variant, const struct torment *torment, size_t at,
                      const char *wanted)
{
    AUTO_BUFFER got = {0};
    struct error err = {0};
    struct totals totals;
    struct stage *stage = stage_new(variant->store, variant->renews_models);
    bool is_whole = tap->runs++ % WHOLE_END_EVERY == 0;
    bool is_same = run_until_end(stage, script, torment, at, &totals, &err) &&
                   wait_for_same_end(stage, script, torment, wanted, is_whole, &got, &err);
    if (!is_same) {
        report(tap, false, "%s (%s, %s) %s %zu", script->name, store_name(variant->store),
               variant->name, torment->name, at);
        show_failure(stage, err.text);
        if (got.len)
            show_difference(wanted, buffer_text(&got).at);
    }
    stage_free(stage);
    return is_same;
}

// What no model changes is tortured in a third as many places with renewed ones; so is what happens
// to all watches at once.
static size_t points_limit(const struct totals *totals, const struct variant *variant)
{
    size_t calls = totals->requests + totals->writes + totals->disk + totals->dns;
    size_t limit = CALLS_OF_ALL_POINTS / (calls + 1);
    limit = limit < POINTS_MIN ? POINTS_MIN : limit > POINTS_MAX ? POINTS_MAX : limit;
    return variant->renews_models ? (limit + 2) / 3 : limit;
}

// What becomes of a request that fails is no matter of the store: of a script that runs on both,
// each has every other point.
static bool is_left_to_other_store(const struct script *script, enum stage_store store,
                                   const struct torment *torment, size_t number)
{
    bool is_of_store = torment->torture != TORTURE_NETWORK && torment->torture != TORTURE_DNS;
    if (is_of_store || torment->is_death || says(script, "only", NULL))
        return false;
    return number % 2 != (store == STAGE_FOLDER);
}

static bool run_torment(struct tap_count *tap, const struct script *script,
                        const struct variant *variant, const struct torment *torment,
                        const struct totals *totals, const char *wanted)
{
    bool is_ok = true;
    size_t points = points_of(torment, totals, variant->store);
    size_t limit = points_limit(totals, variant);
    if (breaks_watches(torment))
        limit = says(script, "torture", "steady") ? 0 : (limit + 2) / 3;
    size_t count = points < limit ? points : limit;
    for (size_t i = 0; i < count && is_ok; i++)
        is_ok = is_left_to_other_store(script, variant->store, torment, i) ||
                run_point(tap, script, variant, torment, points * i / count, wanted);
    return is_ok;
}

static void torture(struct tap_count *tap, const struct script *script,
                    const struct variant *variant)
{
    AUTO_BUFFER wanted = {0};
    struct error err = {0};
    struct stage *stage = stage_new(variant->store, variant->renews_models);
    struct totals totals;
    bool is_ok = run_until_end(stage, script, NULL, 0, &totals, &err);
    is_ok = is_ok && wait_at_end(stage, END_MS, &wanted, &err);
    if (!is_ok)
        show_failure(stage, err.text);
    stage_free(stage);
    unsigned before = tap->runs;
    for (size_t i = 0; is_ok && i < COUNT_OF(torments); i++)
        is_ok &= run_torment(tap, script, variant, &torments[i], &totals, buffer_text(&wanted).at);
    report(tap, is_ok, "%s (%s, %s) tortured %u times", script->name, store_name(variant->store),
           variant->name, tap->runs - before);
}

// ---- main ---------------------------------------------------------------------------------------

static void run_script(struct tap_count *tap, const struct script *script, bool is_torture)
{
    if (!is_torture && !compared(script)) {
        run_all_plain(tap, script);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        if (!is_wanted(script, &variants[i]))
            continue;
        if (is_torture)
            torture(tap, script, &variants[i]);
        else
            run_compared(tap, script, &variants[i]);
    }
}

int main(int argc, char **argv)
{
    struct tap_count tap = {0};
    bool is_torture = argc > 1 && !strcmp(argv[1], "--torture");
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1 + is_torture; i < argc; i++) {
        struct script script = {0};
        struct error err = {0};
        if (script_read(&script, argv[i], &err)) {
            run_script(&tap, &script, is_torture);
            script_done(&script);
        } else {
            report(&tap, false, "%s", argv[i]);
            printf("# %s\n", err.text);
        }
    }
    printf("1..%u\n", tap.number);
    return tap.failed > 0;
}
