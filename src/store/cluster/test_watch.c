#include "store/cluster/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/must.h"
#include "model/virtual_loop.h"
#include "store/cluster/split.h"
#include "store/cluster/watch_private.h"

// ---- an API server by hand: the test says each octet --------------------------------------------

struct api_call {
    char *path;
    bool is_watch;
    int64_t timeout_ms;
    void (*piece)(void *context, struct text piece);
    api_done *done;
    void *context;
};
struct api {
    struct api_call *open; // one at a time
    size_t sent;
};

struct api_call *api_send(struct api *api, const struct api_request *request, api_done *done,
                          void *context)
{
    struct api_call *call = mem_new_of(struct api_call);
    assert_null(api->open);
    assert_string_equal(request->method, "GET");
    *call = (struct api_call){
        mem_copy_text(request->path),
        request->is_watch,
        request->timeout_ms,
        request->piece,
        done,
        context,
    };
    api->open = call;
    api->sent++;
    return call;
}

static void free_call(struct api_call *call)
{
    free(call->path);
    free(call);
}

void api_cancel(struct api *api, struct api_call *call)
{
    assert_ptr_equal(api->open, call);
    api->open = NULL;
    free_call(call);
}

void api_version_path(struct buffer *out, const struct kind *kind, const char *version,
                      struct text namespace_, struct text name, const char *sub)
{
    assert_null(sub);
    buffer_printf(out, "/%s", kind->group);
    if (kind->other_versions)
        buffer_printf(out, "/%s", version);
    if (namespace_.len)
        buffer_printf(out, "/ns/%.*s", TEXT_ARGS(namespace_));
    buffer_printf(out, "/%s%s%.*s", kind->plural, name.len ? "/" : "", TEXT_ARGS(name));
}

void api_query_escape(struct buffer *out, struct text text)
{
    buffer_add(out, text.at, text.len);
}

// ---- the bench ----------------------------------------------------------------------------------

static const struct kind zone_kind = {
    .group = "kubi.zone", .version = "v1alpha1", .name = "Zone", .plural = "zones"};
static const struct kind secret_kind = {
    .group = "", .version = "v1", .name = "Secret", .plural = "secrets", .is_foreign = true};

static const char *const older[] = {"v1alpha3", "v1alpha2", NULL};
static const struct kind route_kind = {.group = "gateway.test",
                                       .version = "v1",
                                       .other_versions = older,
                                       .name = "Route",
                                       .plural = "routes",
                                       .is_foreign = true};

struct bench {
    struct random random;
    uint64_t seed; // 0: the lowest number is drawn always
    struct world world;
    struct api api;
    struct watch_memory memory;
    struct log *log;
    struct buffer logged;
    struct buffer heard;
    struct watch *watch;
};

static void fill(struct random *random, void *out, size_t len)
{
    // A multiple of all limits that are drawn below: nothing is added to the shortest time.
    static const uint64_t lowest = 1920000ull * 301 * 12001;
    struct bench *bench = (struct bench *)random;
    assert_int_equal(len, sizeof lowest);
    bench->seed *= 6364136223846793005u;
    bench->seed += bench->seed ? 1442695040888963407u : 0;
    uint64_t number = bench->seed ? bench->seed ^ bench->seed >> 29 : lowest;
    memcpy(out, &number, sizeof number);
}

static void handle_begin(void *context, bool has_gone_back)
{
    struct bench *bench = context;
    buffer_add_text(&bench->heard, has_gone_back ? "begin-back " : "begin ");
}

static void handle_end(void *context, bool may_sweep)
{
    struct bench *bench = context;
    buffer_add_text(&bench->heard, may_sweep ? "end " : "end-unswept ");
}

static void handle_object(void *context, bool is_deleted, const struct value *tree)
{
    struct bench *bench = context;
    struct text name = value_text_at(tree, "metadata.name");
    buffer_printf(&bench->heard, "%s%.*s ", is_deleted ? "-" : "+", TEXT_ARGS(name));
    const struct value *managed = value_at(tree, "metadata.managedFields", NULL);
    if (value_count(managed))
        buffer_add_text(&bench->heard, "managed ");
}

static void handle_batch_end(void *context)
{
    struct bench *bench = context;
    buffer_add_text(&bench->heard, ". ");
}

static void handle_missing(void *context)
{
    struct bench *bench = context;
    buffer_add_text(&bench->heard, "missing ");
}

static void handle_forbidden(void *context)
{
    struct bench *bench = context;
    buffer_add_text(&bench->heard, "forbidden ");
}

static void write_log(void *context, struct text line)
{
    struct bench *bench = context;
    buffer_add(&bench->logged, line.at, line.len);
}

static int64_t no_time(void *context)
{
    (void)context;
    return 0;
}

static void open_watch(struct bench *bench, const struct watch_options *wanted)
{
    struct watch_options options = *wanted;
    const struct watch_sink sink = {.pass_begin = handle_begin,
                                    .pass_end = handle_end,
                                    .object = handle_object,
                                    .batch_end = handle_batch_end,
                                    .missing = handle_missing,
                                    .forbidden = wanted->is_dispensable ? handle_forbidden : NULL,
                                    .context = bench};
    const struct log_sink log = {write_log, no_time, bench};
    bench->random.fill = fill;
    bench->world.loop = virtual_loop_new(0);
    bench->world.random = &bench->random;
    bench->log = log_new(&log, LOG_TEXTUAL, LOG_INFO);
    options.world = &bench->world;
    options.log = bench->log;
    options.api = &bench->api;
    options.memory = &bench->memory;
    bench->watch = watch_new(&options, &sink);
    watch_start(bench->watch);
}

static void bench_done(struct bench *bench)
{
    watch_free(bench->watch);
    assert_null(bench->api.open);
    assert_int_equal(virtual_loop_timer_count(bench->world.loop), 0);
    loop_free(bench->world.loop);
    log_free(bench->log);
    buffer_done(&bench->logged);
    buffer_done(&bench->heard);
}
#define BENCH __attribute__((cleanup(bench_done))) struct bench

static void open_zones(struct bench *bench)
{
    open_watch(bench, &(struct watch_options){.kind = &zone_kind, .is_required = true});
}

static int64_t now(struct bench *bench)
{
    return loop_mono_ms(bench->world.loop);
}

static void pass_ms(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(bench->world.loop, now(bench) + ms);
}

// Lets go by what is due at once, but no time.
static void settle(struct bench *bench)
{
    pass_ms(bench, 0);
}

#define AT_STREAM                                                                                  \
    "/kubi.zone/zones?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"            \
    "&allowWatchBookmarks=true&resourceVersion="
#define AT_LIST "/kubi.zone/zones?limit=500"
#define AT_LAST "/kubi.zone/zones?resourceVersionMatch=NotOlderThan&resourceVersion="
#define AT_WATCH "/kubi.zone/zones?watch=1&allowWatchBookmarks=true&resourceVersion="
#define SHORTEST "&timeoutSeconds=300"

// The call that is under way.
static struct api_call *open_call(struct bench *bench)
{
    settle(bench);
    struct api_call *call = bench->api.open;
    assert_non_null(call);
    must(call);
    return call;
}

static void expect_call(struct bench *bench, const char *path)
{
    assert_string_equal(open_call(bench)->path, path);
}

static void expect_none(struct bench *bench)
{
    settle(bench);
    assert_null(bench->api.open);
}

// The next call goes out after exactly this time.
static void expect_call_after(struct bench *bench, int64_t ms, const char *path)
{
    expect_none(bench);
    pass_ms(bench, ms - 1);
    assert_null(bench->api.open);
    pass_ms(bench, 1);
    expect_call(bench, path);
}

static void say(struct bench *bench, const char *text)
{
    const struct api_call *call = open_call(bench);
    call->piece(call->context, text_of(text));
}

static void reply_with(struct bench *bench, const struct api_reply *reply)
{
    struct api_call *call = open_call(bench);
    bench->api.open = NULL;
    call->done(call->context, reply);
    free_call(call);
}

static void end_body(struct bench *bench)
{
    reply_with(bench, &(struct api_reply){.is_ok = true, .status = 200, .cause = ""});
}

static void give(struct bench *bench, const char *text)
{
    say(bench, text);
    end_body(bench);
}

