#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/secret.h"
#include "base/url.h"
#include "providers/pihole/revision.h"
#include "providers/pihole/trouble.h"
#include "providers/provider.h"

// Private to the Pi-hole provider: one Pi-hole, what it told of itself, and our session there.

enum dialect { DIALECT_AUTO, DIALECT_V6, DIALECT_LEGACY };
enum { SID_MAX = 256, PIHOLE_CHANGES_MAX = 1000, BACKEND_NAME_MAX = 63 };

// What is asked before the first write; each is a question of its own.
enum preflight {
    PREFLIGHT_HOSTS,
    PREFLIGHT_CNAMES,
    PREFLIGHT_READ_ONLY,
    PREFLIGHT_APP_SUDO,
    PREFLIGHT_HOSTS_LOCAL,
    PREFLIGHT_DONE,
};

// Is "?restart=false" known there, with which a change of aliases waits for a later restart?
enum deferral { DEFERRAL_UNKNOWN, DEFERRAL_KNOWN, DEFERRAL_IGNORED };

// A restart of the resolver that we asked for, or another process before us: DUE until the API was
// seen to go, GONE until it is back. Until then nothing may be written for which Pi-hole tries its
// configuration: it would stand still for good.
enum restart_phase { RESTART_NONE, RESTART_DUE, RESTART_GONE };

struct pihole_instance {
    char *base; // normalised URL
    char *ca_pem;
    char *server_name;
    char *pin; // "sha256//..."; of configuration
    bool learns_pin;
    struct http_peer learned;
    bool is_unverified;
    enum dialect dialect; // AUTO until it is known
    enum revision_way way;
    bool has_tags; // our hosts lines carry a mark; else the ledger tells which are ours
    bool may_adopt;
    bool has_no_password;
    bool is_visitor; // only looks, beside whoever keeps this Pi-hole
    int64_t restart_min_ms;
    struct secret *password;
    char *owner_id;
    char *place; // which of our backends it is: "NAME.NUMBER#PROCESS"; or NULL: there is one alone
    char *user_agent;
    // Session.
    char sid[SID_MAX]; // "": none, or none needed
    bool is_in;
    bool is_app;
    bool is_swept;
    int64_t seats_in_use; // at the last login, ours included; -1: not told
    // What the preflight found, and how far it is.
    enum preflight preflight;
    int64_t preflight_ms; // mono
    bool is_read_only;
    bool lacks_app_sudo;
    bool is_forced[LIST_PARTS]; // set by environment
    bool hosts_restart;         // a change of hosts restarts the resolver
    bool hosts_are_local;       // dns.hostsLocal: for that it does, too
    int64_t dns_port;           // where its resolver listens; 0: not told
    // Mono; 0: never. The last write that restarts the resolver.
    int64_t restarted_ms;
    struct instance_restart {
        enum restart_phase phase;
        enum deferral deferral;
        int64_t since_ms;     // mono: of what was written
        int64_t unseen_by_ms; // mono: when nobody saw it until then, it is over
        bool is_doubtful;     // it was told not to restart, and may not know how
        bool is_owed;         // what is stored is not served before one
    } restart;
    char *refused_line; // somebody else's, that Pi-hole refuses; or NULL
    char *refused_text; // what to say of it
    struct line_set strangers;
    struct instance_standing { // record sets, as read last
        size_t ours[RECORD_TYPES];
        size_t others[RECORD_TYPES];
    } standing;
    struct {
        uint64_t *keys; // what was written last, and nobody knows what came of it
        size_t count;
        size_t capacity;
    } unanswered;
    struct seat_others {         // who write there, too
        struct content_id lines; // as read last
        bool is_known;
        int64_t changed_ms; // mono: when that was another than before; 0: never
    } others;
    bool has_listed; // and nothing has kept it from being changed since
    struct ladder ladder;
    struct instance_counts {
        int64_t logins;
        int64_t refused_logins;
        int64_t patches;
        int64_t elements; // batches that were written element by element
        int64_t restarts;
    } count;
};

extern const struct provider pihole_provider;

// A change of that list restarts the resolver.
bool instance_restarts(const struct pihole_instance *instance, enum list_part part);
// Whose our sessions are, at the end of their user agent.
void instance_write_mark(const struct pihole_instance *instance, struct buffer *out);
// Nothing at all may be written.
bool instance_is_blocked(const struct pihole_instance *instance);
struct list_rules instance_rules(const struct pihole_instance *instance,
                                 const struct ledger_view *ledger);
// Forgets the session and what was found in it.
void instance_forget_session(struct pihole_instance *instance);

void pihole_write_metrics(const struct session_view *seats, size_t count, struct buffer *out);
void *pihole_begin(void *instance, struct job *job);
enum ask_kind pihole_ask(void *exchange, const struct moment *moment, struct ask *out);
void pihole_handle_reply(void *exchange, const struct moment *moment,
                         const struct ask_result *result);
void pihole_end(void *exchange);
