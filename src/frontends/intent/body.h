#pragma once

#include "base/error.h"
#include "base/value.h"
#include "frontends/intent/body_faults.h"
#include "frontends/intent/resource.h"

// From EMCO's bodies, {"metadata": {...}, "spec": {...}}, to what the object or an entry of one of
// its lists has, and back.

enum { BODY_DEPTH_MAX = 32 };

struct body {
    struct text name;       // absent: it has none
    struct value *fields;   // of the object's spec, or the entry without its name
    struct text kubeconfig; // of a multipart body of a cluster; absent: none came
};

// Reads JSON, or multipart/form-data (parts `metadata` and `file`) where `content_type` says so.
// False: it is no document, with status 400 (empty, too deep, a key twice, something behind it) or
// 422 in `err`. Otherwise faults say what is wrong with it. Texts live in the arena, or as long as
// `octets`.
bool body_read(struct arena *arena, const struct resource *resource, const char *content_type,
               struct text octets, size_t octets_max, struct body *out, struct body_faults *faults,
               struct error *err);
// The same of a document that is read already, a map.
void body_take(struct arena *arena, const struct resource *resource, const struct value *document,
               struct body *out, struct body_faults *faults);

// {"metadata": {...}, "spec": {...}} of an item: `map` is the object's spec, or the entry.
struct value *body_view(struct arena *arena, const struct resource *resource, struct text name,
                        const struct value *map);
// Adds what a check of the whole object found: `place` is where the map stands in it ("spec",
// "spec.kvPairs[2]"), and pointers are those of the body.
void body_take_findings(const struct resource *resource, const char *place,
                        const struct findings *findings, struct body_faults *faults);
