#pragma once

#include "commands/proposal.h"
#include "commands/setup.h"

// Carries a plan out, and nothing but the plan: takes the lock or the Lease as a replica would,
// takes the turns, and holds back every change that the plan does not have.

enum carry_end {
    CARRY_WAITING, // nothing came of it (yet)
    CARRY_DONE,
    CARRY_FAILED,
};
struct carry_result {
    enum carry_end end;
    const char *text; // WAITING, FAILED: why, if known; in the proposal's arena
};

struct carry {
    struct setup *setup;
    const struct proposal *plan;
    int64_t timeout_ms;
    struct carry_result *results; // by change of the plan
    const char *holder;           // who leads in our place, so that nothing was done; or NULL
};
// Until nothing more can be done for it. False: it could not begin, err says why.
bool plan_carry(struct carry *carry, struct error *err);
