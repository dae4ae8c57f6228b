#pragma once

#include "base/value.h"
#include "frontends/intent/body_faults.h"
#include "frontends/intent/resource.h"

// Secrets that stand in bodies go into a Secret of their own, "<object>-credentials"; what refers
// to them there is shown as a mask, and a mask in a body keeps what stands there already.

#define SECRETS_MASK "********"
#define SECRETS_NO_VALUE "is a mask, and there is no value yet that it keeps"

const char *body_secrets_name(struct arena *arena, struct text object); // of that Secret
// What a body has of secrets, by their keys in that Secret. Maps, which the caller provides.
struct body_secrets {
    struct value *data; // new values as base64
    struct value *kept; // JSON pointers of what keeps the value that stands there
};
// Takes the secrets out of what a body brings for the item `name`. `map` refers to them from then
// on. `old` is what the item has so far, or NULL. Without `found` (NULL) no value is kept, and a
// mask stands for one that is not told.
void body_secrets_take(struct arena *arena, enum resource_id id, struct text name,
                       const char *secret, struct value *map, const struct value *old,
                       const struct body_secrets *found, struct body_faults *faults);
// Puts masks into what is shown, in place of what refers to that Secret.
void body_secrets_mask(struct arena *arena, enum resource_id id, const char *secret,
                       struct value *map);
// The keys of that Secret which an object's spec refers to, as a list of texts.
struct value *body_secrets_keys(struct arena *arena, const struct value *spec, const char *secret);
// Gives values in `data` keys that are not among the `taken` ones, and has the secretRefs of a
// record's `map` refer to those: the old value stays for who still refers to it.
void body_secrets_rekey(struct arena *arena, const char *secret, struct value *map,
                        const struct value *taken, struct value *data);
