#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/faulty_disk.h"
#include "model/virtual_loop.h"

// A day in the life of a folder, run again with each change of the disk failing once, and with the
// process dying before, after and in the midst of each. However it goes, it ends the same, and what
// was answered holds.

enum { NAMES_MAX = 16, ROUNDS_MAX = 60, HEAVY_OCTETS = 1400 * 1024 };

// What the engine was told: that a claim stands, that the object was let go.
struct promise {
    char name[64];
    uint8_t uid[16];
    bool is_claimed;
    bool is_going; // asked to let it go: without an answer it may have left, or not
    bool is_released;
};

struct day {
    struct rig *rig;
    struct promise promises[NAMES_MAX];
    size_t count;
    bool is_waiting;
    bool is_losing;  // a death takes what was not synced along
    bool is_heavy;   // claims so large that a few of them fill the database's log
    int64_t look_ms; // that a look at the clock takes
    unsigned deaths;
    char *claims;
};

static struct promise *promise_of(struct day *day, const struct object *object)
{
    AUTO_BUFFER name = {0};
    object_write_name(&name, object);
    for (size_t i = 0; i < day->count; i++)
        if (strcmp(day->promises[i].name, name.at) == 0 &&
            memcmp(day->promises[i].uid, object->uid, 16) == 0)
            return &day->promises[i];
    assert_true(day->count < NAMES_MAX);
    struct promise *promise = &day->promises[day->count++];
    *promise = (struct promise){.is_claimed = false};
    snprintf(promise->name, sizeof promise->name, "%s", name.at);
    memcpy(promise->uid, object->uid, 16);
    return promise;
}

// ---- an engine of a few lines -------------------------------------------------------------------

struct task {
    struct day *day;
    const struct object *object;
};

static void claimed(void *context, const struct store_reply *reply)
{
    struct task *task = context;
    if (reply->is_ok)
        promise_of(task->day, task->object)->is_claimed = true;
    task->day->is_waiting = false;
}

static void released(void *context, const struct store_reply *reply)
{
    struct task *task = context;
    if (reply->is_ok)
        promise_of(task->day, task->object)->is_released = true;
    task->day->is_waiting = false;
}

static void patched(void *context, const struct store_reply *reply)
{
    struct task *task = context;
    (void)reply;
    task->day->is_waiting = false;
}

static bool has_status(const struct object *object)
{
    return object_has_status(object);
}

static bool is_token(const struct object *object)
{
    return strcmp(object->kind->name, "Token") == 0;
}

static const char *claims_of(struct day *day)
{
    if (!day->is_heavy)
        return "[1]";
    if (!day->claims)
        day->claims = mem_new(1, HEAVY_OCTETS + 1);
    memset(day->claims, 'x', HEAVY_OCTETS);
    memcpy(day->claims, "[1]", 3);
    return day->claims;
}

static bool begin_task(struct task *task)
{
    const struct metadata_change claims = {.key = RIG_CLAIMS, .value = claims_of(task->day)};
    struct store *store = task->day->rig->store;
    const struct object *object = task->object;
    CLEANUP(arena) struct arena *arena = arena_new();
    if (is_token(object) || (object->deleted_s && !object->has_finalizer))
        return false;
    if (object->deleted_s) {
        promise_of(task->day, object)->is_going = true;
        store_remove_finalizer(store, object, released, task);
    } else if (!object->has_finalizer) {
        store_apply(store, &(struct store_apply){object, true, &claims, 1}, claimed, task);
    } else if (!has_status(object)) {
        const struct value *status =
            value_read_json(arena, TEXT("{\"state\":\"Created\"}"), &value_reply_limits, NULL);
        store_patch_status(store, object, status, patched, task);
    } else {
        return false;
    }
    return true;
}

struct collection {
    const struct object *objects[NAMES_MAX];
    size_t count;
};

static void collect(void *context, const struct object *object)
{
    struct collection *collection = context;
    assert_true(collection->count < NAMES_MAX);
    collection->objects[collection->count++] = object_ref(object);
}

static bool has_died(struct day *day)
{
    return faulty_disk_is_stopped(day->rig->disk);
}

