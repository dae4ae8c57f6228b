#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "dns/message.h"
#include "providers/rfc2136/answered_set.h"
#include "providers/rfc2136/session.h"

// One change on its way through the steps of an exchange. It is open until its outcome is known.
// Errors of an item live in the job's arena.

// How it goes on, once it is known whose the set is.
enum item_plan {
    PLAN_PLAIN, // no ownership record is kept for it
    PLAN_QUERY, // whose it is has to be asked
    // Nothing is to be changed, if all is as the queries showed: prerequisites prove that.
    PLAN_KEEP,   // SET: ours, and as wanted
    PLAN_REFUSE, // SET: somebody else's stands there
    PLAN_LEAVE,  // REMOVE: nothing there is ours
    // Prerequisites make these fail if somebody else was first.
    PLAN_CREATE,
    PLAN_REPLACE,
    PLAN_REMOVE,
};

struct item {
    struct change *change;
    struct text name; // whole and normalised
    enum item_plan plan;
    bool was_there;
    bool is_sent;                     // an UPDATE with it was answered NOERROR
    struct text delegation;           // that hides it from queries, or absent
    const struct record_set *surplus; // SET at the apex: name servers that must go, and their TTL
    const struct record_set *found;   // READ: what the query showed, a wildcard's data perhaps
    // With an ownership record only:
    const struct txt_registry *registry;
    struct text txt_name;         // of the ownership record
    const struct record_set *txt; // what a query showed at that name, or NULL
    bool is_as_wanted;            // SET: so the query showed it
    unsigned contradictions;      // the zone was not as queries showed it
};

bool item_is_open(const struct item *item);
// A removal of what a query did not show. An UPDATE that was sent before us, by a process that died
// or did not wait, may still stand in the server's line: ours goes behind it all the same.
bool item_is_unseen_removal(const struct item *item);
const char *item_about(struct arena *arena, const struct item *item); // "www.example.com A"

// Joins the names and finds out whether an ownership record is kept; refuses what the zone can
// never hold.
bool item_accept(struct item *item, struct arena *arena, const struct rfc2136_session *session,
                 struct error *err);
// No less octets than what the item takes in a message, names written out; those of a set alone.
size_t item_octets(const struct item *item);
size_t item_set_octets(struct text name, const struct record_set *set);
// Deletes what stands there and adds what is wanted, whosever it is.
bool item_add_wanted(struct update *update, const struct item *item, struct error *err);
// What an UPDATE does for a PLAN_PLAIN. Name servers of the zone's apex never go as a set (RFC
// 2136 3.4.2.4): the wanted ones are added, then `surplus` is deleted. REMOVE and READ hold only if
// the set is in the zone (RFC 2136 2.4.1), which no wildcard and no delegation can feign or hide,
// but for a removal of what was not seen; READ changes nothing.
bool item_add(struct update *update, const struct item *item, struct error *err);

// It is done: as wanted already, with what the query found, or because nothing is there.
void item_end_unchanged(struct item *item);
void item_end_found(struct item *item);
void item_end_absent(struct item *item);
void item_end_removed(struct item *item); // by an UPDATE
void item_fail(struct item *item, struct arena *arena, const struct error *error);
// 400 INVALID_RECORD with the cause's text.
void item_refuse(struct item *item, struct arena *arena, const struct error *cause);
// The delegation hides it: `what` comes of that.
bool item_hidden_error(const struct item *item, struct text delegation, const char *what,
                       struct error *err);
