// Records of one zone that change, from the event that the store tells to the answer of a name
// server that follows. The whole engine runs here, on the real loop, with the product's store of a
// cluster on the model of an API server; the hidden primary listens for real servers. Who asks them
// is a process of its own.
//
//     zones RECORDS CONFIG LISTEN
//
// CONFIG is a zones configuration, LISTEN the primary's address and port. The zone is
// bench.example.; host-N has the address 10.0.0.0 + N at first. Commands come on stdin, a line
// each, and are answered by a line; the first line comes when all Records are settled.
//     settle               until nothing is left to do
//     one PORT COUNT       changes, each when the one before is served and nothing is left to do
//     all PORT             all Records at once, from the last event; total: from the first
//     burst PORT RATE S    so many changes a second
// Figures are microseconds: "p50=N p90=N p99=N max=N".

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/must.h"
#include "bench/overheard.h"
#include "commands/commands.h"
#include "commands/process.h"
#include "commands/settings.h"
#include "commands/zone/zone_subject.h"
#include "controllers/zone/zone_controller.h"
#include "kinds/kinds.h"
#include "kinds/record/record_kind.h"
#include "model/engine_inside.h"
#include "model/model_cluster.h"

enum {
    KINDS_MAX = 64,
    CHOSEN = 2,
    QUIET_MS = 60,
    LONG_QUIET_MS = 1500, // servers are asked, and what is not served for a second is told
    WAITS_MAX = 1 << 16,
    SAMPLES = 10, // of all Records
    ASK_AGAIN_US = 100,
    GIVE_UP_S = 60,
};

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "zones: %s\n", what);
    exit(1);
}

// ---- who asks the servers -----------------------------------------------------------------------

struct wait {
    unsigned host;
    uint32_t address;
    int64_t event_us;
    int64_t seen_us;
};

// Shared by the two processes.
struct board {
    struct wait waits[WAITS_MAX];
    _Atomic unsigned put;
    _Atomic unsigned seen;
    _Atomic unsigned port;
};

struct asker {
    struct board *board;
    int put_bell;
    int seen_bell;
};

static size_t write_question(uint8_t *out, uint16_t id, unsigned host)
{
    char label[32];
    static const uint8_t rest[] = "\5bench\7example\0\0\1\0\1";
    int len = snprintf(label, sizeof label, "host-%u", host);
    const uint8_t head[] = {(uint8_t)(id >> 8), (uint8_t)id, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    memcpy(out, head, sizeof head);
    out[sizeof head] = (uint8_t)len;
    memcpy(out + sizeof head + 1, label, (size_t)len);
    memcpy(out + sizeof head + 1 + len, rest, sizeof rest - 1);
    return sizeof head + 1 + (size_t)len + sizeof rest - 1;
}

static bool is_answered(const uint8_t *reply, size_t len, size_t asked, uint32_t address)
{
    uint32_t reported = htonl(address);
    enum { FIXED = 12 }; // pointer, type, class, TTL, length
    return len >= asked + FIXED + 4 && reply[7] && !memcmp(reply + asked + FIXED, &reported, 4);
}

// An answer that comes too late is left aside.
static ssize_t handle_answer(int fd, const uint8_t *question, uint8_t *reply, size_t room)
{
    for (;;) {
        ssize_t len = recv(fd, reply, room, 0);
        if (len < 0 || (len > 12 && !memcmp(reply, question, 2)))
            return len;
    }
}

static void ask_until_seen(int fd, struct board *board, struct wait *wait)
{
    uint8_t question[128], reply[512];
    int64_t end_us = now_us() + GIVE_UP_S * 1000000LL;
    for (uint16_t id = 1; now_us() < end_us; id++) {
        const struct sockaddr_in to = {.sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)atomic_load(&board->port)),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        size_t asked = write_question(question, id, wait->host);
        sendto(fd, question, asked, 0, (const struct sockaddr *)&to, sizeof to);
        ssize_t len = handle_answer(fd, question, reply, sizeof reply);
        wait->seen_us = now_us();
        if (len > 0 && is_answered(reply, (size_t)len, asked, wait->address))
            return;
        usleep(ASK_AGAIN_US);
    }
    fprintf(stderr, "zones: the new address of host-%u is not served\n", wait->host);
    exit(1);
}

static void ring(int bell)
{
    uint64_t one = 1;
    must(write(bell, &one, sizeof one) == sizeof one);
}

