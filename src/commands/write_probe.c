#include "commands/write_probe.h"

#include <stdio.h>
#include <string.h>

#include "commands/backend_exchange.h"
#include "commands/writer.h"
#include "dns/message.h"
#include "io/address.h"

enum { DNS_PORT = 53, ASK_AGAIN_MS = 100, RESOLVE_MS = 5000, DNS_MS = 1000, NAME_OCTETS = 48 };

#define ADDRESS "192.0.2.1" // of no machine (RFC 5737)

struct tester {
    const struct write_probe *probe;
    struct writer *writer;
    const struct world *world;
    size_t at;
    char name[NAME_OCTETS];
    struct text value;
    struct arena *arena; // of one backend
    struct ledger_view ledger;
    struct buffer stored; // what the ledger would remember of it
    struct backend_exchange exchange;
    struct job job;
    struct change change;
    struct hostport resolver;
    struct dns_call *call;
    uint16_t id;
    bool is_added;
    int64_t added_ms;
    int64_t took_ms; // until it was answered
    struct loop_timer pause;
    struct error fault;
};

static const struct configured_backend *backend_of(const struct tester *tester)
{
    return &tester->probe->setup->backends.items[tester->at];
}

static void report_line(const struct tester *tester, const char *level, const char *text)
{
    tester->probe->reported(tester->probe->context, level, backend_of(tester)->title, text);
}

static void next_backend(struct tester *tester);

// ---- the ledger that it would have --------------------------------------------------------------

static const char *find(const void *context, enum record_type type, struct text name)
{
    const struct tester *tester = context;
    return type == RECORD_A && text_is(name, tester->name) && tester->stored.len ? tester->stored.at
                                                                                 : NULL;
}

static const char *recall(const void *context, const char *fact)
{
    (void)context, (void)fact;
    return NULL;
}

static void keep(void *context, const char *fact, const char *value)
{
    (void)context, (void)fact, (void)value;
}

// ---- the end ------------------------------------------------------------------------------------

static void report_outcome(const struct tester *tester)
{
    AUTO_BUFFER text = {0};
    if (tester->fault.text[0]) {
        report_line(tester, "error", tester->fault.text);
        return;
    }
    buffer_printf(&text, "%s was added, answered after %lld ms, and removed", tester->name,
                  (long long)tester->took_ms);
    report_line(tester, "ok", text.at);
}

static void left(void *context)
{
    struct tester *tester = context;
    backend_exchange_close(&tester->exchange);
    report_outcome(tester);
    tester->at++;
    next_backend(tester);
}

static void leave(struct tester *tester)
{
    tester->exchange.done = left;
    backend_exchange_leave(&tester->exchange, &tester->job);
}

static const char *fault_of(const struct tester *tester)
{
    const struct outcome *outcome = &tester->change.outcome;
    if (outcome->is_done)
        return NULL;
    if (outcome->error)
        return outcome->error->text;
    return tester->job.unavailable ? tester->job.unavailable->text
                                   : backend_late_text(tester->arena, backend_of(tester));
}

static void change(struct tester *tester, enum change_op op, void (*done)(void *context))
{
    tester->change = (struct change){.op = op,
                                     .set = {.type = RECORD_A,
                                             .domain = text_of(tester->name),
                                             .subdomain = TEXT("@"),
                                             .values = &tester->value,
                                             .value_count = 1,
                                             .priority = -1}};
    tester->job = (struct job){.kind = JOB_CHANGES,
                               .arena = tester->arena,
                               .trace = EXCHANGE_NO_TRACE,
                               .changes = &tester->change,
                               .change_count = 1,
                               .ledger = &tester->ledger};
    tester->exchange.done = done;
    backend_exchange_begin(&tester->exchange, &tester->job, tester->probe->timeout_ms);
}

static void removed(void *context)
{
    struct tester *tester = context;
    const char *fault = fault_of(tester);
    if (fault && tester->is_added)
        error_set(&tester->fault, FAULT_AGAIN, "", "%s stays there; remove it by hand: %s",
                  tester->name, fault);
    leave(tester);
}

// ---- is it answered? ----------------------------------------------------------------------------

static void ask(void *context);

static bool is_answer(const struct tester *tester, struct text octets)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    if (!message_read(arena, octets, &message, NULL) || message.id != tester->id)
        return false;
    for (size_t i = 0; i < message.answer_count; i++)
        if (message.answers[i].type == RECORD_A && message.answers[i].value_count &&
            text_is(message.answers[i].values[0], ADDRESS))
            return true;
    return false;
}

static void answered(void *context, const struct dns_reply *reply)
{
    struct tester *tester = context;
    int64_t took_ms = loop_mono_ms(tester->world->loop) - tester->added_ms;
    tester->call = NULL;
    if (reply->is_answered && is_answer(tester, reply->octets)) {
        tester->took_ms = took_ms;
        change(tester, CHANGE_REMOVE, removed);
    } else if (took_ms < RESOLVE_MS) {
        tester->pause = (struct loop_timer){.call = ask, .context = tester};
        loop_timer_set(tester->world->loop, &tester->pause, ASK_AGAIN_MS);
    } else {
        error_set(&tester->fault, FAULT_AGAIN, "",
                  "%s was added and removed, but not answered at %s port %u within 5s",
                  tester->name, tester->resolver.host, tester->resolver.port);
        change(tester, CHANGE_REMOVE, removed);
    }
}

