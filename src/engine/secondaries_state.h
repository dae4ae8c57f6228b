#pragma once

#include "base/list.h"
#include "base/metric.h"
#include "base/table.h"
#include "engine/secondaries.h"

// What the files of secondaries know of each other (secondaries.c, secondary_*.c).

enum provider_exchange_type {
    PROVIDER_EXCHANGE_NOTIFY,
    PROVIDER_EXCHANGE_PROBE,
    PROVIDER_EXCHANGE_TYPES
};

struct secondary;
struct provider_exchange {
    struct link link; // of its server's line
    struct secondary *secondary;
    enum provider_exchange_type type;
    bool is_waiting;       // in its server's line
    struct dns_call *call; // NULL: none is under way
    uint16_t id;
    struct tsig_mac mac;
    bool is_tcp;
    unsigned times;  // since the version was told
    int64_t next_ms; // mono; 0: not before something happens
};

// A server of a configuration; what all zones share.
struct backend_counts {
    uint64_t by_result[PROVIDER_EXCHANGE_TYPES][3]; // answered, refused, not answered
    struct histogram seconds[PROVIDER_EXCHANGE_TYPES];
};
struct server_backend {
    struct secondaries *secondaries;
    char *name;
    size_t in_flight;
    LIST_OF(struct provider_exchange) line; // that wait, as too many are in flight
    struct loop_timer timer;
    bool is_silence_reported; // it cannot be reached, and that was logged
    struct backend_counts counts;
};

// A server and a zone.
struct secondary {
    struct followed *zone;
    const struct zones_server *server;
    struct server_backend *backend;
    struct provider_exchange exchanges[PROVIDER_EXCHANGE_TYPES];
    int64_t begun_ms[PROVIDER_EXCHANGE_TYPES];
    bool is_doubted;          // it answered what nobody vouches for: ask over TCP
    bool has_come;            // for the version told last
    int64_t fetched_ms;       // mono; 0: not since it is followed
    bool is_pushed;           // told again of that version, as it could not load it
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
    bool is_answered; // `heard` is due
    bool is_hushed;   // no NOTIFY
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
    struct server_backend **backends;
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
// One that has fetched is asked at once. One that only asks could do so for ever: it is asked anew
// only if it would wait for long.
void secondary_probe_soon(struct secondary *secondary, bool has_fetched);
void secondary_drain(void *context);
void secondary_ring(void *context);
void secondary_end_exchange(struct provider_exchange *provider_exchange);
void secondary_end_exchanges(struct followed *zone);
void secondary_take_fetches(struct followed *zone);
// News for all its servers: told now, asked soon.
void secondary_announce(struct followed *zone);