static _Noreturn void ask_on(const struct asker *asker)
{
    uint64_t rings;
    struct board *board = asker->board;
    const struct timeval timeout = {.tv_usec = 200000};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout));
    while (read(asker->put_bell, &rings, sizeof rings) == sizeof rings) {
        for (unsigned at = atomic_load(&board->seen); at != atomic_load(&board->put); at++) {
            ask_until_seen(fd, board, &board->waits[at % WAITS_MAX]);
            atomic_store(&board->seen, at + 1);
        }
        ring(asker->seen_bell);
    }
    exit(0);
}

static void asker_start(struct asker *asker)
{
    asker->board =
        mmap(NULL, sizeof *asker->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(asker->board != MAP_FAILED);
    asker->put_bell = eventfd(0, EFD_CLOEXEC);
    asker->seen_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pid_t child = fork();
    must(child >= 0);
    if (child)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ask_on(asker);
}

// ---- the bench ----------------------------------------------------------------------------------

enum run_type { RUN_SETTLE, RUN_ONE, RUN_ALL, RUN_BURST };

struct bench {
    struct overheard overheard;
    struct process_world process;
    struct world world;
    struct setup setup;
    void *place;
    struct model_server *server;
    struct model_api *api;
    struct store *store;
    struct engine *engine;
    struct asker asker;
    struct loop_timer quiet;
    struct loop_timer beat;
    unsigned records;
    uint32_t address; // of the next change
    // ---- the command under way
    enum run_type type;
    unsigned wanted;
    unsigned made;  // changes
    unsigned heard; // events of them
    unsigned begin; // its first wait
    int64_t first_us;
    int64_t period_us;
    int64_t begun_us;
};

// ---- Records ------------------------------------------------------------------------------------

static void apply(struct bench *bench, const struct buffer *yaml)
{
    struct error err;
    if (!model_server_apply_yaml(bench->server, buffer_text(yaml), &err))
        fail(err.text);
}

static void put_record(struct bench *bench, unsigned host, uint32_t address)
{
    AUTO_BUFFER yaml = {0};
    buffer_printf(&yaml,
                  "{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: host-%u}, "
                  "spec: {domainName: host-%u, zoneRef: {name: bench}, type: A, "
                  "rdata: %u.%u.%u.%u}}",
                  host, host, address >> 24, address >> 16 & 255, address >> 8 & 255,
                  address & 255);
    apply(bench, &yaml);
}

static void put_zone(struct bench *bench)
{
    AUTO_BUFFER yaml = {0};
    buffer_add_text(&yaml, "{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: bench}, "
                           "spec: {domainName: bench.example., delegations: [{namespaces: "
                           "[default], records: [{pattern: \"*\"}]}], nameservers: [{name: ns1, "
                           "addresses: [192.0.2.53]}]}}");
    apply(bench, &yaml);
}

static void put_all(struct bench *bench, uint32_t address)
{
    for (unsigned host = 0; host < bench->records; host++)
        put_record(bench, host, address + host);
}

// ---- what is measured ---------------------------------------------------------------------------

static struct wait *wait_at(const struct bench *bench, unsigned at)
{
    return &bench->asker.board->waits[at % WAITS_MAX];
}

static void hand_out(struct bench *bench, unsigned count)
{
    atomic_fetch_add(&bench->asker.board->put, count);
    ring(bench->asker.put_bell);
}

static unsigned step_of(const struct bench *bench)
{
    return bench->records / SAMPLES;
}

static void handle_change(struct bench *bench)
{
    int64_t event_us = now_us();
    if (!bench->heard)
        bench->first_us = event_us;
    bench->heard++;
    if (bench->type != RUN_ALL) {
        wait_at(bench, bench->begin + bench->heard - 1)->event_us = event_us;
        hand_out(bench, 1);
    } else if (bench->heard == bench->wanted) {
        for (unsigned i = 0; i < SAMPLES; i++)
            wait_at(bench, bench->begin + i)->event_us = event_us;
        hand_out(bench, SAMPLES);
    }
}

// Own writes come back as events, too: what people change has another generation.
static void overhear_event(void *context, const struct store_event *event)
{
    struct bench *bench = context;
    const struct object *old = event->old;
    if (event->object->kind == &record_kind && old && bench->heard < bench->made &&
        old->generation != event->object->generation)
        handle_change(bench);
}

// ---- changing -----------------------------------------------------------------------------------

static void note_wait(struct bench *bench, unsigned at, unsigned host, uint32_t address)
{
    *wait_at(bench, bench->begin + at) = (struct wait){.host = host, .address = address};
}

static void change_one(struct bench *bench)
{
    unsigned host = (bench->made * 7919 + 17) % bench->records;
    note_wait(bench, bench->made++, host, bench->address);
    put_record(bench, host, bench->address++);
}

static void change_all(struct bench *bench)
{
    for (unsigned i = 0; i < SAMPLES; i++)
        note_wait(bench, i, i * step_of(bench), bench->address + i * step_of(bench));
    bench->made = bench->wanted;
    put_all(bench, bench->address);
    bench->address += bench->records;
}

static void beat(void *context)
{
    struct bench *bench = context;
    int64_t gone_us = now_us() - bench->begun_us;
    while (bench->made < bench->wanted && bench->made * bench->period_us <= gone_us)
        change_one(bench);
    if (bench->made < bench->wanted)
        loop_timer_set(bench->world.loop, &bench->beat, 1);
}

// ---- commands -----------------------------------------------------------------------------------

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static void print_figures(const struct bench *bench, unsigned count)
{
    autofree int64_t *took_us = mem_new_array(int64_t, count);
    for (unsigned i = 0; i < count; i++)
        took_us[i] =
            wait_at(bench, bench->begin + i)->seen_us - wait_at(bench, bench->begin + i)->event_us;
    qsort(took_us, count, sizeof *took_us, compare);
    printf("p50=%lld p90=%lld p99=%lld max=%lld", (long long)took_us[count / 2],
           (long long)took_us[(count * 9 - 1) / 10], (long long)took_us[(count * 99 - 1) / 100],
           (long long)took_us[count - 1]);
}

static void answer(const struct bench *bench)
{
    unsigned count = bench->type == RUN_ALL ? SAMPLES : bench->made;
    if (bench->type != RUN_SETTLE)
        print_figures(bench, count);
    if (bench->type == RUN_ALL)
        printf(" total=%lld",
               (long long)(wait_at(bench, bench->begin + SAMPLES - 1)->seen_us - bench->first_us));
    printf("%s\n", bench->type == RUN_SETTLE ? "settled" : "");
    fflush(stdout);
}

static void be_quiet(struct bench *bench)
{
    int64_t quiet_ms = bench->type == RUN_ONE ? QUIET_MS : LONG_QUIET_MS;
    loop_timer_set(bench->world.loop, &bench->quiet, quiet_ms);
}

static void on_quiet(void *context)
{
    struct bench *bench = context;
    if (!engine_is_synced(bench->engine) || !engine_is_idle(bench->engine))
        be_quiet(bench);
    else if (bench->type == RUN_ONE && bench->made < bench->wanted)
        change_one(bench);
    else
        answer(bench);
}

static void on_seen(void *context, int fd, unsigned interest)
{
    uint64_t rings;
    struct bench *bench = context;
    const struct board *board = bench->asker.board;
    (void)interest;
    must(read(fd, &rings, sizeof rings) == sizeof rings);
    bool is_all_made = bench->type != RUN_BURST || bench->made == bench->wanted;
    if (is_all_made && bench->heard == bench->made && board->seen == board->put)
        be_quiet(bench);
}

static void begin(struct bench *bench, enum run_type type, unsigned port, unsigned wanted)
{
    bench->type = type;
    bench->wanted = wanted;
    bench->made = bench->heard = 0;
    bench->begin = atomic_load(&bench->asker.board->put);
    bench->begun_us = now_us();
    atomic_store(&bench->asker.board->port, port);
    if (type == RUN_SETTLE)
        be_quiet(bench);
    else if (type == RUN_ONE)
        change_one(bench);
    else if (type == RUN_ALL)
        change_all(bench);
    else
        beat(bench);
}

static void obey(struct bench *bench, char *line)
{
    unsigned numbers[3] = {0};
    char *rest;
    const char *word = strtok_r(line, " \n", &rest);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const char *number = strtok_r(NULL, " \n", &rest);
        numbers[i] = number ? (unsigned)strtoul(number, NULL, 10) : 0;
    }
    bench->period_us = numbers[1] ? 1000000 / numbers[1] : 0;
    if (word && !strcmp(word, "one"))
        begin(bench, RUN_ONE, numbers[0], numbers[1]);
    else if (word && !strcmp(word, "all"))
        begin(bench, RUN_ALL, numbers[0], bench->records);
    else if (word && !strcmp(word, "burst"))
        begin(bench, RUN_BURST, numbers[0], numbers[1] * numbers[2]);
    else
        begin(bench, RUN_SETTLE, 0, 0);
}

