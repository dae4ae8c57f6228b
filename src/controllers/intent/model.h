#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "engine/controller.h"
#include "kinds/condition.h"
#include "kinds/emco_metadata.h"

// The shared model of the intent controllers. It finds objects by name for both of them, knows
// which publications a change concerns, which publication holds a name in a record, and who uses a
// record. What a publication comes to (resolve.h) is worked out from it.

extern const struct shared_model intent_shared_model;

struct intent_model;

// ---- objects ------------------------------------------------------------------------------------

// Looks objects up for one publication. Whatever is asked for is noted, also what is not there: a
// change of it concerns the publication.
struct model_reader {
    const struct intent_model *model;
    struct arena *arena;
    uint64_t *inputs; // hashes of what was asked for
    size_t input_count;
    size_t input_capacity;
};
// By namespace (empty: the kind has none) and object name. NULL: there is none.
const struct object *model_find(struct model_reader *reader, const struct kind *kind,
                                struct text namespace_, struct text name);
// When the deletion of a namespace began, in which nothing can be made since (Unix); 0: it has not.
int64_t model_namespace_ends(struct model_reader *reader, struct text namespace_);
// Notes that any object of the kind in that namespace matters (an empty one: all of the kind), and
// walks over none of them.
void model_note_all(struct model_reader *reader, const struct kind *kind, struct text namespace_);
// The Nodes, in no order that means anything.
const struct object *const *model_nodes(struct model_reader *reader, size_t *count);
// TrafficGroupIntents of the deployment intent group with these coordinates, by name.
const struct object *const *model_intents(struct model_reader *reader, struct text namespace_,
                                          const struct emco_coordinates *coordinates,
                                          size_t *count);
// The EMCO name of the project that a namespace is. Lives in the reader's arena.
struct text model_project(struct model_reader *reader, struct text namespace_);
// The namespace of a project; absent: there is none of that name.
struct text model_namespace(struct model_reader *reader, struct text project);

// ---- names --------------------------------------------------------------------------------------

// A name in a DNS update record.
struct update_record;
struct record_name {
    const struct object *object;
    const struct update_record *record;
    struct text name;
};
// Who stands in the way of a publication that wants a name in a record: another one that is older,
// or whose own record of that zone still has the name at the server. NULL: nobody. `ttl_s` goes to
// *ttl_s where an older publication of the same share group has the name, too; otherwise that stays
// as it is.
const struct object *intent_model_holder(const struct model_reader *reader,
                                         const struct object *publication,
                                         const struct record_name *name, int64_t *ttl_s);
// The DNSPublication of that name; NULL: there is none.
const struct object *intent_model_find_publication(const struct intent_model *model,
                                                   struct text namespace_, struct text name);

// Does another publication have the name in the record, and does not let it go?
bool intent_model_is_taken(const struct model_reader *reader, const struct object *publication,
                           const struct record_name *name);

// ---- records ------------------------------------------------------------------------------------

// A publication that publishes by a record, or whose names may still stand at its provider.
struct record_user {
    struct text namespace_; // of the DNSPublication
    struct text name;
    struct text project; // EMCO names
    struct text composite_app;
    struct text version;
    struct text group;
    size_t names;
    bool is_written;  // names of it may stand at the record's provider
    bool is_draining; // its names go, and that is not proven yet
    bool is_awaited;  // names of it have yet to be carried out
    bool is_carried;  // somebody may have carried some to the provider
    // "shop.example.org: " and why that name is not carried out, as far as the publication is told;
    // NULL: all names are. Borrowed.
    const char *failure;
    enum reason failure_reason;
};
struct record_view {
    struct text project;             // EMCO name of what its namespace is
    const struct record_user *users; // by project and coordinates
    size_t user_count;
    size_t listed; // publications whose logical cloud or clusters list it, wanted or not
    const struct object *lister; // one of those; NULL: there is none
    bool is_ending;              // its namespace is being deleted
    // Another record that has the same effective owner id and is older; NULL: none.
    const struct object *owner_holder;
};
void intent_model_record(const void *model, struct arena *arena, const struct object *record,
                         struct record_view *out);
