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
    // Torture: what is called after the step of that number, from 0, of those that are counted
    // below; SIZE_MAX: never. With `strikes_process` only those of them count after which the
    // process runs.
    size_t strike_at;
    bool strikes_process;
    void (*strike)(struct stage *stage, const struct torment *torment);
    const struct torment *torment; // handed to it
    // Steps so far that change something, and those of them after which the process runs. What
    // strikes after another one (an expectation) strikes as after the step before it.
    size_t steps;
    size_t steps_running;
};

// The first failure with its line; the stage stays as it is then.
bool play_run(struct play *play, struct error *err);

typedef bool play_step(struct play *play, const struct step *step, struct error *err);
// play_cluster.c: what only a cluster does.
play_step play_store;
play_step play_lead;
play_step play_watch;
play_step play_api;
// play_zones.c: the servers that follow us.
play_step play_zones;
play_step play_secondary;
// play_pihole.c: Pi-holes.
play_step play_pihole;
play_step play_piholes;
// The option's duration, if it is there.
bool play_ms_option(const struct step *step, const char *name, int64_t *ms, struct error *err);

// expect.c: one `expect` step.
typedef bool expectation(struct stage *stage, const struct step *step, struct error *err);
expectation expect_step;
// expect_zones.c: of zones and the servers that follow us.
expectation expect_zone;
expectation expect_no_zone;
expectation expect_serial;
expectation expect_answer;
expectation expect_secondary;
expectation expect_sent;
expectation expect_label;
expectation expect_made;
expectation expect_no_label;
// play_pihole.c
expectation expect_pihole;
// The name of a zone as it stands in a script.
bool zone_word(const char *word, uint8_t octets[DNAME_MAX], struct dname *apex, struct error *err);
// The whole object that KEY names; NULL: it is gone. False: there is no such kind.
bool find_object(struct stage *stage, struct arena *arena, const char *text, struct value **tree,
                 struct error *err);
// "kept" is one of ours, "pihole.io/status" is whole.
const char *annotation_name(struct arena *arena, const char *word);
bool fail(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
