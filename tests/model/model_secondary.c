#include "model/model_dns_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/message.h"
#include "dns/primary.h"
#include "dns/rr_type.h"
#include "dns/serial.h"

enum {
    FETCH_MS = 1,
    RETRY_MS = 60 * 1000,
    OPCODE_NOTIFY = 4,
    HEADER_OCTETS = 12,
    SOA_NUMBERS = 20,
    SIGNING_STEP = 1000, // a server that signs has serials of its own
    FORGED_STEP = 5000,
};

static const char wrong_secret[] = "YW5vdGhlciBzZWNyZXQgdGhhbiB0aGUgb25lIG9mIG91cnM=";

// ---- copies of zones ----------------------------------------------------------------------------

static void fetch(void *context);

static struct model_copy *find_copy(const struct model_secondary *server, struct dname apex)
{
    struct model_copy *copy = server->copies;
    while (copy && !dname_equal(copy->apex, apex))
        copy = copy->next;
    return copy;
}

static struct model_copy *get_copy(struct model_secondary *server, struct dname apex)
{
    struct model_copy **end = &server->copies;
    struct model_copy *copy = find_copy(server, apex);
    if (copy)
        return copy;
    while (*end)
        end = &(*end)->next;
    copy = *end = mem_new_of(struct model_copy);
    memcpy(copy->octets, apex.at, apex.len);
    copy->server = server;
    copy->apex = (struct dname){copy->octets, apex.len};
    copy->timer = (struct loop_timer){.call = fetch, .context = copy};
    return copy;
}

static void copy_free(struct model_copy *copy)
{
    loop_timer_cancel(copy->server->dns->loop, &copy->timer);
    zone_unref(copy->zone);
    free(copy);
}

static void fetch_after(struct model_copy *copy, int64_t delay_ms)
{
    loop_timer_set(copy->server->dns->loop, &copy->timer, delay_ms);
}

// ---- keys and time ------------------------------------------------------------------------------

static int64_t now_s(const struct model_secondary *server)
{
    return (loop_unix_ms(server->dns->loop) + server->ahead_ms) / 1000;
}

// What it takes for the key; done with key_done. False: it has none.
static bool key_of(const struct model_secondary *server, struct tsig_key *key)
{
    const struct zones_key *ours = server->config->key;
    if (!ours)
        return false;
    if (server->mood == MOOD_WRONG_KEY)
        return tsig_key_init(key, text_of(ours->key.name),
                             text_of(tsig_algorithm_name(ours->key.algorithm)), TEXT(wrong_secret),
                             NULL);
    *key = ours->key;
    key->secret = secret_ref(ours->key.secret);
    return true;
}

// ---- fetching -----------------------------------------------------------------------------------

static void keep(struct model_copy *copy, struct zone *zone)
{
    AUTO_BUFFER name = {0};
    struct model_dns *dns = copy->server->dns;
    model_dns_log(dns, "AXFR %s %s %u", copy->server->name, model_dns_text(&name, copy->apex),
                  zone_serial(zone));
    model_dns_witness(dns, zone);
    if (copy->has_serial && !serial_is_before(copy->serial, zone_serial(zone)))
        model_dns_break(dns, "%s: after serial %u came %u", name.at, copy->serial,
                        zone_serial(zone));
    zone_unref(copy->zone);
    copy->zone = zone;
    copy->has_serial = true;
    copy->serial = zone_serial(zone);
}

static bool open_answer(struct model_secondary *server, struct primary_frontend *frontend,
                        const struct buffer *octets, bool is_tcp, struct dns_answer *answer)
{
    struct dns_server_request request = {
        .octets = buffer_text(octets), .is_tcp = is_tcp, .port = 1024};
    memcpy(request.address, server->config->octets, sizeof request.address);
    return primary_frontend_ask(frontend, &request, answer);
}

