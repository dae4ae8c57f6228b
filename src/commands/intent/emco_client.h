#pragma once

#include "base/value.h"
#include "commands/option.h"

// Reads the REST API of an EMCO, or of a Signpost, one request after another; each runs the loop.
//
//     CLEANUP(emco_client) struct emco_client *client = emco_client_new(invocation, &err);
//     struct value *clouds = emco_client_list(client, arena, "/v2/projects/p/logical-clouds",
//     &err);

struct emco_client;
// As the options say; NULL: they cannot be.
struct emco_client *emco_client_new(struct invocation *invocation, struct error *err);
void emco_client_free(struct emco_client *client); // accepts NULL
DEFINE_CLEANUP(emco_client, emco_client_free)

// The object at a path, which has that name if one is given, in the arena. NULL: err names the URL
// and says what to do; its status is that of the answer, 0 where there was none or it was not what
// is wanted.
struct value *emco_client_get(struct emco_client *client, struct arena *arena, const char *path,
                              struct text name, struct error *err);
// All objects of a list, whatever pages it comes in; NULL as above.
struct value *emco_client_list(struct emco_client *client, struct arena *arena, const char *path,
                               struct error *err);

enum { EMCO_OPTION_COUNT = 5 };
extern const struct option emco_options[EMCO_OPTION_COUNT];