static void refuse_for(struct bench *bench, int status, int64_t retry_ms, const char *cause,
                       const char *text)
{
    struct api_reply reply = {.status = status, .cause = cause};
    error_set(&reply.error, status == 401 || status == 403 ? FAULT_AUTH : FAULT_AGAIN, "", "%s",
              text);
    reply.error.retry_ms = retry_ms;
    reply.error.status = status;
    reply_with(bench, &reply);
}

static void refuse(struct bench *bench, int status)
{
    refuse_for(bench, status, 0, "", "no");
}

// The server's own word for an object that is not there.
static void miss(struct bench *bench)
{
    reply_with(bench, &(struct api_reply){
                          .status = 404, .error = {FAULT_RACE, .code = "NotFound"}, .cause = ""});
}

static void cut(struct bench *bench)
{
    refuse_for(bench, 0, 0, "", "connection reset by peer");
}

// Until it is believed: a server that starts forbids everything for a moment.
static void forbid(struct bench *bench, const char *text)
{
    for (int i = 0; i < 2; i++) {
        refuse_for(bench, 403, 0, "", text);
        expect_none(bench);
        pass_ms(bench, 800 << i);
    }
    refuse_for(bench, 403, 0, "", text);
}

static void expect_reported(struct bench *bench, const char *heard)
{
    assert_string_equal(buffer_text(&bench->heard).at, heard);
    buffer_clear(&bench->heard);
}

static void expect_logged(struct bench *bench, const char *part)
{
    if (!strstr(buffer_text(&bench->logged).at, part))
        fail_msg("no \"%s\" in: %s", part, buffer_text(&bench->logged).at);
}

static void expect_position(struct bench *bench, const char *position)
{
    assert_true(text_is(watch_position(bench->watch), position));
}

static void expect_line(struct bench *bench, bool is_ok, const char *text)
{
    struct store_check check = watch_check(bench->watch);
    assert_string_equal(check.text, text);
    assert_int_equal(check.is_ok, is_ok);
}

#define OBJECT(name, version)                                                                      \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" OBJECT(name, version) "}\n"
#define BOOKMARK(version)                                                                          \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\"}}}\n"
#define END_MARK(version)                                                                          \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version              \
    "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define ERROR_EVENT(rest)                                                                          \
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"message\":\"no\"," rest "}}\n"
#define EXPIRED ERROR_EVENT("\"reason\":\"Expired\",\"code\":410")
#define TOO_LARGE                                                                                  \
    ERROR_EVENT("\"reason\":\"Timeout\",\"code\":504,\"details\":{\"causes\":"                     \
                "[{\"reason\":\"ResourceVersionTooLarge\"}],\"retryAfterSeconds\":1}")
#define PAGE(version, token, items)                                                                \
    "{\"kind\":\"ZoneList\",\"metadata\":{\"resourceVersion\":\"" version                          \
    "\",\"continue\":\"" token "\"},\"items\":[" items "]}"

// Streaming list done: the watch is live at 20, and half a minute has gone by.
static void go_live(struct bench *bench)
{
    open_zones(bench);
    expect_call(bench, AT_STREAM SHORTEST);
    say(bench, EVENT("ADDED", "a", "11") EVENT("ADDED", "b", "9") END_MARK("20"));
    pass_ms(bench, 20000);
    buffer_clear(&bench->heard);
    buffer_clear(&bench->logged);
}

// The same on a server without streaming lists: a watch that was opened at 20.
static void go_live_by_list(struct bench *bench)
{
    bench->memory.no_streaming_list_until_ms = INT64_MAX;
    open_zones(bench);
    expect_call(bench, AT_LIST);
    give(bench, PAGE("20", "", OBJECT("a", "11")));
    expect_call(bench, AT_WATCH "20" SHORTEST);
    pass_ms(bench, 20000);
    buffer_clear(&bench->heard);
    buffer_clear(&bench->logged);
}

static uint64_t relists(struct bench *bench, enum watch_relist why)
{
    return watch_counts(bench->watch)->relists[why];
}

static uint64_t deaths(struct bench *bench, enum watch_death how)
{
    return watch_counts(bench->watch)->deaths[how];
}

// ---- streaming list -----------------------------------------------------------------------------

static void a_streaming_list_is_a_pass_and_then_the_watch_goes_on(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    expect_call(&bench, AT_STREAM SHORTEST);
    assert_true(open_call(&bench)->is_watch);
    assert_int_equal(open_call(&bench)->timeout_ms, API_FOREVER);
    say(&bench, EVENT("ADDED", "a", "11"));
    say(&bench, EVENT("ADDED", "b", "9"));
    assert_false(bench.watch->is_synced);
    expect_position(&bench, "");
    say(&bench, END_MARK("20"));
    assert_true(bench.watch->is_synced);
    expect_position(&bench, "20");
    expect_reported(&bench, "begin +a . +b . end . ");
    expect_line(&bench, true, "ok");
    say(&bench, EVENT("MODIFIED", "a", "21") EVENT("DELETED", "b", "22"));
    expect_reported(&bench, "+a -b . ");
    expect_position(&bench, "22");
    assert_int_equal(bench.api.sent, 1);
    assert_int_equal(watch_counts(bench.watch)->last_event_ms, now(&bench));
}

static void events_come_whole_however_they_were_cut(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    settle(&bench);
    const char *all = EVENT("ADDED", "a", "11") END_MARK("20") EVENT("DELETED", "a", "21");
    for (const char *at = all; *at; at++)
        say(&bench, (char[]){*at, '\0'});
    expect_reported(&bench, "begin +a . end . -a . ");
}

static void a_server_without_streaming_lists_is_remembered_for_an_hour(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    expect_call(&bench, AT_STREAM SHORTEST);
    refuse(&bench, 422);
    expect_call(&bench, AT_LIST);
    assert_int_equal(bench.memory.no_streaming_list_until_ms, now(&bench) + 3600000);
    assert_int_equal(relists(&bench, RELIST_FALLBACK), 1);
    give(&bench, PAGE("20", "", ""));
    say(&bench, EXPIRED);
    expect_call(&bench, AT_LAST "20");
    pass_ms(&bench, 59999);
    give(&bench, PAGE("20", "", ""));
    expect_call(&bench, AT_WATCH "20" SHORTEST);
    bench.memory.no_streaming_list_until_ms = now(&bench);
    pass_ms(&bench, 20000);
    say(&bench, EXPIRED);
    expect_call(&bench, AT_STREAM "20" SHORTEST);
}

static void a_streaming_list_that_is_a_bad_request_falls_back_too(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    refuse(&bench, 400);
    expect_call(&bench, AT_LIST);
    give(&bench, PAGE("20", "t1", ""));
    refuse(&bench, 400); // of a page it means a broken token
    expect_call_after(&bench, 800, AT_LIST);
}

static void without_the_end_mark_for_30_s_it_warns_and_falls_back(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    say(&bench, EVENT("ADDED", "a", "11"));
    pass_ms(&bench, 29999);
    say(&bench, EVENT("ADDED", "b", "12"));
    pass_ms(&bench, 29999);
    expect_call(&bench, AT_STREAM SHORTEST);
    pass_ms(&bench, 1);
    expect_call(&bench, AT_LIST);
    expect_logged(&bench, "WARN");
    expect_logged(&bench, "a streaming list has no end mark");
    assert_int_equal(bench.memory.no_streaming_list_until_ms, 0);
    assert_int_equal(relists(&bench, RELIST_FALLBACK), 1);
    give(&bench, PAGE("20", "", OBJECT("a", "11")));
    expect_reported(&bench, "begin +a . +b . begin +a . end . ");
}

static void a_streaming_list_that_ends_early_sweeps_nothing_and_waits(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    say(&bench, EVENT("ADDED", "a", "11"));
    end_body(&bench);
    expect_reported(&bench, "begin +a . ");
    assert_int_equal(deaths(&bench, DEATH_ENDED), 1);
    expect_call_after(&bench, 800, AT_STREAM SHORTEST);
}

static void the_time_of_a_watch_is_drawn_between_5_and_10_minutes(void **state)
{
    (void)state;
    int64_t lowest = INT64_MAX, highest = 0;
    BENCH bench = {.seed = 1};
    open_zones(&bench);
    say(&bench, END_MARK("20"));
    for (int i = 0; i < 400; i++) {
        int64_t timeout_s;
        const char *at = strstr(open_call(&bench)->path, "timeoutSeconds=");
        assert_true(text_to_int64(text_of(at + strlen("timeoutSeconds=")), &timeout_s));
        lowest = timeout_s < lowest ? timeout_s : lowest;
        highest = timeout_s > highest ? timeout_s : highest;
        give(&bench, BOOKMARK("20"));
        settle(&bench);
    }
    assert_in_range(lowest, 300, 310);
    assert_in_range(highest, 590, 600);
}

