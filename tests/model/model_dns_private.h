#pragma once

#include "base/text.h"
#include "dns/tsig.h"
#include "model/model_dns.h"

// What the network and its servers know of each other.

// A zone at a server.
struct model_copy {
    struct model_secondary *server;
    struct model_copy *next; // in order of first sight
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    struct zone *zone; // NULL: none was transferred
    bool has_serial;
    uint32_t serial; // that it answers
    struct loop_timer timer;
};

struct model_secondary {
    struct model_dns *dns;
    struct model_secondary *next;
    char *name;
    const struct zones_server *config; // NULL: of none any more
    enum model_mood mood;
    int64_t ahead_ms;
    bool handles_tcp; // the message that it answers
    struct model_copy *copies;
};

// A zone, and what its serials stand for.
struct model_serial {
    uint32_t serial;
    uint8_t digest[32];
};
struct model_past {
    struct model_past *next;
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    struct model_serial *serials;
    size_t count;
    size_t capacity;
    bool has_reported;
    uint32_t reported; // by NOTIFY last
};

struct model_planned {
    unsigned skip;
    enum model_dns_fault fault;
};
enum { MODEL_DNS_FAULTS = 64 };

struct model_dnsnet {
    struct dnsnet net;
    struct model_dns *dns;
    struct loop *loop; // of who sends
    bool is_excused;
    bool (*may_send)(void *context); // NULL: whenever it likes
    void *context;
};
struct model_primary {
    struct primary_frontend *frontend; // NULL: nobody listens
    struct loop *loop;
};
struct model_dns {
    struct loop *loop;
    struct model_dnsnet net;
    struct model_primary primaries[MODEL_PRIMARIES];
    struct model_secondary *servers;
    struct model_past *pasts;
    struct dns_call *calls;
    char **log;
    size_t log_count;
    size_t log_capacity;
    size_t call_count;
    struct model_planned faults[MODEL_DNS_FAULTS];
    size_t fault_count;
    uint16_t last_id;
    bool is_excused; // who sent the message that arrives
    char *breach;
};

void model_dns_log(struct model_dns *dns, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void model_dns_break(struct model_dns *dns, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Does the message or transfer that begins now meet a fault?
bool model_dns_meets(struct model_dns *dns, enum model_dns_fault *fault);
struct model_past *model_dns_past(struct model_dns *dns, struct dname apex);
// The apex as text, in the buffer.
const char *model_dns_text(struct buffer *out, struct dname apex);

// A message arrives; false: it gets no answer.
bool model_secondary_handle_reply(struct model_secondary *server, struct text octets, bool is_tcp,
                                  struct buffer *out);
void model_secondary_free(struct model_secondary *server);
