#pragma once

#include "dns/record.h"

// What a name server ought to answer, as an object declares it: all of a record set, or one record
// of it among those of other objects.

struct name_question {
    struct text name; // no final dot
    uint16_t type;    // of RRs
    bool has_ttl;     // the object says one; else something that it belongs to does
    uint32_t ttl_s;
    struct record_set set; // all of it; unless
    struct text rdata;     // this record, in wire format, is wanted among others
};

static inline bool question_is_of_one(const struct name_question *question)
{
    return question->rdata.at != NULL;
}
// Is it the same record set that they ask for?
bool question_is_same(const struct name_question *a, const struct name_question *b);
// Do they want the same values there? The TTL does not count.
bool question_wants_same(const struct name_question *a, const struct name_question *b);
struct name_question question_copy(struct arena *arena, const struct name_question *question);