// ---- lists --------------------------------------------------------------------------------------

static void pages_follow_their_token_alone(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_zones(&bench);
    expect_call(&bench, AT_LIST);
    assert_false(open_call(&bench)->is_watch);
    assert_int_equal(open_call(&bench)->timeout_ms, API_FOREVER);
    give(&bench, PAGE("20", "t1", OBJECT("a", "11")));
    expect_call(&bench, AT_LIST "&continue=t1");
    give(&bench, PAGE("20", "t2", OBJECT("b", "12") "," OBJECT("c", "13")));
    expect_call(&bench, AT_LIST "&continue=t2");
    expect_reported(&bench, "begin +a . +b +c . ");
    assert_false(bench.watch->is_synced);
    give(&bench, PAGE("20", "", ""));
    expect_reported(&bench, "end . ");
    expect_call(&bench, AT_WATCH "20" SHORTEST);
}

static void an_expired_page_is_followed_by_one_full_list_at_its_version(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_zones(&bench);
    give(&bench, PAGE("20", "t1", OBJECT("a", "11")));
    expect_call(&bench, AT_LIST "&continue=t1");
    refuse(&bench, 410);
    expect_call(&bench, AT_LAST "20");
    assert_int_equal(relists(&bench, RELIST_EXPIRED), 1);
    give(&bench, PAGE("25", "", OBJECT("b", "12")));
    expect_reported(&bench, "begin +a . begin +b . end . ");
    expect_call(&bench, AT_WATCH "25" SHORTEST);
}

static void a_full_list_that_expires_too_is_followed_by_a_wait(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_zones(&bench);
    give(&bench, PAGE("20", "t1", OBJECT("a", "11")));
    refuse(&bench, 410);
    expect_call(&bench, AT_LAST "20");
    refuse(&bench, 410);
    expect_call_after(&bench, 800, AT_LIST);
}

static void a_server_that_pages_unasked_is_followed(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live_by_list(&bench);
    say(&bench, EXPIRED);
    expect_call(&bench, AT_LAST "20");
    give(&bench, PAGE("40", "t1", OBJECT("a", "31")));
    expect_call(&bench, AT_LIST "&continue=t1");
    give(&bench, PAGE("40", "", OBJECT("b", "32")));
    expect_reported(&bench, "begin +a . +b . end . ");
    expect_call(&bench, AT_WATCH "40" SHORTEST);
}

static void a_relist_begins_at_the_last_version_without_pages(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live_by_list(&bench);
    say(&bench, EVENT("MODIFIED", "a", "30") EXPIRED);
    expect_call(&bench, AT_LAST "30");
    refuse(&bench, 410);
    expect_call(&bench, AT_LIST);
    assert_int_equal(relists(&bench, RELIST_EXPIRED), 2);
    refuse(&bench, 410);
    expect_call_after(&bench, 800, AT_LIST);
    give(&bench, PAGE("40", "", OBJECT("b", "31")));
    expect_reported(&bench, "+a . begin begin begin +b . end . ");
}

static void a_list_that_breaks_off_sweeps_nothing(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_zones(&bench);
    say(&bench, "{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":[" OBJECT("a", "11"));
    cut(&bench);
    expect_call_after(&bench, 800, AT_LIST);
    give(&bench, "{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":[" OBJECT("a", "11"));
    expect_call_after(&bench, 1600, AT_LIST);
    expect_reported(&bench, "begin +a . begin +a . begin ");
    assert_false(bench.watch->is_synced);
}

static void a_list_is_given_a_minute_for_its_first_octet(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_zones(&bench);
    expect_call(&bench, AT_LIST);
    pass_ms(&bench, 59999);
    expect_call(&bench, AT_LIST);
    pass_ms(&bench, 1);
    assert_int_equal(deaths(&bench, DEATH_SILENT), 1);
    expect_call_after(&bench, 800, AT_LIST);
}

static void a_table_is_no_list(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_zones(&bench);
    give(&bench, "{\"kind\":\"Table\",\"metadata\":{\"resourceVersion\":\"20\"},\"rows\":[]}");
    expect_line(&bench, false, "the first list is under way: the server sent a Table, not a list");
    expect_call_after(&bench, 800, AT_LIST);
}

static void a_list_without_a_version_is_none(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_zones(&bench);
    give(&bench, "{\"items\":[]}");
    expect_reported(&bench, "begin ");
    expect_call_after(&bench, 800, AT_LIST);
}

// ---- events and positions -----------------------------------------------------------------------

static void who_wrote_which_field_is_dropped_and_nothing_else(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"annotations\":{\"x\":"
                "\"{\\\"managedFields\\\":[\"},\"managedFields\":[{\"a\":[\"]\"]},{}],"
                "\"name\":\"c\",\"resourceVersion\":\"21\"}}}" EVENT("ADDED", "d", "22"));
    expect_reported(&bench, "+c +d . ");
    expect_position(&bench, "22");
}

static void every_event_moves_the_position_bookmarks_and_deletions_too(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, EVENT("ADDED", "c", "21"));
    expect_position(&bench, "21");
    say(&bench, EVENT("DELETED", "c", "23"));
    expect_position(&bench, "23");
    say(&bench, BOOKMARK("30"));
    expect_position(&bench, "30");
    give(&bench, EVENT("MODIFIED", "a", "31"));
    expect_reported(&bench, "+c . -c . +a . ");
    expect_call(&bench, AT_WATCH "31" SHORTEST);
}

static void a_bookmark_before_the_end_mark_moves_nothing(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    say(&bench, EVENT("ADDED", "a", "11") BOOKMARK("15"));
    expect_position(&bench, "");
    cut(&bench);
    expect_call_after(&bench, 800, AT_STREAM SHORTEST);
}

static void an_unknown_event_is_logged_once_and_skipped(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, EVENT("RENAMED", "a", "21") EVENT("RENAMED", "a", "22") EVENT("ADDED", "c", "23"));
    expect_reported(&bench, "+c . ");
    expect_logged(&bench, "unknown type");
    const char *first = strstr(bench.logged.at, "unknown type");
    assert_null(strstr(first + 1, "unknown type"));
}

static void an_expired_position_asks_for_a_pass_at_once(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, EXPIRED EVENT("ADDED", "never", "99"));
    expect_call(&bench, AT_STREAM "20" SHORTEST);
    assert_int_equal(relists(&bench, RELIST_EXPIRED), 1);
    say(&bench, EVENT("ADDED", "a", "11") END_MARK("44"));
    expect_reported(&bench, "begin +a end . ");
    expect_position(&bench, "44");
}

static void any_sign_of_expiry_counts(void **state)
{
    (void)state;
    static const char *const signs[] = {
        ERROR_EVENT("\"code\":410"),
        ERROR_EVENT("\"reason\":\"Expired\""),
        ERROR_EVENT("\"reason\":\"Gone\",\"code\":1"),
    };
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        BENCH bench = {0};
        go_live(&bench);
        say(&bench, signs[i]);
        expect_call(&bench, AT_STREAM "20" SHORTEST);
    }
}

static void passes_that_expire_again_and_again_wait_longer_and_longer(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    int64_t delays[] = {0, 800, 1600, 3200};
    for (size_t i = 0; i < COUNT_OF(delays); i++) {
        say(&bench, EXPIRED);
        if (delays[i])
            expect_call_after(&bench, delays[i], AT_STREAM "20" SHORTEST);
        say(&bench, END_MARK("20"));
    }
}

static void a_streaming_list_that_expires_is_asked_for_at_the_newest(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, EXPIRED);
    expect_call(&bench, AT_STREAM "20" SHORTEST);
    say(&bench, EXPIRED);
    expect_call(&bench, AT_STREAM SHORTEST);
    say(&bench, EXPIRED);
    expect_call_after(&bench, 800, AT_STREAM SHORTEST);
}