static bool ask_soa(struct model_secondary *server, struct dname apex,
                    struct primary_frontend *frontend, const struct tsig_key *key, uint32_t *serial,
                    struct error *err)
{
    AUTO_BUFFER octets = {0};
    AUTO_BUFFER message = {0};
    struct tsig_mac mac;
    struct dns_answer answer;
    bool has_serial = false;
    uint16_t id = ++server->dns->last_id;
    must(primary_probe(&octets, id, apex, key, now_s(server), &mac, err));
    if (!open_answer(server, frontend, &octets, false, &answer))
        return error_set(err, FAULT_AGAIN, "", "no answer");
    bool has = answer.next(answer.context, &message);
    answer.end(answer.context, has);
    if (!has)
        return error_set(err, FAULT_AGAIN, "", "no answer");
    if (!primary_reply(buffer_text(&message), id, apex, key, now_s(server), &mac, &has_serial,
                       serial, err))
        return false;
    return has_serial || error_set(err, FAULT_AGAIN, "", "no SOA");
}

bool model_secondary_ask(struct model_secondary *server, struct dname apex, uint32_t *serial,
                         struct error *err)
{
    struct tsig_key key = {0};
    struct primary_frontend *frontend = server->dns->primaries[0].frontend;
    if (!frontend)
        return error_set(err, FAULT_AGAIN, "", "nobody is there");
    bool has_key = key_of(server, &key);
    bool is_good = ask_soa(server, apex, frontend, has_key ? &key : NULL, serial, err);
    tsig_key_done(&key);
    return is_good;
}

static struct zone *handle_all(const struct model_secondary *server, struct transfer *transfer,
                               const struct dns_answer *answer)
{
    struct error err;
    struct zone *zone = NULL;
    for (bool is_good = true; is_good;) {
        AUTO_BUFFER message = {0};
        is_good = answer->next(answer->context, &message) &&
                  transfer_read_reply(transfer, buffer_text(&message), now_s(server), &zone, &err);
    }
    return zone;
}

// NULL: it did not come whole.
static struct zone *transfer_zone(struct model_copy *copy, const struct model_primary *primary,
                                  const struct tsig_key *key)
{
    AUTO_BUFFER octets = {0};
    struct dns_answer answer;
    struct error err;
    enum model_dns_fault fault = DNS_FAILS;
    struct model_secondary *server = copy->server;
    struct zone *zone = NULL;
    CLEANUP(transfer) struct transfer *transfer = transfer_new(copy->apex, key);
    bool is_met = model_dns_meets(server->dns, &fault);
    must(transfer_request(transfer, ++server->dns->last_id, now_s(server), &octets, &err));
    if (!open_answer(server, primary->frontend, &octets, true, &answer))
        return NULL;
    if (!is_met || fault != DNS_FAILS)
        zone = handle_all(server, transfer, &answer);
    answer.end(answer.context, zone && !is_met);
    if (is_met && fault == DNS_SILENCE)
        loop_stop(primary->loop);
    return zone;
}

static bool fetch_from(struct model_copy *copy, const struct model_primary *primary,
                       const struct tsig_key *key)
{
    uint32_t serial = 0;
    struct error err;
    if (!ask_soa(copy->server, copy->apex, primary->frontend, key, &serial, &err))
        return false;
    if (copy->has_serial && !serial_is_before(copy->serial, serial))
        return true;
    struct zone *zone = transfer_zone(copy, primary, key);
    bool is_whole = zone != NULL;
    if (copy->server->mood == MOOD_UNABLE)
        zone_unref(zone);
    else if (zone)
        keep(copy, zone);
    return is_whole;
}

static void fetch(void *context)
{
    struct model_copy *copy = context;
    struct model_secondary *server = copy->server;
    struct tsig_key key = {0};
    bool is_good = false;
    if (server->mood == MOOD_DOWN || server->mood == MOOD_SILENT || server->mood == MOOD_STUCK ||
        !server->config)
        return;
    bool has_key = key_of(server, &key);
    for (size_t i = 0; i < MODEL_PRIMARIES && !is_good; i++)
        if (server->dns->primaries[i].frontend)
            is_good = fetch_from(copy, &server->dns->primaries[i], has_key ? &key : NULL);
    tsig_key_done(&key);
    if (!is_good)
        fetch_after(copy, RETRY_MS);
}

