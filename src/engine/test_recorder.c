#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/labels.h"
#include "base/test_arena.h"
#include "engine/recorder.h"
#include "engine/replay.h"
#include "io/test_folder.h"
#include "model/faulty_disk.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "store/cache.h"

// How a recording ends: by its bound, and by a disk that is full.

enum { NOW_S = 1767225600, OBJECTS = 50 };

static const struct field fields[] = {{.path = "spec", .type = FIELD_MAP},
                                      {.path = "spec.text", .type = FIELD_TEXT}};
static const struct kind subject_kind = {
    .group = "test.example",
    .version = "v1",
    .name = "Subject",
    .plural = "subjects",
    .singular = "subject",
    .is_namespaced = true,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .pack_spec = labels_pack,
    .keeps_labels = true,
};
static const struct kind *const kinds[] = {&subject_kind};

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)model;
    struct value *status = value_make(snapshot->arena, VALUE_MAP);
    value_set(status, TEXT("seen"),
              value_make_text(snapshot->arena, object_version(snapshot->subject)));
    out->status = status;
}

static const struct controller controller = {
    .name = "made-up", .kind = &subject_kind, .decide = decide};
static const struct controller *const all[] = {&controller};

static struct {
    char folder[TEST_FOLDER_MAX];
    struct loop *loop;
    struct random random;
    struct disk *disk;
    struct log *log;
    struct cache *cache;
    struct recorder *recorder;
    const struct object *objects[OBJECTS];
    struct buffer lines;
} bench;

static void keep_line(void *context, struct text line)
{
    (void)context;
    buffer_add(&bench.lines, line.at, line.len);
}

static int64_t log_now_ms(void *context)
{
    (void)context;
    return NOW_S * 1000LL;
}

static struct value *describe(void *context, struct arena *into)
{
    (void)context;
    return value_make(into, VALUE_MAP);
}

static int open_bench(void **state)
{
    memset(&bench, 0, sizeof bench);
    test_folder_make(bench.folder);
    bench.loop = virtual_loop_new(NOW_S * 1000LL);
    bench.random.fill = model_fill_even;
    bench.disk = faulty_disk_new(disk_system(), bench.loop);
    bench.log = log_new(&(struct log_sink){.write = keep_line, .now_ms = log_now_ms}, LOG_TEXTUAL,
                        LOG_INFO);
    bench.cache = cache_new();
    return set_up(state);
}

static int close_bench(void **state)
{
    recorder_free(bench.recorder);
    for (size_t i = 0; i < OBJECTS; i++)
        object_unref(bench.objects[i]);
    cache_free(bench.cache);
    log_free(bench.log);
    faulty_disk_free(bench.disk);
    loop_free(bench.loop);
    buffer_done(&bench.lines);
    test_folder_remove(bench.folder);
    return tear_down(state);
}

static void record(size_t octets_max)
{
    struct error err;
    bench.recorder = recorder_new(&(struct recorder_options){.disk = bench.disk,
                                                             .random = &bench.random,
                                                             .log = bench.log,
                                                             .folder = bench.folder,
                                                             .version = "0.0.0",
                                                             .now_ms = NOW_S * 1000LL,
                                                             .cache = bench.cache,
                                                             .describe = describe,
                                                             .octets_max = octets_max},
                                  &err);
    assert_non_null(bench.recorder);
    recorder_begin(bench.recorder, all, COUNT_OF(all));
}

static void reconcile(size_t number)
{
    struct value *tree = value_make(arena, VALUE_MAP);
    value_put_text(arena, tree, "metadata.name", arena_printf(arena, "n%zu", number));
    value_put_text(arena, tree, "metadata.namespace", "shop");
    value_put_text(arena, tree, "metadata.resourceVersion", arena_printf(arena, "%zu", number));
    value_put_text(arena, tree, "spec.text", "of no account");
    object_unref(bench.objects[number]);
    bench.objects[number] = cache_make(bench.cache, &subject_kind, NULL, tree);
    const struct object *subject = bench.objects[number];
    const struct snapshot snapshot = {.arena = arena,
                                      .namespace_ = object_namespace(subject),
                                      .name = object_name(subject),
                                      .subject = subject,
                                      .now_ms = NOW_S * 1000LL,
                                      .trace = "0123456789abcdef"};
    struct decision decision = {0};
    decide(&snapshot, NULL, &decision);
    recorder_add_reconciliation(bench.recorder,
                                &(struct recorder_reconciliation){.controller = &controller,
                                                                  .snapshot = &snapshot,
                                                                  .decision = &decision});
}