static void errors_429_and_500_try_the_same_version_again_later(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, ERROR_EVENT("\"code\":429,\"details\":{\"retryAfterSeconds\":5}"));
    expect_call_after(&bench, 5000, AT_WATCH "20" SHORTEST);
    say(&bench, ERROR_EVENT("\"code\":500"));
    expect_call_after(&bench, 1600, AT_WATCH "20" SHORTEST);
    assert_int_equal(relists(&bench, RELIST_REFUSED), 0);
}

static void another_error_asks_for_a_pass_at_the_last_version(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, ERROR_EVENT("\"code\":403,\"reason\":\"Forbidden\""));
    expect_call_after(&bench, 800, AT_STREAM "20" SHORTEST);
    assert_int_equal(relists(&bench, RELIST_REFUSED), 1);
}

// ---- versions that go back ----------------------------------------------------------------------

static void a_version_in_the_future_asks_for_the_newest_and_says_so(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, TOO_LARGE);
    expect_call(&bench, AT_STREAM SHORTEST);
    expect_logged(&bench, "the server's resourceVersions went back");
    assert_int_equal(relists(&bench, RELIST_TOO_LARGE), 1);
    say(&bench, EVENT("ADDED", "a", "3") END_MARK("5"));
    expect_reported(&bench, "begin-back +a end . ");
    expect_position(&bench, "5");
}

static void a_server_that_is_behind_its_own_store_is_tried_again_later(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    expect_call(&bench, AT_STREAM SHORTEST);
    say(&bench, TOO_LARGE);
    expect_call_after(&bench, 1000, AT_STREAM SHORTEST);
    assert_int_equal(relists(&bench, RELIST_TOO_LARGE), 0);
    say(&bench, EVENT("ADDED", "a", "3") END_MARK("5"));
    expect_position(&bench, "5");
}

static void a_list_refused_as_too_new_does_the_same(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live_by_list(&bench);
    say(&bench, EXPIRED);
    expect_call(&bench, AT_LAST "20");
    refuse_for(&bench, 504, 1000, "ResourceVersionTooLarge", "too large resource version");
    expect_call(&bench, AT_LIST);
    give(&bench, PAGE("5", "", OBJECT("a", "3")));
    expect_reported(&bench, "begin begin-back +a . end . ");
    expect_call(&bench, AT_WATCH "5" SHORTEST);
}

static void an_older_version_on_a_stream_is_a_step_back(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, BOOKMARK("7") EVENT("ADDED", "x", "8"));
    expect_call(&bench, AT_STREAM SHORTEST);
    say(&bench, END_MARK("9"));
    expect_reported(&bench, "begin-back end . ");
    expect_position(&bench, "9");
}

static void versions_that_go_back_again_and_again_wait_longer_and_longer(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    int64_t delays[] = {0, 800, 1600, 3200};
    for (size_t i = 0; i < COUNT_OF(delays); i++) {
        say(&bench, BOOKMARK("7"));
        if (delays[i])
            expect_call_after(&bench, delays[i], AT_STREAM SHORTEST);
        say(&bench, END_MARK("9"));
    }
}

static void an_older_list_is_read_again_as_a_step_back(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live_by_list(&bench);
    say(&bench, EXPIRED);
    expect_call(&bench, AT_LAST "20");
    give(&bench, PAGE("5", "", OBJECT("a", "3")));
    expect_call(&bench, AT_LIST);
    give(&bench, PAGE("5", "", OBJECT("a", "3")));
    expect_reported(&bench, "begin +a . begin-back +a . end . ");
}

static void versions_that_are_no_numbers_are_compared_by_no_one(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, EVENT("ADDED", "c", "x2") EVENT("ADDED", "d", "x1"));
    expect_reported(&bench, "+c +d . ");
    expect_position(&bench, "x1");
}

// ---- ends, back-off, liveness -------------------------------------------------------------------

static void a_watch_that_ended_in_time_is_opened_again_at_once(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    end_body(&bench);
    expect_call(&bench, AT_WATCH "20" SHORTEST);
    pass_ms(&bench, 1000);
    end_body(&bench);
    expect_call(&bench, AT_WATCH "20" SHORTEST);
    give(&bench, BOOKMARK("21"));
    expect_call(&bench, AT_WATCH "21" SHORTEST);
    assert_int_equal(deaths(&bench, DEATH_ENDED), 0);
}

static void an_end_under_a_second_without_an_event_is_a_failure(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live_by_list(&bench);
    end_body(&bench);
    expect_call(&bench, AT_WATCH "20" SHORTEST);
    pass_ms(&bench, 999);
    end_body(&bench);
    assert_int_equal(deaths(&bench, DEATH_ENDED), 1);
    expect_call_after(&bench, 800, AT_WATCH "20" SHORTEST);
}

static void a_reset_in_mid_stream_opens_again_from_the_last_version(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, EVENT("ADDED", "c", "21") "{\"type\":\"ADD");
    cut(&bench);
    assert_int_equal(deaths(&bench, DEATH_RESET), 1);
    expect_call_after(&bench, 800, AT_WATCH "21" SHORTEST);
    cut(&bench);
    assert_int_equal(deaths(&bench, DEATH_RESET), 1); // unreachable, no death of a watch
    assert_int_equal(relists(&bench, RELIST_UNREADABLE), 0);
    assert_true(bench.watch->is_synced);
}

static void failures_wait_twice_as_long_up_to_30_s(void **state)
{
    (void)state;
    static const int64_t delays[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};
    BENCH bench = {0};
    go_live(&bench);
    for (size_t i = 0; i < COUNT_OF(delays); i++) {
        cut(&bench);
        expect_call_after(&bench, delays[i], AT_WATCH "20" SHORTEST);
    }
}

static void each_wait_is_drawn_up_to_its_double(void **state)
{
    (void)state;
    int64_t lowest = INT64_MAX, highest = 0;
    for (uint64_t seed = 1; seed < 60; seed++) {
        BENCH bench = {.seed = seed * 1000003};
        open_zones(&bench);
        cut(&bench);
        settle(&bench);
        int64_t waits = virtual_loop_next_ms(bench.world.loop) - now(&bench);
        lowest = waits < lowest ? waits : lowest;
        highest = waits > highest ? waits : highest;
    }
    assert_in_range(lowest, 800, 850);
    assert_in_range(highest, 1550, 1599);
}

static void two_minutes_without_failure_begin_anew(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    cut(&bench);
    expect_call_after(&bench, 800, AT_WATCH "20" SHORTEST);
    say(&bench, BOOKMARK("21"));
    pass_ms(&bench, 119999);
    cut(&bench);
    expect_call_after(&bench, 1600, AT_WATCH "21" SHORTEST);
    say(&bench, BOOKMARK("22"));
    pass_ms(&bench, 120000);
    cut(&bench);
    expect_call_after(&bench, 800, AT_WATCH "22" SHORTEST);
}

static void a_server_that_says_when_is_heard(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    cut(&bench);
    pass_ms(&bench, 800);
    refuse_for(&bench, 429, 20000, "", "Too many requests, please try again later.");
    expect_call_after(&bench, 20000, AT_WATCH "20" SHORTEST);
    refuse_for(&bench, 503, 3600000, "", "no");
    expect_call_after(&bench, 60000, AT_WATCH "20" SHORTEST);
    refuse_for(&bench, 429, 1000, "", "storage is (re)initializing");
    expect_call_after(&bench, 6400, AT_WATCH "20" SHORTEST);
}

static void who_is_told_when_comes_a_little_later(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    bench.seed = 7;
    for (int i = 0; i < 20; i++) {
        refuse_for(&bench, 429, 60000, "", "Too many requests, please try again later.");
        pass_ms(&bench, 59999);
        expect_none(&bench);
        pass_ms(&bench, 15001);
        assert_non_null(bench.api.open);
    }
}

static void before_two_bookmarks_the_servers_own_time_is_waited_for(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    pass_ms(&bench, 40000);
    say(&bench, BOOKMARK("21"));
    pass_ms(&bench, 300000 + 10000 - 60000 - 1);
    assert_int_equal(deaths(&bench, DEATH_SILENT), 0);
    pass_ms(&bench, 1);
    assert_int_equal(deaths(&bench, DEATH_SILENT), 1);
    expect_logged(&bench, "the server did not end the watch within 310 s");
    expect_call_after(&bench, 800, AT_WATCH "21" SHORTEST);
}