static void ask(void *context)
{
    struct tester *tester = context;
    AUTO_BUFFER octets = {0};
    tester->id = random_u16(tester->world->random);
    message_query(&octets, tester->id, text_of(tester->name), record_type_number(RECORD_A), true,
                  NULL);
    const struct dns_request request = {
        .server = tester->resolver, .octets = buffer_text(&octets), .timeout_ms = DNS_MS};
    tester->call = dns_send(tester->world->dns, &request, answered, tester);
}

static void added(void *context)
{
    struct tester *tester = context;
    const char *fault = fault_of(tester);
    if (fault) {
        error_set(&tester->fault, FAULT_AGAIN, "", "%s cannot be added: %s", tester->name, fault);
        // Whether it was added after all may not be known.
        change(tester, CHANGE_REMOVE, removed);
        return;
    }
    tester->is_added = true;
    tester->added_ms = loop_mono_ms(tester->world->loop);
    ask(tester);
}

// ---- where its resolver is ----------------------------------------------------------------------

static void looked(void *context)
{
    struct tester *tester = context;
    const struct job *job = &tester->job;
    int64_t port = job->answer ? value_int_at(job->answer, "dnsPort", DNS_PORT) : DNS_PORT;
    if (port > 0 && port <= UINT16_MAX)
        tester->resolver.port = (uint16_t)port;
    change(tester, CHANGE_SET, added);
}

// Which port its resolver has stands beside its lists.
static void look(struct tester *tester)
{
    tester->job = (struct job){.kind = JOB_HEALTH,
                               .arena = tester->arena,
                               .trace = EXCHANGE_NO_TRACE,
                               .ledger = &tester->ledger};
    tester->exchange.done = looked;
    backend_exchange_begin(&tester->exchange, &tester->job, tester->probe->timeout_ms);
}

// ---- one after the other ------------------------------------------------------------------------

static bool find_resolver(struct tester *tester, struct error *err)
{
    struct url url;
    uint8_t octets[ADDRESS_OCTETS];
    if (tester->probe->resolver) {
        tester->resolver = *tester->probe->resolver;
        return true;
    }
    if (!url_parse(&url, text_of(backend_of(tester)->url), err))
        return false;
    if (!address_read(url.host, octets))
        return error_set(err, FAULT_SPEC, "", "its host is a name: give --resolver ADDR:PORT");
    snprintf(tester->resolver.host, sizeof tester->resolver.host, "%s", url.host);
    tester->resolver.port = DNS_PORT;
    return true;
}

static bool begin_backend(struct tester *tester, struct error *err)
{
    const char *owner_id = store_owner_id(writer_store(tester->writer));
    tester->exchange = (struct backend_exchange){.world = tester->world, .context = tester};
    if (!find_resolver(tester, err) ||
        !backend_exchange_open(&tester->exchange, backend_of(tester), false, owner_id, err))
        return false;
    const struct record_set set = {.type = RECORD_A,
                                   .domain = text_of(tester->name),
                                   .subdomain = TEXT("@"),
                                   .values = &tester->value,
                                   .value_count = 1,
                                   .priority = -1};
    buffer_clear(&tester->stored);
    tester->exchange.provider->entry(tester->exchange.session, &set, &tester->stored);
    if (tester->probe->resolver)
        change(tester, CHANGE_SET, added);
    else
        look(tester);
    return true;
}

static void next_backend(struct tester *tester)
{
    struct error err;
    for (; tester->at < tester->probe->setup->backends.count; tester->at++) {
        error_clear(&tester->fault);
        tester->is_added = false;
        arena_reset(tester->arena);
        snprintf(tester->name, sizeof tester->name, "%08x.signpost-check.invalid",
                 (unsigned)random_below(tester->world->random, UINT32_MAX));
        if (begin_backend(tester, &err))
            return;
        report_line(tester, "error", err.text);
    }
    writer_end(tester->writer);
}

static void begin(void *context, struct writer *writer)
{
    struct tester *tester = context;
    tester->writer = writer;
    tester->world = writer_world(writer);
    next_backend(tester);
}

static void lost(void *context)
{
    struct tester *tester = context;
    backend_exchange_close(&tester->exchange);
    loop_timer_cancel(tester->world->loop, &tester->pause);
    if (tester->call)
        dns_cancel(tester->world->dns, tester->call);
    tester->call = NULL;
}

bool write_probe(const struct write_probe *probe, struct error *err)
{
    struct tester tester = {.probe = probe, .arena = arena_new(), .value = TEXT(ADDRESS)};
    const struct writer_calls calls = {.begin = begin, .lost = lost, .context = &tester};
    tester.ledger =
        (struct ledger_view){.find = find, .recall = recall, .keep = keep, .context = &tester};
    bool is_done = writer_run(probe->setup, probe->timeout_ms, &calls, err);
    buffer_done(&tester.stored);
    arena_free(tester.arena);
    return is_done;
}
