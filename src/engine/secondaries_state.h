#pragma once

#include "base/list.h"
#include "base/metric.h"
#include "base/table.h"
#include "engine/secondaries.h"

// What only the files of secondaries (secondaries.c, secondary_*.c) know.

enum secondary_exchange_type { SECONDARY_NOTIFY, SECONDARY_PROBE, SECONDARY_EXCHANGE_TYPES };

struct secondary;
// A NOTIFY to a server (RFC 1996), or a query for its SOA.
struct secondary_exchange {
    struct link link; // of its server's queue
    struct secondary *secondary;
    enum secondary_exchange_type type;
    bool is_waiting;       // in its server's queue
    struct dns_call *call; // NULL: none is under way
    uint16_t id;
    struct tsig_mac mac;
    bool is_tcp;
    unsigned times;  // since the version was announced
    int64_t next_ms; // mono; 0: when something happens
};

// A server of the zones configuration, as far as all zones share it.
struct backend_counts {
    uint64_t by_result[SECONDARY_EXCHANGE_TYPES][3]; // answered, refused, not answered
    struct histogram seconds[SECONDARY_EXCHANGE_TYPES];
};
struct secondary_server {
    struct secondaries *secondaries;
    char *name;
    size_t in_flight;
    LIST_OF(struct secondary_exchange) line; // those that wait because too many are in flight
    struct loop_timer timer;
    bool is_silence_reported; // it cannot be reached, and that was logged
    struct backend_counts counts;
};

// A server as it follows one zone.
struct secondary {
    struct followed *zone;
    const struct zones_server *server;
    struct secondary_server *backend;
    struct secondary_exchange exchanges[SECONDARY_EXCHANGE_TYPES];
    int64_t begun_ms[SECONDARY_EXCHANGE_TYPES];
    bool is_doubted;          // its answer may be forged: it is asked again over TCP
    bool has_come;            // it asked for the version that was announced last
    int64_t fetched_ms;       // mono: its last transfer; 0: none yet
    bool is_pushed;           // that version was announced again, as it could not load it
    bool is_refusal_reported; // it refuses NOTIFY, and that was logged
};

struct followed {
    struct secondaries *secondaries;
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    char *group;
    struct rrset *soa;
    uint32_t serial;
    struct secondary *items;
    struct server_view *views;
    size_t count;
    struct loop_timer timer;
    bool is_answered; // `reported` is due
    bool is_paused;   // no NOTIFY is sent
};

struct secondaries {
    struct secondaries_options options;
    struct loop *loop;
    const struct zones_config *config;
    bool is_leading;
    struct followed **zones; // NULL: free
    size_t capacity;
    uint32_t used;
    struct table by_apex;
    struct secondary_server **backends;
    size_t backend_count;
    size_t backend_capacity;
    size_t in_flight;
    bool is_reporting;
};

// secondaries.c
void secondary_report_answer(struct followed *zone);
struct server_view *secondary_view(const struct secondary *secondary);

// secondary_exchange.c
void secondary_schedule(struct followed *zone);
bool secondary_is_same_view(const struct server_view *a, const struct server_view *b);
// Queries the serial of a server that has just been in contact, soon: one that completed a transfer
// always, one that only asked if its next query is far off, as it may ask for ever.
void secondary_probe_soon(struct secondary *secondary, bool has_fetched);
void secondary_drain(void *context);
void secondary_on_timer(void *context);
void secondary_end_exchange(struct secondary_exchange *exchange);
void secondary_end_exchanges(struct followed *zone);
void secondary_take_fetches(struct followed *zone);
// The zone has a new version: sends NOTIFY to all its servers now, and queries their serial soon.
void secondary_announce(struct followed *zone);