static void after_two_bookmarks_150_s_of_silence_are_death(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, BOOKMARK("21"));
    pass_ms(&bench, 60000);
    say(&bench, BOOKMARK("22"));
    pass_ms(&bench, 60000);
    say(&bench, "\n");
    pass_ms(&bench, 149999);
    assert_int_equal(deaths(&bench, DEATH_SILENT), 0);
    pass_ms(&bench, 1);
    assert_int_equal(deaths(&bench, DEATH_SILENT), 1);
    expect_logged(&bench, "the server said nothing for 150 s");
    expect_call_after(&bench, 800, AT_WATCH "22" SHORTEST);
}

static void a_quiet_watch_wakes_nobody(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    say(&bench, BOOKMARK("21") BOOKMARK("22"));
    int64_t since = now(&bench);
    assert_int_equal(virtual_loop_next_ms(bench.world.loop), since + 150000);
    assert_int_equal(virtual_loop_timer_count(bench.world.loop), 1);
}

// ---- behind -------------------------------------------------------------------------------------

static void who_opens_again_is_behind_until_the_server_has_accepted_it(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    assert_false(watch_is_behind(bench.watch));
    cut(&bench);
    expect_none(&bench);
    assert_true(watch_is_behind(bench.watch));
    watch_hurry(bench.watch);
    expect_call(&bench, AT_WATCH "20" SHORTEST);
    assert_true(watch_is_behind(bench.watch));
    pass_ms(&bench, 10000); // connecting takes as long
    cut(&bench);
    expect_none(&bench);
    watch_hurry(bench.watch);
    expect_call(&bench, AT_WATCH "20" SHORTEST);
    say(&bench, EVENT("DELETED", "a", "21"));
    assert_false(watch_is_behind(bench.watch));
}

static void a_quiet_watch_is_not_behind_once_it_was_answered(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    cut(&bench);
    watch_hurry(bench.watch);
    expect_call(&bench, AT_WATCH "20" SHORTEST);
    pass_ms(&bench, 24000);
    assert_true(watch_is_behind(bench.watch));
    say(&bench, "");
    assert_false(watch_is_behind(bench.watch));
}

static void
what_nothing_was_heard_of_since_is_opened_again_and_behind_until_it_is_accepted(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    int64_t octet_ms = now(&bench) - 20000;
    const struct api_call *call = bench.api.open;
    watch_prove(bench.watch, octet_ms);
    settle(&bench);
    assert_ptr_equal(bench.api.open, call);
    watch_prove(bench.watch, octet_ms + 1);
    assert_true(watch_is_behind(bench.watch));
    expect_call(&bench, AT_WATCH "20" SHORTEST);
    watch_prove(bench.watch, octet_ms + 1);
    assert_true(watch_is_behind(bench.watch));
    say(&bench, "");
    assert_false(watch_is_behind(bench.watch));
    assert_int_equal(bench.logged.len, 0);
}

static void a_watch_that_is_opened_again_and_not_answered_is_dead_after_150_s(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    cut(&bench);
    watch_hurry(bench.watch);
    expect_call(&bench, AT_WATCH "20" SHORTEST);
    pass_ms(&bench, 149999);
    assert_non_null(bench.api.open);
    pass_ms(&bench, 1);
    expect_none(&bench);
    expect_logged(&bench, "the server said nothing for 150 s");
}

static void who_lists_again_is_behind_until_all_is_listed(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live_by_list(&bench);
    say(&bench, EXPIRED);
    expect_call(&bench, AT_LAST "20");
    say(&bench, "{\"kind\":\"ZoneList\",\"metadata\":{\"resourceVersion\":\"30\"},\"items\":[");
    assert_true(watch_is_behind(bench.watch));
    watch_hurry(bench.watch); // which breaks nothing off
    give(&bench, OBJECT("a", "11") "]}");
    assert_false(watch_is_behind(bench.watch));
}

static void a_refusal_that_is_over_counts_no_more(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live_by_list(&bench);
    end_body(&bench);
    forbid(&bench, "no");
    expect_call_after(&bench, 30000, AT_WATCH "20" SHORTEST);
    say(&bench, EXPIRED);
    expect_call(&bench, AT_LAST "20");
    assert_true(watch_is_behind(bench.watch));
}

static void a_watch_that_ends_in_time_is_not_behind(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    end_body(&bench);
    assert_false(watch_is_behind(bench.watch));
    expect_call(&bench, AT_WATCH "20" SHORTEST);
    assert_false(watch_is_behind(bench.watch));
}

static void what_was_never_read_is_not_behind(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    expect_call(&bench, AT_STREAM SHORTEST);
    forbid(&bench, "no");
    assert_false(watch_is_behind(bench.watch));
}

static void who_is_in_a_hurry_still_waits_as_long_as_the_server_says(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    refuse_for(&bench, 429, 5000, "", "too many requests");
    watch_hurry(bench.watch);
    expect_call_after(&bench, 5000, AT_WATCH "20" SHORTEST);
}

// ---- what cannot be read ------------------------------------------------------------------------

static void garbage_ends_the_stream_with_a_warning_and_a_pass(void **state)
{
    (void)state;
    static const char *const garbage[] = {
        "<html>",
        "{\"type\":\"ADDED\",\"object\":{\"broken\":}}",
        "{\"type\":\"ADDED\"}",
        "{\"object\":{}}",
        "{\"type\":\"ADDED\",\"object\":[]}",
    };
    for (size_t i = 0; i < COUNT_OF(garbage); i++) {
        BENCH bench = {0};
        go_live(&bench);
        say(&bench, EVENT("ADDED", "c", "21"));
        say(&bench, garbage[i]);
        expect_logged(&bench, "WARN");
        expect_logged(&bench, "zones.kubi.zone");
        expect_logged(&bench, "resourceVersion=21");
        assert_int_equal(deaths(&bench, DEATH_GARBAGE), 1);
        assert_int_equal(relists(&bench, RELIST_UNREADABLE), 1);
        expect_call_after(&bench, 800, AT_STREAM "21" SHORTEST);
    }
}

static void half_an_event_at_the_end_is_garbage(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    give(&bench, EVENT("ADDED", "c", "21") "{\"type\":\"ADDED\",");
    assert_int_equal(relists(&bench, RELIST_UNREADABLE), 1);
    expect_call_after(&bench, 800, AT_STREAM "21" SHORTEST);
}

static void garbage_in_a_streaming_list_is_told_apart_by_pages(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    say(&bench, "{\"type\":\"ADDED\",\"object\":{\"broken\":}}");
    expect_call_after(&bench, 800, AT_LIST);
    give(&bench, PAGE("20", "", OBJECT("a", "11") ",{\"broken\":}," OBJECT("b", "12")));
    expect_reported(&bench, "begin begin +a +b . end-unswept . ");
    assert_int_equal(watch_counts(bench.watch)->skipped, 1);
}

static void add_event_too_deep(struct buffer *out, const char *type)
{
    buffer_printf(out,
                  "{\"type\":\"%s\",\"object\":{\"metadata\":{\"labels\":{\"name\":\"no\"},"
                  "\"name\":\"bomb\",\"namespace\":\"shop\"},\"spec\":",
                  type);
    for (int i = 0; i < SPLIT_DEPTH_MAX; i++)
        buffer_add_text(out, "[");
    for (int i = 0; i < SPLIT_DEPTH_MAX; i++)
        buffer_add_text(out, "]");
    buffer_add_text(out, "}}\n");
}

static void what_is_too_deep_is_named_counted_and_holds_the_sweep(void **state)
{
    (void)state;
    BENCH bench = {0};
    AUTO_BUFFER event = {0};
    open_zones(&bench);
    add_event_too_deep(&event, "ADDED");
    say(&bench, EVENT("ADDED", "a", "11"));
    say(&bench, event.at);
    say(&bench, EVENT("ADDED", "b", "12") END_MARK("20"));
    expect_reported(&bench, "begin +a . +b end-unswept . ");
    assert_int_equal(watch_counts(bench.watch)->skipped, 1);
    expect_logged(&bench, "name=bomb");
    expect_logged(&bench, "namespace=shop");
    expect_logged(&bench, "nested too deep");
    pass_ms(&bench, 20000);
    say(&bench, EXPIRED);
    say(&bench, END_MARK("21"));
    expect_reported(&bench, "begin end . ");
}