// Does what there is to do, an object after the other. False when there was nothing, or we died.
static bool work(struct day *day)
{
    struct collection collection = {.count = 0};
    bool has_worked = false;
    if (!day->rig->is_leading)
        return false;
    cache_each(day->rig->store->cache, NULL, collect, &collection);
    for (size_t i = 0; i < collection.count; i++) {
        struct task task = {day, collection.objects[i]};
        day->is_waiting = !has_died(day) && begin_task(&task);
        has_worked = has_worked || day->is_waiting;
        for (int turns = 0; day->is_waiting && !has_died(day) && turns < 10; turns++)
            rig_run(day->rig, 10 * day->look_ms);
        if (day->is_waiting)
            rig_drop(day->rig); // its callbacks point here
        day->is_waiting = false;
        if (!day->rig->store)
            break;
    }
    for (size_t i = 0; i < collection.count; i++)
        object_unref(collection.objects[i]);
    return has_worked && day->rig->store;
}

// ---- promises -----------------------------------------------------------------------------------

static const struct object *find_promised(struct day *day, const struct promise *promise)
{
    struct collection collection = {.count = 0};
    const struct object *found = NULL;
    cache_each(day->rig->store->cache, NULL, collect, &collection);
    for (size_t i = 0; i < collection.count; i++) {
        AUTO_BUFFER name = {0};
        object_write_name(&name, collection.objects[i]);
        if (strcmp(name.at, promise->name) == 0 &&
            memcmp(collection.objects[i]->uid, promise->uid, 16) == 0)
            found = collection.objects[i];
    }
    for (size_t i = 0; i < collection.count; i++)
        object_unref(collection.objects[i]);
    return found;
}

// What was answered before the death holds after it.
static void check_promises(struct day *day)
{
    for (size_t i = 0; i < day->count; i++) {
        const struct promise *promise = &day->promises[i];
        const struct object *object = find_promised(day, promise);
        if (promise->is_released) {
            assert_null(object);
            continue;
        }
        if (!promise->is_claimed || (promise->is_going && !object))
            continue;
        assert_non_null(object);
        assert_true(object->has_finalizer);
        struct pack_reader ours = pack_open(object_managed(object));
        if (object->kind->pack_managed)
            assert_true(text_starts(unpack_text(&ours), "[1]"));
        assert_true(object->spec_len > 4);
    }
}

// Torn, empty or gone, one after the other.
static void lose(struct day *day, const char *path, unsigned how)
{
    AUTO_BUFFER text = {0};
    if (!rig_has(day->rig, path))
        return;
    if (how % 3 == 0) {
        rig_remove(day->rig, path);
        return;
    }
    buffer_add_text(&text, rig_read(day->rig, path));
    rig_write(day->rig, path, how % 3 == 1 ? "" : text.at);
    if (how % 3 == 2) {
        text.at[text.len / 2] = '\0';
        rig_write(day->rig, path, text.at);
    }
}

static void lose_status_files(struct day *day)
{
    static const char *const paths[] = {"a.yaml.status", "b.yaml.status", "c.yaml.status",
                                        "sub/t.yaml.status"};
    for (unsigned i = 0; i < COUNT_OF(paths); i++)
        lose(day, paths[i], i + day->deaths);
}

static void restart(struct day *day)
{
    rig_restart(day->rig);
    for (int round = 0; round < ROUNDS_MAX && !day->rig->is_synced; round++)
        rig_run(day->rig, 10 * day->look_ms);
}

static void open_again(struct day *day)
{
    day->deaths++;
    rig_drop(day->rig);
    if (day->is_losing)
        lose_status_files(day);
    restart(day);
    check_promises(day);
}

// Runs until everything is quiet, whatever happens meanwhile.
static void settle(struct day *day)
{
    bool is_busy = true;
    for (int round = 0; round < ROUNDS_MAX && is_busy; round++) {
        rig_run(day->rig, 1200 + 500 * day->look_ms);
        if (has_died(day) || !day->rig->store) {
            open_again(day);
            continue;
        }
        is_busy = work(day) || has_died(day) || !day->rig->store ||
                  strcmp(rig_check(day->rig, "store"), "ok") != 0;
    }
    assert_false(is_busy);
}

// ---- the day ------------------------------------------------------------------------------------

static void start(struct day *day)
{
    if (!rig_try_open(day->rig) || has_died(day))
        open_again(day);
    settle(day);
}

#define OLD THING("a1", "value: a\n  place: here") THING("a2", "value: b")

static void morning(struct day *day)
{
    rig_write(day->rig, "a.yaml", OLD);
    rig_write(day->rig, "sub/t.yaml", TOKEN("t", "eA==") PLACE("home", "secret: whisper"));
    start(day);
}

