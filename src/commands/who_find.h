#pragma once

#include "commands/view.h"
#include "dns/dname.h"

// What the objects of a view have to do with one name of the DNS, for `signpost who`. Pure: it goes
// by what each kind lists of its objects (struct kind, list_names) and by their rows. All lives in
// the view's arena.

enum who_state { WHO_RIGHT, WHO_PENDING, WHO_WRONG };

// One object and a name that it lists.
struct who_entry {
    const struct view_row *row;
    struct kind_name name;
    const char *shown; // that name, without its final dot
    struct dname dname;
    uint16_t type; // 0: none in particular, or not a type of RRs
    enum who_state state;
    const char *reason; // as are the next two: "" when there is none
    const char *message;
    const char *since;
    const struct view_row *through; // NULL: there is no such object, or none is named
    bool has_question;              // what a name server ought to answer is known
    enum answer answer;             // of the one that was asked
    const char *answer_text;
};

enum { WHO_NEAREST_MAX = 3 };

struct who {
    struct view *view;
    const char *shown; // "www.home.example"
    const char *typed; // the name in another script, as given; or NULL
    struct dname name;
    uint16_t type;             // 0: all of them
    struct who_entry *entries; // that declare the name, or the wildcard that covers it
    size_t count;
    const char *wildcard;            // "*.home.example"; NULL: the name is declared itself
    struct who_entry *zone;          // of the zones of ours around the name the innermost; or NULL
    struct who_entry *place;         // likewise, through which its records could go
    struct who_entry *cut;           // the delegation to others that it lies below; or NULL
    struct who_entry *forward;       // who has its queries asked elsewhere; or NULL
    const struct who_entry *mention; // an object that has the name and declares nothing; or NULL
    const char *other_types;         // that the name has: "A, AAAA"; "" when there are none
    const char *below;               // a declared name below it; NULL: there is none
    const char *closest;             // without a zone around the name: the nearest one; or NULL
    const char *nearest[WHO_NEAREST_MAX]; // declared names that are spelled nearly so
    size_t nearest_count;
};

// `name` is made fit here: case, a final dot and other scripts are all right. False: it is no name.
bool who_find(struct who *who, struct view *view, struct text name, uint16_t type,
              struct error *err);
// Does something declare the name, or have its queries forwarded, and is all of that in order?
bool who_is_right(const struct who *who);