static void what_is_too_large_in_a_list_is_skipped_by_itself(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    AUTO_BUFFER page = {0};
    open_zones(&bench);
    buffer_add_text(&page, "{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":["
                           "{\"metadata\":{\"name\":\"big\"},\"spec\":\"");
    for (int i = 0; i < SPLIT_OCTETS_MAX / 16; i++)
        buffer_add_text(&page, "0123456789abcdef");
    buffer_add_text(&page, "\"}," OBJECT("a", "11") "]}");
    give(&bench, page.at);
    expect_reported(&bench, "begin +a . end-unswept . ");
    expect_logged(&bench, "name=big");
    expect_call(&bench, AT_WATCH "20" SHORTEST);
}

static void a_deletion_that_cannot_be_read_asks_for_a_pass(void **state)
{
    (void)state;
    BENCH bench = {0};
    AUTO_BUFFER event = {0};
    go_live(&bench);
    add_event_too_deep(&event, "MODIFIED");
    say(&bench, event.at);
    expect_call(&bench, AT_STREAM SHORTEST);
    buffer_clear(&event);
    add_event_too_deep(&event, "DELETED");
    say(&bench, event.at);
    expect_call_after(&bench, 800, AT_STREAM "20" SHORTEST);
}

static void a_deletion_that_cannot_be_read_is_not_forgotten_for_what_follows(void **state)
{
    (void)state;
    BENCH bench = {0};
    AUTO_BUFFER events = {0};
    go_live(&bench);
    add_event_too_deep(&events, "DELETED");
    buffer_add_text(&events, ERROR_EVENT("\"code\":429"));
    say(&bench, events.at);
    expect_call_after(&bench, 800, AT_STREAM "20" SHORTEST);
}

// ---- what keeps from watching -------------------------------------------------------------------

static void a_forbidden_watch_says_which_verb_to_add_and_tries_on(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    forbid(&bench, "zones.kubi.zone is forbidden");
    expect_line(&bench, false,
                "forbidden: cannot watch zones at cluster scope; add verb watch to role signpost");
    assert_string_equal(watch_check(bench.watch).name, "watch-zones.kubi.zone");
    expect_logged(&bench, "cannot watch");
    expect_call_after(&bench, 30000, AT_STREAM SHORTEST);
    refuse(&bench, 403);
    expect_call_after(&bench, 30000, AT_STREAM SHORTEST);
    say(&bench, END_MARK("20"));
    expect_line(&bench, true, "ok");
    expect_logged(&bench, "watching again");
}

static void a_forbidden_list_in_a_namespace_says_so(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_watch(&bench, &(struct watch_options){.kind = &zone_kind, .namespace_ = "shop"});
    expect_call(&bench, "/kubi.zone/ns/shop/zones?limit=500");
    forbid(&bench, "User \"system:anonymous\" cannot list resource");
    expect_line(&bench, false,
                "forbidden: cannot list zones in namespace shop; add verb list to role signpost "
                "(the server knows us as system:anonymous: no credential was sent)");
}

static void a_server_that_starts_may_forbid_for_a_moment(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    cut(&bench);
    expect_call_after(&bench, 800, AT_WATCH "20" SHORTEST);
    refuse(&bench, 403);
    expect_call_after(&bench, 1600, AT_WATCH "20" SHORTEST);
    refuse(&bench, 403);
    expect_line(&bench, true, "ok");
    expect_call_after(&bench, 3200, AT_WATCH "20" SHORTEST);
    say(&bench, EXPIRED);
    say(&bench, END_MARK("40"));
    assert_null(strstr(bench.logged.at, "WARN  cannot watch"));
}

static void a_watch_forbidden_later_is_not_ready_and_keeps_its_objects(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    end_body(&bench);
    forbid(&bench, "no");
    expect_line(&bench, false,
                "forbidden: cannot watch zones at cluster scope; add verb watch to role signpost");
    expect_reported(&bench, "");
    expect_call_after(&bench, 30000, AT_WATCH "20" SHORTEST);
    pass_ms(&bench, 24999);
    assert_false(watch_check(bench.watch).is_ok);
    say(&bench, "");
    expect_line(&bench, true, "ok");
}

static void a_refused_credential_is_not_ready_at_once(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    end_body(&bench);
    refuse_for(&bench, 401, 0, "", "Unauthorized");
    expect_line(&bench, false, "Unauthorized");
    expect_call_after(&bench, 800, AT_WATCH "20" SHORTEST);
}

static void a_required_kind_that_is_missing_says_how_to_install_it(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    refuse(&bench, 404);
    assert_true(bench.watch->is_missing);
    expect_line(&bench, false,
                "zones.kubi.zone is not installed: run `signpost manifests --crd | kubectl apply "
                "--server-side -f -`");
    expect_call_after(&bench, 800, AT_STREAM SHORTEST);
    say(&bench, END_MARK("20"));
    assert_false(bench.watch->is_missing);
    expect_line(&bench, true, "ok");
}

static void an_optional_kind_is_probed_in_silence(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_watch(&bench, &(struct watch_options){.kind = &zone_kind});
    refuse(&bench, 404);
    expect_reported(&bench, "begin ");
    expect_call_after(&bench, 800, AT_STREAM SHORTEST);
    for (int i = 0; i < 20; i++) {
        refuse(&bench, 404);
        expect_reported(&bench, "begin missing ");
        expect_line(&bench, true, "not installed");
        expect_call_after(&bench, 24000, AT_STREAM SHORTEST);
    }
    assert_int_equal(bench.logged.len, 0);
    assert_false(bench.watch->is_synced);
    assert_true(bench.watch->is_missing);
}

#define ROUTES(version) "/gateway.test/" version "/routes"

static void open_routes(struct bench *bench)
{
    bench->memory.no_streaming_list_until_ms = INT64_MAX;
    open_watch(bench, &(struct watch_options){.kind = &route_kind, .is_dispensable = true});
}

static void a_kind_is_taken_in_the_version_that_the_server_has_and_may_go(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_routes(&bench);
    expect_call(&bench, ROUTES("v1") "?limit=500");
    refuse(&bench, 404);
    expect_call(&bench, ROUTES("v1alpha3") "?limit=500");
    refuse(&bench, 404);
    expect_call(&bench, ROUTES("v1alpha2") "?limit=500");
    give(&bench, PAGE("20", "", OBJECT("a", "11")));
    expect_call(&bench,
                ROUTES("v1alpha2") "?watch=1&allowWatchBookmarks=true&resourceVersion=20" SHORTEST);
    assert_string_equal(api_versions_find(&bench.memory.api_versions, &route_kind), "v1alpha2");
    assert_int_equal(bench.logged.len, 0);
    expect_line(&bench, true, "ok");
    refuse(&bench, 404);
    expect_call(&bench,
                ROUTES("v1") "?watch=1&allowWatchBookmarks=true&resourceVersion=20" SHORTEST);
    refuse(&bench, 404);
    refuse(&bench, 404);
    expect_line(&bench, true, "not installed");
    assert_int_equal(relists(&bench, RELIST_REFUSED), 0);
}

static void a_kind_that_comes_back_is_listed_anew(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_watch(&bench, &(struct watch_options){.kind = &zone_kind, .is_dispensable = true});
    say(&bench, END_MARK("20"));
    end_body(&bench);
    refuse(&bench, 404);
    expect_call_after(&bench, 250, AT_WATCH "20" SHORTEST);
    refuse(&bench, 404);
    expect_line(&bench, true, "not installed");
    expect_call_after(&bench, 24000, AT_STREAM SHORTEST);
    assert_int_equal(relists(&bench, RELIST_REFUSED), 1);
}

static void a_kind_without_any_of_its_versions_is_missing(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_routes(&bench);
    for (int i = 0; i < 3; i++)
        refuse(&bench, 404);
    expect_reported(&bench, "begin begin begin ");
    expect_call_after(&bench, 250, ROUTES("v1") "?limit=500");
    for (int i = 0; i < 3; i++)
        refuse(&bench, 404);
    expect_reported(&bench, "begin begin begin missing ");
    expect_line(&bench, true, "not installed");
    expect_call_after(&bench, 24000, ROUTES("v1") "?limit=500");
}

static void an_optional_kind_that_may_not_be_read_is_told_once(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_routes(&bench);
    for (int i = 0; i < 8; i++) {
        refuse(&bench, 403);
        pass_ms(&bench, 60000);
    }
    assert_non_null(strstr(bench.heard.at, "begin begin begin forbidden begin forbidden "));
    const char *line = strstr(bench.logged.at, "forbidden: cannot list routes at cluster scope");
    assert_non_null(line);
    assert_ptr_equal(strchr(bench.logged.at, '\n'), bench.logged.at + bench.logged.len - 1);
    struct store_check check = watch_check(bench.watch);
    assert_false(check.is_ok);
    assert_true(check.is_advice);
}

static void an_optional_kind_that_may_be_read_by_now_has_to_prove_itself_as_well(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_routes(&bench);
    for (int i = 0; i < 8; i++) {
        refuse(&bench, 403);
        pass_ms(&bench, 60000);
    }
    give(&bench, PAGE("20", "", ""));
    say(&bench, "");
    pass_ms(&bench, 1000);
    watch_prove(bench.watch, now(&bench));
    assert_true(watch_is_behind(bench.watch));
    say(&bench, "");
    assert_false(watch_is_behind(bench.watch));
}

static void probes_are_drawn_around_30_s(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        BENCH bench = {.seed = seed * 7919};
        open_watch(&bench, &(struct watch_options){.kind = &zone_kind});
        refuse(&bench, 404);
        pass_ms(&bench, 2000);
        refuse(&bench, 404);
        settle(&bench);
        int64_t waits = virtual_loop_next_ms(bench.world.loop) - now(&bench);
        assert_in_range(waits, 24000, 36000);
    }
}