static void edit(struct day *day)
{
    rig_write(day->rig, "a.yaml", THING("a1", "value: c\n  place: here") THING("a3", "value: d"));
    settle(day);
}

static void move(struct day *day)
{
    rig_write(day->rig, "b.yaml", THING("a1", "value: c\n  place: here"));
    rig_write(day->rig, "a.yaml", THING("a3", "value: d"));
    settle(day);
}

static void slip(struct day *day)
{
    rig_write(day->rig, "a.yaml", THING("a3", "valeu: d") THING("a1", "value: x"));
    rig_write(day->rig, "sub/t.yaml", "oops: [\n");
    settle(day);
}

static void mend(struct day *day)
{
    rig_write(day->rig, "a.yaml", THING("a3", "value: e"));
    rig_write(day->rig, "sub/t.yaml", TOKEN("t", "eQ==") PLACE("home", "secret: louder"));
    settle(day);
}

static void clear_up(struct day *day)
{
    AUTO_BUFFER sub = {0};
    buffer_printf(&sub, "%s/sub", day->rig->dir);
    rig_remove(day->rig, "b.yaml");
    test_folder_remove(sub.at);
    settle(day);
}

static void night(struct day *day)
{
    rig_drop(day->rig);
    rig_write(day->rig, "c.yaml", THING("a3", "value: e") THING("a1", "value: new"));
    rig_remove(day->rig, "a.yaml");
    start(day);
}

static void (*const hours[])(struct day *day) = {morning, edit, move, slip, mend, clear_up, night};

// ---- the end ------------------------------------------------------------------------------------

static void describe(void *context, const struct object *object)
{
    struct buffer *out = context;
    buffer_printf(out, "%s ", object->kind->name);
    object_write_name(out, object);
    buffer_printf(out, " g%u f%d d%d s%llx o%llx\n", object->generation, object->has_finalizer,
                  object->deleted_s > 0, (unsigned long long)object_spec_hash(object),
                  (unsigned long long)object->status_id.words[0]);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(struct buffer *text)
{
    char *lines[64] = {0};
    size_t count = 0;
    autofree char *copy = mem_copy_text(buffer_text(text).at);
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) && count < COUNT_OF(lines);)
        if (*line)
            lines[count++] = line;
    qsort(lines, count, sizeof *lines, compare_lines);
    buffer_clear(text);
    for (size_t i = 0; i < count; i++)
        buffer_printf(text, "%s\n", lines[i]);
}

// Status files without what differs between runs.
static void describe_file(struct rig *rig, const char *path, struct buffer *out)
{
    static const char *const varying[] = {
        "uid:", "resourceVersion:", "creationTimestamp:", "--- #"};
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, rig_read(rig, path));
    buffer_printf(out, "%s\n", path);
    struct text rest = buffer_text(&text);
    struct text line;
    while (text_cut(&rest, '\n', &line)) {
        bool is_varying = false;
        for (size_t i = 0; i < COUNT_OF(varying); i++)
            is_varying = is_varying || text_starts(text_trim(line), varying[i]);
        if (!is_varying)
            buffer_printf(out, "  %.*s\n", TEXT_ARGS(line));
    }
}

static bool has_secrets(struct rig *rig)
{
    return strcmp(rig_rows(rig, "SELECT count(*) FROM secrets"), "0\n") != 0;
}

static char *outcome(struct day *day)
{
    AUTO_BUFFER out = {0};
    rig_run(day->rig, 2000);
    cache_each(day->rig->store->cache, NULL, describe, &out);
    sort_lines(&out);
    describe_file(day->rig, "a.yaml.status", &out);
    describe_file(day->rig, "c.yaml.status", &out);
    describe_file(day->rig, "sub/t.yaml.status", &out);
    buffer_printf(&out, "checks %s %s\n", rig_check(day->rig, "store"),
                  rig_check(day->rig, "manifests"));
    return buffer_steal(&out);
}