static void on_command(void *context, int fd, unsigned interest)
{
    char line[128];
    struct bench *bench = context;
    (void)interest;
    ssize_t len = read(fd, line, sizeof line - 1);
    if (len <= 0) {
        loop_stop(bench->world.loop);
        return;
    }
    line[len] = '\0';
    obey(bench, line);
}

// ---- life ---------------------------------------------------------------------------------------

static void open_store(struct bench *bench)
{
    struct store_kind rows[KINDS_MAX];
    size_t count = 0;
    for (; count < kind_count && count < KINDS_MAX; count++)
        rows[count] = (struct store_kind){.kind = kinds[count]};
    bench->server = model_server_new(bench->world.loop, rows, count);
    model_server_set_window(bench->server, 2 * bench->records + 1000);
    model_cluster_prepare(bench->server);
    put_zone(bench);
    put_all(bench, bench->address);
    bench->address += bench->records;
    bench->api = model_api_new(bench->server, MODEL_CLUSTER_URL, bench->process.world.http);
    bench->world.http = model_api_http(bench->api);
    bench->store = model_cluster_new(&bench->world, rows, count, NULL, bench->process.log);
    bench->overheard = (struct overheard){.event = overhear_event, .context = bench};
    overheard_begin(&bench->overheard, bench->store);
}