static void a_kind_that_vanishes_keeps_its_objects_and_is_not_ready(void **state)
{
    (void)state;
    BENCH bench = {0};
    bench.memory.no_streaming_list_until_ms = INT64_MAX;
    open_watch(&bench, &(struct watch_options){.kind = &zone_kind});
    give(&bench, PAGE("20", "", OBJECT("a", "11")));
    expect_reported(&bench, "begin +a . end . ");
    refuse(&bench, 404);
    expect_reported(&bench, "");
    assert_false(watch_check(bench.watch).is_ok);
    assert_true(bench.watch->is_synced);
}

static void an_optional_kind_that_came_is_back_soon_after_one_404(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_watch(&bench, &(struct watch_options){.kind = &zone_kind});
    refuse(&bench, 404);
    expect_call_after(&bench, 800, AT_STREAM SHORTEST);
    refuse(&bench, 404);
    expect_call_after(&bench, 24000, AT_STREAM SHORTEST);
    say(&bench, END_MARK("20"));
    end_body(&bench);
    buffer_clear(&bench.heard);
    refuse(&bench, 404);
    expect_reported(&bench, "");
    expect_call_after(&bench, 1600, AT_WATCH "20" SHORTEST);
}

static void not_synced_after_2_min_is_not_ready_and_goes_on(void **state)
{
    (void)state;
    BENCH bench = {0};
    open_zones(&bench);
    expect_line(&bench, false, "the first list is under way");
    int64_t started = now(&bench);
    while (now(&bench) < started + 120000) {
        assert_false(watch_check(bench.watch).is_ok);
        if (bench.api.open)
            refuse_for(&bench, 500, 0, "", "etcd is gone");
        pass_ms(&bench, 1000);
    }
    expect_line(&bench, false, "not synced after 2 min: etcd is gone");
    pass_ms(&bench, 60000);
    assert_non_null(bench.api.open);
}

static void a_watch_that_stays_down_is_not_ready_after_2_min(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    cut(&bench);
    int64_t down = now(&bench);
    while (now(&bench) < down + 120000) {
        expect_line(&bench, true, "ok");
        if (bench.api.open)
            cut(&bench);
        pass_ms(&bench, 1000);
    }
    expect_line(&bench, false, "the watch is down: connection reset by peer");
}

static void failures_in_a_row_are_logged_at_powers_of_two(void **state)
{
    (void)state;
    BENCH bench = {0};
    unsigned lines = 0;
    open_zones(&bench);
    for (int i = 0; i < 16; i++) {
        settle(&bench);
        cut(&bench);
        pass_ms(&bench, 30000);
    }
    for (const char *at = bench.logged.at; (at = strstr(at, "a watch failed")); at++)
        lines++;
    assert_int_equal(lines, 5);
}

static void a_watch_that_comes_back_soon_is_told_in_two_calm_lines(void **state)
{
    (void)state;
    BENCH bench = {0};
    go_live(&bench);
    for (int i = 0; i < 5; i++) {
        cut(&bench);
        settle(&bench);
        virtual_loop_run_until(bench.world.loop, virtual_loop_next_ms(bench.world.loop));
    }
    say(&bench, BOOKMARK("21"));
    assert_string_equal(bench.logged.at,
                        "00:00:00 INFO  a watch failed, trying again  kind=zones.kubi.zone  "
                        "resourceVersion=20  error=\"connection reset by peer\"\n"
                        "00:00:00 INFO  watching again  kind=zones.kubi.zone  "
                        "resourceVersion=20\n");
}

// ---- one object ---------------------------------------------------------------------------------

#define ONE "/ns/shop/secrets?fieldSelector=metadata.name%3Dkey&"

static void open_secret(struct bench *bench)
{
    open_watch(bench,
               &(struct watch_options){.kind = &secret_kind, .namespace_ = "shop", .name = "key"});
}

static void expect_stream_of(struct bench *bench, const char *path)
{
    char begin[200];
    char next[200];
    snprintf(
        begin, sizeof begin,
        "%swatch=1&sendInitialEvents=true"
        "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=" SHORTEST,
        path);
    snprintf(next, sizeof next, "%swatch=1&allowWatchBookmarks=true&resourceVersion=20" SHORTEST,
             path);
    expect_call(bench, begin);
    say(bench, END_MARK("20"));
    expect_reported(bench, "begin end . ");
    end_body(bench);
    expect_call(bench, next);
}

static void one_object_is_streamed_by_its_name_and_some_by_their_labels(void **state)
{
    (void)state;
    BENCH one = {0};
    open_secret(&one);
    expect_stream_of(&one, "/" ONE);
    BENCH some = {0};
    open_watch(&some, &(struct watch_options){.kind = &zone_kind, .labels = "team=web,critical"});
    expect_stream_of(&some, "/kubi.zone/zones?labelSelector=team=web,critical&");
}

static void one_object_is_got_and_watched_from_its_version(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_secret(&bench);
    expect_call(&bench, "//ns/shop/secrets/key");
    assert_false(open_call(&bench)->is_watch);
    reply_with(&bench,
               &(struct api_reply){
                   .is_ok = true, .status = 200, .body = TEXT(OBJECT("key", "7")), .cause = ""});
    expect_reported(&bench, "begin +key end . ");
    expect_call(&bench, "/" ONE "watch=1&allowWatchBookmarks=true&resourceVersion=7" SHORTEST);
    assert_true(bench.watch->is_synced);
    say(&bench, BOOKMARK("30"));
    expect_position(&bench, "30");
}

static void one_object_whose_version_is_too_old_is_watched_from_the_cache(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    struct api_reply reply = {
        .is_ok = true, .status = 200, .body = TEXT(OBJECT("key", "7")), .cause = ""};
    open_secret(&bench);
    reply_with(&bench, &reply);
    say(&bench, EXPIRED);
    expect_call(&bench, "//ns/shop/secrets/key");
    reply_with(&bench, &reply);
    expect_call(&bench, "/" ONE "watch=1&allowWatchBookmarks=true&resourceVersion=0" SHORTEST);
    buffer_clear(&bench.heard);
    say(&bench, EVENT("ADDED", "key", "7"));
    expect_position(&bench, "");
    say(&bench, END_MARK("40"));
    expect_position(&bench, "40");
    say(&bench, EVENT("DELETED", "key", "41"));
    expect_reported(&bench, "+key . end . -key . ");
}

static void one_object_that_is_not_there_is_a_complete_pass(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_secret(&bench);
    miss(&bench);
    expect_reported(&bench, "begin end . ");
    expect_line(&bench, true, "ok");
    expect_call(&bench, "/" ONE "watch=1&allowWatchBookmarks=true&resourceVersion=0" SHORTEST);
    say(&bench, EVENT("ADDED", "key", "9"));
    expect_position(&bench, "");
    say(&bench, EVENT("MODIFIED", "key", "10"));
    expect_position(&bench, "10");
    expect_reported(&bench, "begin +key . +key . ");
}

