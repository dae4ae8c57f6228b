#include "store/folder/secrets.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/secret.h"
#include "store/folder/managed.h"

static void wipe_buffer(struct buffer *buffer)
{
    if (buffer->at)
        secret_wipe(buffer->at, buffer->capacity);
    buffer_done(buffer);
}

bool secrets_write(struct state *state, const char *uid, const struct value *last_good,
                   struct error *err)
{
    __attribute__((cleanup(wipe_buffer))) struct buffer text = {0};
    value_write_json(&text, last_good);
    database_begin(state->database);
    database_do(state->database, NULL, "INSERT OR REPLACE INTO secrets VALUES (?, ?)", "tb",
                text_of(uid), buffer_text(&text));
    return state_commit(state, err);
}

struct value *secrets_read(const struct state *state, const char *uid, struct arena *arena)
{
    struct value *found = NULL;
    if (!state->database)
        return NULL;
    struct rows rows = database_ask(state->database, "SELECT document FROM secrets WHERE uid = ?",
                                    "t", text_of(uid));
    while (rows_next(&rows))
        found = value_read_json(arena, rows_text(&rows, 0), &managed_limits, NULL);
    rows_end(&rows, NULL);
    return found;
}

void secrets_remove(struct state *state, const char *uid)
{
    database_do(state->database, NULL, "DELETE FROM secrets WHERE uid = ?", "t", text_of(uid));
}

void secrets_sweep(struct state *state, bool (*is_known)(const void *context, const char *uid),
                   const void *context)
{
    struct rows rows = database_ask(state->database, "SELECT uid FROM secrets", "");
    while (rows_next(&rows)) {
        AUTO_BUFFER uid = {0};
        buffer_add(&uid, rows_text(&rows, 0).at, rows_text(&rows, 0).len);
        if (!is_known(context, uid.at))
            secrets_remove(state, uid.at);
    }
    rows_end(&rows, NULL);
}