// ---- answering ----------------------------------------------------------------------------------

static void add_u16(struct buffer *out, unsigned number)
{
    buffer_add_char(out, (char)(number >> 8));
    buffer_add_char(out, (char)number);
}

static void add_u32(struct buffer *out, uint32_t number)
{
    add_u16(out, number >> 16);
    add_u16(out, number & 0xffff);
}

static void write_head(struct buffer *out, const struct message *asked, struct text octets,
                       struct dname name, unsigned rcode, unsigned answers)
{
    add_u16(out, asked->id);
    add_u16(out, 0x8400 | asked->opcode << 11 | rcode);
    add_u16(out, 1);
    add_u16(out, answers);
    add_u32(out, 0);
    buffer_add(out, octets.at + HEADER_OCTETS, name.len + 4);
}

static uint32_t answered_serial(const struct model_copy *copy)
{
    const struct model_secondary *server = copy->server;
    bool is_forged = server->mood == MOOD_FORGED && !server->handles_tcp;
    return copy->serial + (server->config->signs ? SIGNING_STEP : 0) +
           (is_forged ? FORGED_STEP : 0);
}

static void write_soa(struct buffer *out, const struct model_copy *copy)
{
    static const char nobody[2 + SOA_NUMBERS] = "";
    size_t cursor = 0;
    struct text rdata = {nobody, sizeof nobody};
    if (copy->zone)
        rrset_next(zone_soa(copy->zone), &cursor, &rdata);
    add_u16(out, 0xc000 | HEADER_OCTETS);
    add_u16(out, RR_SOA);
    add_u16(out, 1);
    add_u32(out, 3600);
    add_u16(out, (unsigned)rdata.len);
    buffer_add(out, rdata.at, rdata.len - SOA_NUMBERS);
    add_u32(out, answered_serial(copy));
    buffer_add(out, rdata.at + rdata.len - SOA_NUMBERS + 4, SOA_NUMBERS - 4);
}

static void be_notified(struct model_copy *copy, const struct message *asked)
{
    AUTO_BUFFER name = {0};
    struct model_dns *dns = copy->server->dns;
    struct model_past *past = model_dns_past(dns, copy->apex);
    model_dns_text(&name, copy->apex);
    bool is_back = past->has_reported && serial_is_before(asked->soa_serial, past->reported);
    if (is_back && !dns->is_excused)
        model_dns_break(dns, "%s: after NOTIFY of %u came one of %u", name.at, past->reported,
                        asked->soa_serial);
    past->has_reported = true;
    past->reported = is_back ? past->reported : asked->soa_serial;
    if (!copy->has_serial || serial_is_before(copy->serial, asked->soa_serial))
        fetch_after(copy, FETCH_MS);
}

static void answer_message(struct model_secondary *server, const struct message *asked,
                           struct text octets, struct dname name, struct buffer *out)
{
    struct model_copy *copy = find_copy(server, name);
    if (asked->opcode == OPCODE_NOTIFY) {
        be_notified(get_copy(server, name), asked);
        write_head(out, asked, octets, name, RCODE_NOERROR, 0);
    } else if (copy && copy->has_serial) {
        write_head(out, asked, octets, name, RCODE_NOERROR, 1);
        write_soa(out, copy);
    } else {
        write_head(out, asked, octets, name, RCODE_SERVFAIL, 0);
    }
}

static void log_arrival(const struct model_secondary *server, const struct message *asked,
                        struct dname name)
{
    AUTO_BUFFER text = {0};
    model_dns_text(&text, name);
    if (asked->opcode == OPCODE_NOTIFY)
        model_dns_log(server->dns, "NOTIFY %s %s %u", server->name, text.at, asked->soa_serial);
    else
        model_dns_log(server->dns, "SOA %s %s", server->name, text.at);
}