static size_t count_in(struct buffer *text, const char *what)
{
    size_t count = 0;
    const char *at = buffer_text(text).len ? text->at : "";
    while ((at = strstr(at, what))) {
        count++;
        at += strlen(what);
    }
    return count;
}

// ---- made again ---------------------------------------------------------------------------------

static bool settle(void *context, const struct value *described,
                   const struct controller *const *items, size_t count, const void **out,
                   struct error *err)
{
    (void)context, (void)described, (void)items, (void)count, (void)out, (void)err;
    return true;
}

static void count_same(void *context, const struct replay *replay, const struct replayed *replayed)
{
    size_t *same = context;
    (void)replay;
    assert_true(replayed->is_same);
    ++*same;
}

// The reconciliations that the file has. Every whole line of it can be read.
static size_t replay_file(size_t *octets)
{
    AUTO_BUFFER file = {0};
    struct error err;
    size_t same = 0;
    struct text line;
    if (!disk_read(&file, recorder_path(bench.recorder), RECORDER_OCTETS_MAX, &err))
        fail_msg("%s", err.text);
    CLEANUP(replay)
    struct replay *replay = replay_new(&(struct replay_options){.kinds = kinds,
                                                                .kind_count = COUNT_OF(kinds),
                                                                .controllers = all,
                                                                .controller_count = COUNT_OF(all),
                                                                .settle = settle,
                                                                .reconciled = count_same,
                                                                .context = &same});
    *octets = file.len;
    for (struct text rest = buffer_text(&file); rest.len && text_cut(&rest, '\n', &line);)
        if (line.len && !replay_line(replay, line, &err))
            fail_msg("%.*s: %s", TEXT_ARGS(line), err.text);
    return same;
}

static void assert_ended(const char *why)
{
    assert_int_equal(count_in(&bench.lines, "the recording ends here"), 1);
    assert_non_null(strstr(bench.lines.at, recorder_path(bench.recorder)));
    assert_non_null(strstr(bench.lines.at, why));
}

// ---- tests --------------------------------------------------------------------------------------

static void a_recording_goes_on_below_its_bound(void **state)
{
    (void)state;
    size_t octets;
    record(0);
    for (size_t i = 0; i < OBJECTS; i++)
        reconcile(i);
    assert_int_equal(replay_file(&octets), OBJECTS);
    assert_int_equal(bench.lines.len, 0);
}

static void a_recording_ends_at_its_bound_with_one_line(void **state)
{
    (void)state;
    enum { BOUND = 4096 };
    size_t octets;
    record(BOUND);
    for (size_t i = 0; i < OBJECTS; i++)
        reconcile(i);
    assert_ended("it is as large as a recording may be");
    size_t same = replay_file(&octets);
    assert_true(same > 0 && same < OBJECTS);
    assert_true(octets <= BOUND);
    recorder_add_settings(bench.recorder);
    reconcile(0);
    size_t later;
    assert_int_equal(replay_file(&later), same);
    assert_int_equal(later, octets);
    assert_int_equal(count_in(&bench.lines, "\n"), 1);
}

static void a_recording_that_has_ended_keeps_no_object(void **state)
{
    (void)state;
    record(4096);
    for (size_t i = 0; i < OBJECTS; i++)
        reconcile(i);
    for (size_t i = 0; i < OBJECTS; i++)
        assert_int_equal(bench.objects[i]->refs, 1);
}

static void a_recording_ends_when_the_disk_is_full(void **state)
{
    (void)state;
    size_t octets;
    record(0);
    reconcile(0);
    faulty_disk_fault(bench.disk, 0, DISK_FAILS);
    reconcile(1);
    assert_ended("No space left on device");
    faulty_disk_heal(bench.disk);
    reconcile(2);
    assert_int_equal(replay_file(&octets), 1);
    assert_int_equal(count_in(&bench.lines, "\n"), 1);
}

static void a_recording_that_cannot_begin_says_so(void **state)
{
    (void)state;
    struct error err;
    const struct recorder_options options = {.disk = bench.disk,
                                             .random = &bench.random,
                                             .log = bench.log,
                                             .folder = "/proc/none/such",
                                             .version = "0.0.0",
                                             .cache = bench.cache,
                                             .describe = describe};
    assert_null(recorder_new(&options, &err));
    assert_non_null(strstr(err.text, "/proc/none"));
    recorder_free(NULL);
}

#define BENCH(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(a_recording_goes_on_below_its_bound),
        BENCH(a_recording_ends_at_its_bound_with_one_line),
        BENCH(a_recording_that_has_ended_keeps_no_object),
        BENCH(a_recording_ends_when_the_disk_is_full),
        BENCH(a_recording_that_cannot_begin_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
