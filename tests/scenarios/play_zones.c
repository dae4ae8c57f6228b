#include <stdlib.h>
#include <string.h>

#include "base/when.h"
#include "scenarios/play.h"

// Steps of the servers that follow us.

bool zone_word(const char *word, uint8_t octets[DNAME_MAX], struct dname *apex, struct error *err)
{
    return dname_read(text_of(word), NULL, DNAME_OF_FILE, octets, apex, err);
}

// zones <<END: the zones configuration from now on; secretFile has the secret itself. Its servers
// are there from then on.
bool play_zones(struct play *play, const struct step *step, struct error *err)
{
    return stage_set_zones(play->stage, step->text ? step->text : "", err);
}

static bool set_clock(struct model_secondary *server, const struct step *step, struct error *err)
{
    int64_t ms;
    bool is_minus = step_word(step, 3)[0] == '-';
    if (!duration_parse(text_of(step_word(step, 3) + is_minus), &ms, err))
        return false;
    model_secondary_set_clock(server, is_minus ? -ms : ms);
    return true;
}

static bool set_copy(struct model_secondary *server, const struct step *step, struct error *err)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    if (!zone_word(step_word(step, 3), octets, &apex, err))
        return false;
    if (!strcmp(step_word(step, 2), "forgets"))
        model_secondary_forget(server, apex);
    else
        model_secondary_set_serial(server, apex, (uint32_t)strtoul(step_word(step, 4), NULL, 10));
    return true;
}

// secondary NAME up | down | silent | wrong-key | stuck | unable | forged | clock -10m |
//     answers ZONE SERIAL | forgets ZONE
bool play_secondary(struct play *play, const struct step *step, struct error *err)
{
    static const char *const moods[] = {[MOOD_WELL] = "up",       [MOOD_DOWN] = "down",
                                        [MOOD_SILENT] = "silent", [MOOD_WRONG_KEY] = "wrong-key",
                                        [MOOD_STUCK] = "stuck",   [MOOD_UNABLE] = "unable",
                                        [MOOD_FORGED] = "forged"};
    const char *word = step_word(step, 2);
    struct model_secondary *server = model_dns_find(play->stage->dns, step_word(step, 1));
    if (!server)
        return fail(err, "no such server: %s", step_word(step, 1));
    for (size_t i = 0; i < COUNT_OF(moods); i++)
        if (!strcmp(word, moods[i])) {
            model_secondary_set_mood(server, (enum model_mood)i);
            return true;
        }
    if (!strcmp(word, "clock"))
        return set_clock(server, step, err);
    if (!strcmp(word, "answers") || !strcmp(word, "forgets"))
        return set_copy(server, step, err);
    return fail(err, "a server cannot do that: %s", word);
}
