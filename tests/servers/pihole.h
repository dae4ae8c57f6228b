#pragma once

#include "base/error.h"
#include "base/text.h"
#include "io/loop.h"
#include "model/model_pihole.h"
#include "resolver.h"
#include "wire.h"

// Private to the fake Pi-hole: the model, its face on the network, and the frontend by which tests
// steer it.

struct pihole {
    struct loop *loop;
    struct model_pihole *model;
    struct wire *api;
    struct wire *control;
    struct pihole_flying *flying; // requests of the API that came and have not ended
    struct resolver *resolver;    // NULL: none is wanted
    uint16_t port;
    uint64_t life;     // as the model counts them
    uint64_t served;   // what the resolver was given last
    int64_t read_ms;   // when lists were read that nobody has written over since; 0: they were
    bool is_real_time; // work takes as long as with the real one,
    int64_t works_ms;  // until then, and what came of it is served from then on
    struct loop_timer sync;
    char *certificate_pem;
    char *ca_pem;
};

// Brings ports, connections and resolver to what the model says, as soon as the stack is empty: for
// the calls of the API, whose client would be gone.
void pihole_sync_soon(struct pihole *pihole);
void pihole_sync_now(struct pihole *pihole);
// A new key and certificate (CN and SAN pi.hole) of a new CA, for connections from now on: good
// from 47 days before its end, which is so many seconds away (0 or less: expired).
bool pihole_renew(struct pihole *pihole, int64_t valid_s, struct error *err);

// Answers all that was due by then: what a busy machine answers late was answered before the
// restart that follows, which breaks its connection.
void pihole_answer_due(struct pihole *pihole, int64_t now_ms);

// The calls of the API, and those of the control frontend.
extern const struct wire_calls pihole_api_calls;
extern const struct wire_calls pihole_control_calls;