static void refuse(struct text octets, const struct message *asked, struct dname name,
                   enum tsig_result result, const struct tsig_key *key, const struct tsig_mac *mac,
                   int64_t unix_s, struct buffer *out)
{
    struct error err;
    struct tsig_found found;
    unsigned code = result == TSIG_BADKEY    ? TSIG_ERROR_BADKEY
                    : result == TSIG_BADTIME ? TSIG_ERROR_BADTIME
                                             : TSIG_ERROR_BADSIG;
    must(tsig_find(octets, &found) == TSIG_GOOD);
    write_head(out, asked, octets, name, RCODE_NOTAUTH, 0);
    must(tsig_refuse(out, &found, code, key, mac, unix_s, &err));
}

static void answer_signed(struct model_secondary *server, const struct message *asked,
                          struct text octets, struct dname name, const struct tsig_key *key,
                          struct buffer *out)
{
    struct error err;
    struct tsig_mac mac = {.len = 0};
    struct tsig_mac reply_mac;
    size_t len;
    unsigned peer_error;
    enum tsig_result result =
        tsig_verify(octets, key, now_s(server), NULL, &len, &mac, &peer_error);
    if (result == TSIG_ABSENT) {
        write_head(out, asked, octets, name, RCODE_REFUSED, 0);
        return;
    }
    if (result != TSIG_GOOD) {
        refuse(octets, asked, name, result, key, &mac, now_s(server), out);
        return;
    }
    answer_message(server, asked, octets, name, out);
    must(tsig_sign(out, key, now_s(server), &mac, &reply_mac, &err));
}

bool model_secondary_handle_reply(struct model_secondary *server, struct text octets, bool is_tcp,
                                  struct buffer *out)
{
    struct message asked;
    uint8_t name_octets[DNAME_MAX];
    struct dname name;
    struct error err;
    struct tsig_key key = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    static const struct dname root = {(const uint8_t *)"", 1};
    if (!message_read(arena, octets, &asked, &err) ||
        !dname_read(asked.question_name, &root, DNAME_OF_FILE, name_octets, &name, &err))
        return false;
    log_arrival(server, &asked, name);
    server->handles_tcp = is_tcp;
    if (!key_of(server, &key)) {
        answer_message(server, &asked, octets, name, out);
        return true;
    }
    answer_signed(server, &asked, octets, name, &key, out);
    tsig_key_done(&key);
    return true;
}

// ---- one server ---------------------------------------------------------------------------------

void model_secondary_free(struct model_secondary *server)
{
    for (struct model_copy *copy; (copy = server->copies);) {
        server->copies = copy->next;
        copy_free(copy);
    }
    free(server->name);
    free(server);
}

void model_secondary_set_mood(struct model_secondary *server, enum model_mood mood)
{
    server->mood = mood;
    for (struct model_copy *copy = server->copies; copy; copy = copy->next)
        if (mood == MOOD_WELL)
            fetch_after(copy, FETCH_MS);
}

void model_secondary_set_clock(struct model_secondary *server, int64_t ahead_ms)
{
    server->ahead_ms = ahead_ms;
}

void model_secondary_set_serial(struct model_secondary *server, struct dname apex, uint32_t serial)
{
    struct model_copy *copy = get_copy(server, apex);
    copy->has_serial = true;
    copy->serial = serial;
}

void model_secondary_forget(struct model_secondary *server, struct dname apex)
{
    struct model_past *past = model_dns_past(server->dns, apex);
    struct model_copy *copy = get_copy(server, apex);
    past->count = 0;
    past->has_reported = false;
    zone_unref(copy->zone);
    copy->zone = NULL;
    copy->has_serial = false;
}

bool model_secondary_serial(const struct model_secondary *server, struct dname apex,
                            uint32_t *serial)
{
    const struct model_copy *copy = find_copy(server, apex);
    if (!copy || !copy->has_serial || server->mood == MOOD_DOWN)
        return false;
    *serial = copy->serial;
    return true;
}

const struct zone *model_secondary_at(const struct model_secondary *server, size_t at)
{
    for (const struct model_copy *copy = server->copies; copy; copy = copy->next)
        if (copy->zone && !at--)
            return copy->zone;
    return NULL;
}

const char *model_secondary_name(const struct model_secondary *server)
{
    return server->name;
}
