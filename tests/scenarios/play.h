#pragma once

#include "scenarios/script.h"
#include "scenarios/stage.h"

// Steps of a scenario on a stage.

struct torment; // of who runs the script

struct play {
    struct stage *stage;
    const struct script *script;
    bool is_torture;  // no expectations; time to recover after each wait
    bool with_extras; // steps that begin with `maybe` are taken
    size_t strike_at; // torture: that comes after that step; SIZE_MAX: never
    void (*strike)(struct stage *stage, const struct torment *torment);
    const struct torment *torment; // handed to it
};

// The first failure with its line; the stage stays as it is then.
bool play_run(struct play *play, struct error *err);

typedef bool play_step(struct play *play, const struct step *step, struct error *err);
// play_cluster.c: what only a cluster does.
play_step play_store;
play_step play_lead;
play_step play_watch;
play_step play_api;
// The option's duration, if it is there.
bool play_ms_option(const struct step *step, const char *name, int64_t *ms, struct error *err);

// expect.c: one `expect` step.
bool expect_step(struct stage *stage, const struct step *step, struct error *err);
bool fail(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