// The whole day with one fault. The number of disk calls goes to *calls.
static char *live_as(struct day day, unsigned skip, int fault, unsigned *calls)
{
    day.rig = rig_new();
    virtual_loop_slow_down(day.rig->loop, day.look_ms);
    if (fault >= 0)
        faulty_disk_fault(day.rig->disk, skip, (enum disk_fault)fault);
    for (size_t i = 0; i < COUNT_OF(hours); i++)
        hours[i](&day);
    char *end = outcome(&day);
    restart(&day);
    check_promises(&day);
    if (fault != DISK_FAILS)
        assert_false(has_secrets(day.rig));
    autofree char *again = outcome(&day);
    assert_string_equal(end, again);
    *calls = faulty_disk_calls(day.rig->disk);
    free(day.claims);
    rig_free(day.rig);
    return end;
}

static char *live(unsigned skip, int fault, unsigned *calls)
{
    return live_as((struct day){.is_losing = false}, skip, fault, calls);
}

static void torture(int fault)
{
    unsigned calls, ignored;
    autofree char *expected = live(0, -1, &calls);
    for (unsigned skip = 0; skip < calls; skip++) {
        autofree char *end = live(skip, fault, &ignored);
        if (strcmp(end, expected) != 0)
            print_error("fault %d at change %u of the disk\n", fault, skip);
        assert_string_equal(end, expected);
    }
}

static void day_ends_as_it_should(void **state)
{
    unsigned calls;
    (void)state;
    autofree char *end = live(0, -1, &calls);
    assert_non_null(strstr(end, "Thing shop/a1 g1 f1 d0"));
    assert_non_null(strstr(end, "Thing shop/a3 g2 f1 d0"));
    assert_null(strstr(end, "Place"));
    assert_null(strstr(end, "Token"));
    assert_non_null(strstr(end, "checks ok ok"));
    assert_true(calls > 40);
}

// Files are read over many steps of the loop, and written to meanwhile.
static void slow_machine_comes_to_the_same_end(void **state)
{
    static const int64_t looks_ms[] = {3, 10, 20};
    unsigned calls, ignored;
    (void)state;
    autofree char *expected = live(0, -1, &calls);
    for (size_t i = 0; i < COUNT_OF(looks_ms); i++) {
        struct day slow = {.look_ms = looks_ms[i]};
        autofree char *end = live_as(slow, 0, -1, &calls);
        assert_string_equal(end, expected);
        for (unsigned skip = 0; skip < calls; skip += 3) {
            autofree char *after =
                live_as(slow, skip, (int)(skip % 2 ? DISK_STOPS : DISK_FAILS), &ignored);
            assert_string_equal(after, expected);
        }
    }
}

static void each_change_of_the_disk_may_fail_once(void **state)
{
    (void)state;
    torture(DISK_FAILS);
}

static void process_may_die_before_each_change(void **state)
{
    (void)state;
    torture(DISK_STOPS);
}

static void process_may_die_after_each_change(void **state)
{
    (void)state;
    torture(DISK_ACTS_LAST);
}

static void process_may_die_in_the_midst_of_each_append(void **state)
{
    (void)state;
    torture(DISK_TORN);
}

// Generations and uids of objects without a claim may be lost; promises are kept.
static void what_was_not_synced_may_be_lost_with_the_process(void **state)
{
    unsigned calls, ignored;
    (void)state;
    free(live(0, -1, &calls));
    for (unsigned skip = 0; skip < calls; skip++)
        free(live_as((struct day){.is_losing = true}, skip, DISK_ACTS_LAST, &ignored));
}

static void checkpoints_of_the_database_survive_everything_too(void **state)
{
    static const enum disk_fault faults[] = {DISK_FAILS, DISK_STOPS, DISK_ACTS_LAST, DISK_TORN};
    unsigned calls, ignored;
    (void)state;
    struct day heavy = {.is_heavy = true, .is_losing = true};
    free(live_as(heavy, 0, -1, &calls));
    unsigned step = calls / 40 + 1; // each page is a change of its own
    for (unsigned skip = 8; skip < calls; skip += step)
        free(live_as(heavy, skip, (int)faults[skip / step % COUNT_OF(faults)], &ignored));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(day_ends_as_it_should),
        cmocka_unit_test(slow_machine_comes_to_the_same_end),
        cmocka_unit_test(each_change_of_the_disk_may_fail_once),
        cmocka_unit_test(process_may_die_before_each_change),
        cmocka_unit_test(process_may_die_after_each_change),
        cmocka_unit_test(process_may_die_in_the_midst_of_each_append),
        cmocka_unit_test(what_was_not_synced_may_be_lost_with_the_process),
        cmocka_unit_test(checkpoints_of_the_database_survive_everything_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