static void a_404_that_is_not_the_servers_own_proves_no_absence(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_secret(&bench);
    refuse(&bench, 404);
    expect_reported(&bench, "");
    expect_call_after(&bench, 800, "//ns/shop/secrets/key");
}

static void a_position_never_learned_is_asked_for_again(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_secret(&bench);
    miss(&bench);
    say(&bench, EVENT("ADDED", "key", "9"));
    end_body(&bench);
    expect_call(&bench, "//ns/shop/secrets/key");
}

static void one_object_that_may_not_be_got_names_the_verb(void **state)
{
    (void)state;
    BENCH bench = {.memory = {.no_streaming_list_until_ms = INT64_MAX}};
    open_secret(&bench);
    forbid(&bench, "no");
    expect_line(&bench, false,
                "forbidden: cannot get secrets in namespace shop; add verb get to role signpost");
    assert_string_equal(watch_check(bench.watch).name, "watch-secrets");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_streaming_list_is_a_pass_and_then_the_watch_goes_on),
    cmocka_unit_test(events_come_whole_however_they_were_cut),
    cmocka_unit_test(a_server_without_streaming_lists_is_remembered_for_an_hour),
    cmocka_unit_test(a_streaming_list_that_is_a_bad_request_falls_back_too),
    cmocka_unit_test(without_the_end_mark_for_30_s_it_warns_and_falls_back),
    cmocka_unit_test(a_streaming_list_that_ends_early_sweeps_nothing_and_waits),
    cmocka_unit_test(the_time_of_a_watch_is_drawn_between_5_and_10_minutes),
    cmocka_unit_test(pages_follow_their_token_alone),
    cmocka_unit_test(an_expired_page_is_followed_by_one_full_list_at_its_version),
    cmocka_unit_test(a_full_list_that_expires_too_is_followed_by_a_wait),
    cmocka_unit_test(a_server_that_pages_unasked_is_followed),
    cmocka_unit_test(a_relist_begins_at_the_last_version_without_pages),
    cmocka_unit_test(a_list_that_breaks_off_sweeps_nothing),
    cmocka_unit_test(a_list_is_given_a_minute_for_its_first_octet),
    cmocka_unit_test(a_table_is_no_list),
    cmocka_unit_test(a_list_without_a_version_is_none),
    cmocka_unit_test(who_wrote_which_field_is_dropped_and_nothing_else),
    cmocka_unit_test(every_event_moves_the_position_bookmarks_and_deletions_too),
    cmocka_unit_test(a_bookmark_before_the_end_mark_moves_nothing),
    cmocka_unit_test(an_unknown_event_is_logged_once_and_skipped),
    cmocka_unit_test(an_expired_position_asks_for_a_pass_at_once),
    cmocka_unit_test(any_sign_of_expiry_counts),
    cmocka_unit_test(passes_that_expire_again_and_again_wait_longer_and_longer),
    cmocka_unit_test(a_streaming_list_that_expires_is_asked_for_at_the_newest),
    cmocka_unit_test(errors_429_and_500_try_the_same_version_again_later),
    cmocka_unit_test(another_error_asks_for_a_pass_at_the_last_version),
    cmocka_unit_test(a_version_in_the_future_asks_for_the_newest_and_says_so),
    cmocka_unit_test(a_server_that_is_behind_its_own_store_is_tried_again_later),
    cmocka_unit_test(a_list_refused_as_too_new_does_the_same),
    cmocka_unit_test(an_older_version_on_a_stream_is_a_step_back),
    cmocka_unit_test(versions_that_go_back_again_and_again_wait_longer_and_longer),
    cmocka_unit_test(an_older_list_is_read_again_as_a_step_back),
    cmocka_unit_test(versions_that_are_no_numbers_are_compared_by_no_one),
    cmocka_unit_test(a_watch_that_ended_in_time_is_opened_again_at_once),
    cmocka_unit_test(an_end_under_a_second_without_an_event_is_a_failure),
    cmocka_unit_test(a_reset_in_mid_stream_opens_again_from_the_last_version),
    cmocka_unit_test(failures_wait_twice_as_long_up_to_30_s),
    cmocka_unit_test(each_wait_is_drawn_up_to_its_double),
    cmocka_unit_test(two_minutes_without_failure_begin_anew),
    cmocka_unit_test(a_server_that_says_when_is_heard),
    cmocka_unit_test(who_is_told_when_comes_a_little_later),
    cmocka_unit_test(before_two_bookmarks_the_servers_own_time_is_waited_for),
    cmocka_unit_test(after_two_bookmarks_150_s_of_silence_are_death),
    cmocka_unit_test(a_quiet_watch_wakes_nobody),
    cmocka_unit_test(who_opens_again_is_behind_until_the_server_has_accepted_it),
    cmocka_unit_test(a_quiet_watch_is_not_behind_once_it_was_answered),
    cmocka_unit_test(
        what_nothing_was_heard_of_since_is_opened_again_and_behind_until_it_is_accepted),
    cmocka_unit_test(a_watch_that_is_opened_again_and_not_answered_is_dead_after_150_s),
    cmocka_unit_test(who_lists_again_is_behind_until_all_is_listed),
    cmocka_unit_test(a_refusal_that_is_over_counts_no_more),
    cmocka_unit_test(a_watch_that_ends_in_time_is_not_behind),
    cmocka_unit_test(what_was_never_read_is_not_behind),
    cmocka_unit_test(who_is_in_a_hurry_still_waits_as_long_as_the_server_says),
    cmocka_unit_test(garbage_ends_the_stream_with_a_warning_and_a_pass),
    cmocka_unit_test(half_an_event_at_the_end_is_garbage),
    cmocka_unit_test(garbage_in_a_streaming_list_is_told_apart_by_pages),
    cmocka_unit_test(what_is_too_deep_is_named_counted_and_holds_the_sweep),
    cmocka_unit_test(what_is_too_large_in_a_list_is_skipped_by_itself),
    cmocka_unit_test(a_deletion_that_cannot_be_read_asks_for_a_pass),
    cmocka_unit_test(a_deletion_that_cannot_be_read_is_not_forgotten_for_what_follows),
    cmocka_unit_test(a_forbidden_watch_says_which_verb_to_add_and_tries_on),
    cmocka_unit_test(a_forbidden_list_in_a_namespace_says_so),
    cmocka_unit_test(a_server_that_starts_may_forbid_for_a_moment),
    cmocka_unit_test(a_watch_forbidden_later_is_not_ready_and_keeps_its_objects),
    cmocka_unit_test(a_refused_credential_is_not_ready_at_once),
    cmocka_unit_test(a_required_kind_that_is_missing_says_how_to_install_it),
    cmocka_unit_test(an_optional_kind_is_probed_in_silence),
    cmocka_unit_test(a_kind_is_taken_in_the_version_that_the_server_has_and_may_go),
    cmocka_unit_test(a_kind_that_comes_back_is_listed_anew),
    cmocka_unit_test(a_kind_without_any_of_its_versions_is_missing),
    cmocka_unit_test(an_optional_kind_that_may_not_be_read_is_told_once),
    cmocka_unit_test(an_optional_kind_that_may_be_read_by_now_has_to_prove_itself_as_well),
    cmocka_unit_test(probes_are_drawn_around_30_s),
    cmocka_unit_test(a_kind_that_vanishes_keeps_its_objects_and_is_not_ready),
    cmocka_unit_test(an_optional_kind_that_came_is_back_soon_after_one_404),
    cmocka_unit_test(not_synced_after_2_min_is_not_ready_and_goes_on),
    cmocka_unit_test(a_watch_that_stays_down_is_not_ready_after_2_min),
    cmocka_unit_test(failures_in_a_row_are_logged_at_powers_of_two),
    cmocka_unit_test(a_watch_that_comes_back_soon_is_told_in_two_calm_lines),
    cmocka_unit_test(one_object_is_streamed_by_its_name_and_some_by_their_labels),
    cmocka_unit_test(one_object_is_got_and_watched_from_its_version),
    cmocka_unit_test(one_object_whose_version_is_too_old_is_watched_from_the_cache),
    cmocka_unit_test(one_object_that_is_not_there_is_a_complete_pass),
    cmocka_unit_test(a_404_that_is_not_the_servers_own_proves_no_absence),
    cmocka_unit_test(a_position_never_learned_is_asked_for_again),
    cmocka_unit_test(one_object_that_may_not_be_got_names_the_verb),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