static bool open_engine(struct bench *bench, const struct invocation *invocation, struct error *err)
{
    struct zone_settings *settings = settings_resolve(invocation, &zone_controller, err);
    if (!settings)
        return false;
    bench->setup = (struct setup){.invocation = invocation,
                                  .place.is_cluster = true,
                                  .controllers = {&zone_controller},
                                  .settings = {settings},
                                  .controller_count = 1};
    bench->place = zone_service.make(
        &(struct service_setup){&bench->process, invocation, &bench->setup, NULL}, err);
    if (!bench->place)
        return false;
    const struct controller *const chosen[CHOSEN] = {&zone_controller,
                                                     zone_controller.dependencies[1].controller};
    const void *const chosen_settings[CHOSEN] = {settings, settings};
    const struct engine_options options = {
        .world = &bench->world,
        .log = bench->process.log,
        .store = bench->store,
        .controllers = chosen,
        .settings = chosen_settings,
        .controller_count = CHOSEN,
    };
    bench->engine = engine_new(&options);
    return zone_service.open(bench->place, bench->engine, err) && engine_start(bench->engine, err);
}

static void close_all(struct bench *bench)
{
    if (bench->place)
        zone_service.close(bench->place);
    engine_free(bench->engine);
    store_free(bench->store);
    if (bench->place)
        zone_service.free(bench->place);
    model_api_free(bench->api);
    model_server_free(bench->server);
    process_world_done(&bench->process);
}

static bool run(struct bench *bench, const struct invocation *invocation, struct error *err)
{
    if (!process_world_init(&bench->process, invocation, err))
        return false;
    bench->world = bench->process.world;
    open_store(bench);
    if (!open_engine(bench, invocation, err))
        return false;
    struct loop *loop = bench->world.loop;
    bench->quiet = (struct loop_timer){.call = on_quiet, .context = bench};
    bench->beat = (struct loop_timer){.call = beat, .context = bench};
    struct loop_fd *seen = loop_watch_fd(loop, bench->asker.seen_bell, LOOP_READ, on_seen, bench);
    struct loop_fd *input = loop_watch_fd(loop, STDIN_FILENO, LOOP_READ, on_command, bench);
    begin(bench, RUN_SETTLE, 0, 0);
    loop_run(loop);
    loop_unwatch_fd(loop, seen);
    loop_unwatch_fd(loop, input);
    loop_timer_cancel(loop, &bench->quiet);
    loop_timer_cancel(loop, &bench->beat);
    close_all(bench);
    return true;
}

int main(int count, char **words)
{
    if (count != 4) {
        fprintf(stderr, "usage: zones RECORDS CONFIG LISTEN\n");
        return 2;
    }
    struct error err = {0};
    struct invocation invocation;
    struct bench bench = {.records = (unsigned)strtol(words[1], NULL, 10), .address = 10U << 24};
    char *options[] = {(char[]){"--log-level=error"}, (char[]){"--zones-config"}, words[2],
                       (char[]){"--primary-listen"}, words[3]};
    CLEANUP(arena) struct arena *arena = arena_new();
    asker_start(&bench.asker);
    if (!invocation_parse(&invocation, arena, command_find("run"), COUNT_OF(options), options,
                          &err) ||
        !run(&bench, &invocation, &err))
        fail(err.text);
    return 0;
}
