// The way of one change through the engine, in one idle process: a manifest is saved, the store
// tells its event, the engine decides, and the first octet of the request reaches the provider, a
// process of its own that notes the time.
//
//     latency FOLDER CHANGES
//
// FOLDER is made and stays. Prints a line for each sort of change: "edited" (a value in a file of
// one record), "made" (a new file), "of_many" (a value in a file of 100 records), with the p50 and
// the p99 in microseconds of
//     event_octet   store event, behind the settling, to the first octet at the provider
//     save_decided  end of the save to the decision: of a new record its write-ahead, else the
//     octet

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/must.h"
#include "bench/overheard.h"
#include "commands/commands.h"
#include "commands/process.h"
#include "commands/settings.h"
#include "engine/engine.h"
#include "kinds/kinds.h"
#include "model/engine_inside.h"
#include "store/folder/folder.h"

enum { QUIET_MS = 60, GIVE_UP_MS = 10000, ROWS_MAX = 64, MANY = 100 };

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "latency: %s\n", what);
    exit(1);
}

// ---- the provider -------------------------------------------------------------------------------

enum { PEERS_MAX = 64, REQUEST_MAX = 8192 };

struct backend {
    _Atomic int64_t *octet_us; // first octet of the last POST, shared
    int bell;                  // rings with every POST
    uint16_t port;
};

static bool is_whole(const char *request)
{
    const char *end = strstr(request, "\r\n\r\n");
    const char *length = strstr(request, "Content-Length: ");
    return end && (!length || strlen(end + 4) >= strtoul(length + 16, NULL, 10));
}

static bool answer(const struct backend *backend, int fd)
{
    static const char body[] = "{\"success\":true,\"status\":\"healthy\"}";
    char request[REQUEST_MAX + 1], reply[256];
    uint64_t one = 1;
    size_t got = 0;
    int64_t octet_us = 0;
    do {
        ssize_t len = recv(fd, request + got, REQUEST_MAX - got, 0);
        if (len <= 0)
            return false;
        if (!octet_us)
            octet_us = now_us();
        got += (size_t)len;
        request[got] = '\0';
    } while (!is_whole(request));
    bool is_post = !strncmp(request, "POST", 4);
    if (is_post)
        atomic_store(backend->octet_us, octet_us);
    int len = snprintf(reply, sizeof reply,
                       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       sizeof body - 1, body);
    must(send(fd, reply, (size_t)len, MSG_NOSIGNAL) == len);
    must(!is_post || write(backend->bell, &one, sizeof one) == sizeof one);
    return true;
}

static _Noreturn void serve(const struct backend *backend, int listener)
{
    struct pollfd peers[PEERS_MAX] = {{.fd = listener, .events = POLLIN}};
    nfds_t count = 1;
    for (;;) {
        must(poll(peers, count, -1) > 0);
        for (nfds_t i = 1; i < count; i++)
            if (peers[i].revents && !answer(backend, peers[i].fd)) {
                close(peers[i].fd);
                peers[i].fd = -1;
            }
        if (peers[0].revents && count < PEERS_MAX)
            peers[count++] = (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
    }
}

static void backend_start(struct backend *backend)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(listener >= 0 && bind(listener, (struct sockaddr *)&address, len) == 0 &&
         listen(listener, PEERS_MAX) == 0 &&
         getsockname(listener, (struct sockaddr *)&address, &len) == 0);
    backend->port = ntohs(address.sin_port);
    backend->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    backend->octet_us =
        mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(backend->octet_us != MAP_FAILED);
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(backend, listener);
    }
    close(listener);
}

// ---- manifests ----------------------------------------------------------------------------------

static void save(const char *folder, const char *name, const struct buffer *content)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (!file || fwrite(content->at, 1, content->len, file) != content->len || fclose(file))
        fail("a manifest cannot be written");
    chmod(path, 0600);
}

static void add_record(struct buffer *out, const char *name, unsigned number)
{
    buffer_printf(out,
                  "---\napiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSRecord\n"
                  "metadata:\n  name: %s\nspec:\n  type: A\n  domain: bench.example\n"
                  "  subdomain: %s\n  dnsClassRef:\n    name: bench\n  values:\n"
                  "    - 192.0.%u.%u\n",
                  name, name, number / 250, number % 250);
}

static void save_class(const char *folder, uint16_t port)
{
    AUTO_BUFFER out = {0};
    buffer_printf(&out,
                  "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\n"
                  "metadata:\n  name: bench\nspec:\n  server: http://127.0.0.1:%u\n"
                  "  hmacAuth:\n    secretRef: {name: bench, namespace: default, key: hmac}\n"
                  "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: bench\n"
                  "stringData:\n  hmac: bench-secret\n",
                  port);
    save(folder, "class.yaml", &out);
}

static void save_edited(const char *folder, unsigned number)
{
    AUTO_BUFFER out = {0};
    add_record(&out, "edited", number);
    save(folder, "edited.yaml", &out);
}

static void save_made(const char *folder, unsigned number)
{
    AUTO_BUFFER out = {0};
    char name[32];
    snprintf(name, sizeof name, "made%u", number);
    add_record(&out, name, number);
    snprintf(name, sizeof name, "made%u.yaml", number);
    save(folder, name, &out);
}

static void save_of_many(const char *folder, unsigned number)
{
    AUTO_BUFFER out = {0};
    for (unsigned i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "many%u", i);
        add_record(&out, name, i ? i : MANY + number);
    }
    save(folder, "many.yaml", &out);
}

static const struct sort {
    const char *name;
    void (*save)(const char *folder, unsigned number);
    bool has_write_ahead;
} sorts[] = {
    {"edited", save_edited, false},
    {"made", save_made, true},
    {"of_many", save_of_many, false},
};

// ---- the bench ----------------------------------------------------------------------------------

struct bench {
    struct overheard overheard;
    struct process_world process;
    struct store *store;
    struct engine *engine;
    struct backend backend;
    struct loop_timer quiet;
    struct loop_timer give_up;
    const char *folder;
    unsigned changes;
    unsigned number; // of the change, over all sorts
    size_t sort;
    bool is_warm;
    bool is_measured;
    int64_t saved_us;
    int64_t event_us;
    int64_t ahead_us;
    int64_t *event_octet;
    int64_t *save_decided;
    size_t count;
};

static void overhear_event(void *context, const struct store_event *event)
{
    struct bench *bench = context;
    (void)event;
    if (!bench->event_us)
        bench->event_us = now_us();
}

static void overhear_apply(void *context)
{
    struct bench *bench = context;
    if (!bench->ahead_us)
        bench->ahead_us = now_us();
}

// ---- one change after the other -----------------------------------------------------------------

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static void print_series(const char *name, int64_t *took_us, size_t count)
{
    qsort(took_us, count, sizeof *took_us, compare);
    printf(" %s_p50=%lld %s_p99=%lld", name, (long long)took_us[count / 2], name,
           (long long)took_us[(count * 99 - 1) / 100]);
}

static void report(struct bench *bench)
{
    printf("%s changes=%zu", sorts[bench->sort].name, bench->count);
    print_series("event_octet", bench->event_octet, bench->count);
    print_series("save_decided", bench->save_decided, bench->count);
    printf("\n");
}

// The first change of a sort is not measured: its file is new.
static void begin_change(struct bench *bench)
{
    bench->is_measured = bench->is_warm;
    bench->is_warm = true;
    bench->event_us = bench->ahead_us = 0;
    loop_timer_set(bench->process.world.loop, &bench->give_up, GIVE_UP_MS);
    sorts[bench->sort].save(bench->folder, ++bench->number);
    bench->saved_us = now_us();
}

static void on_quiet(void *context)
{
    struct bench *bench = context;
    if (!engine_is_idle(bench->engine)) {
        loop_timer_set(bench->process.world.loop, &bench->quiet, QUIET_MS);
        return;
    }
    if (bench->count == bench->changes) {
        report(bench);
        bench->sort++;
        bench->is_warm = false;
        bench->count = 0;
    }
    if (bench->sort < COUNT_OF(sorts))
        begin_change(bench);
    else
        loop_stop(bench->process.world.loop);
}

static void note(struct bench *bench, int64_t octet_us)
{
    bool has_ahead = sorts[bench->sort].has_write_ahead;
    bench->event_octet[bench->count] = octet_us - bench->event_us;
    bench->save_decided[bench->count] = (has_ahead ? bench->ahead_us : octet_us) - bench->saved_us;
    bench->count++;
}

static void on_bell(void *context, int fd, unsigned interest)
{
    struct bench *bench = context;
    uint64_t rings = 0;
    (void)interest;
    must(read(fd, &rings, sizeof rings) == sizeof rings);
    loop_timer_cancel(bench->process.world.loop, &bench->give_up);
    if (bench->is_measured)
        note(bench, atomic_load(bench->backend.octet_us));
    bench->is_measured = false;
    loop_timer_set(bench->process.world.loop, &bench->quiet, QUIET_MS);
}

static void on_give_up(void *context)
{
    (void)context;
    fail("no request for 10 s");
}

// ---- life ---------------------------------------------------------------------------------------

static const char *finalizer_of(const struct kind *kind)
{
    for (size_t i = 0; i < controller_count; i++)
        if (controllers[i]->kind == kind)
            return controllers[i]->finalizer;
    return NULL;
}

static bool open_store(struct bench *bench, struct error *err)
{
    struct store_kind rows[ROWS_MAX];
    size_t count = 0;
    must(kind_count <= ROWS_MAX);
    for (; count < kind_count; count++)
        rows[count] =
            (struct store_kind){.kind = kinds[count], .finalizer = finalizer_of(kinds[count])};
    const struct folder_options options = {
        .dir = bench->folder, .kinds = rows, .kind_count = count};
    bench->store = folder_new(&bench->process.world, &options, bench->process.log, err);
    if (!bench->store)
        return false;
    bench->overheard =
        (struct overheard){.event = overhear_event, .apply = overhear_apply, .context = bench};
    overheard_begin(&bench->overheard, bench->store);
    return true;
}

static bool open_engine(struct bench *bench, const struct invocation *invocation, struct error *err)
{
    const void *settings[ROWS_MAX] = {NULL};
    for (size_t i = 0; i < controller_count && i < ROWS_MAX; i++)
        settings[i] = settings_resolve(invocation, controllers[i], err);
    const struct engine_options options = {
        .world = &bench->process.world,
        .log = bench->process.log,
        .store = bench->store,
        .controllers = controllers,
        .settings = settings,
        .controller_count = controller_count,
        .providers = providers,
        .provider_count = provider_count,
    };
    bench->engine = engine_new(&options);
    return engine_start(bench->engine, err);
}

static bool run(struct bench *bench, const struct invocation *invocation, struct error *err)
{
    if (!process_world_init(&bench->process, invocation, err) || !open_store(bench, err) ||
        !open_engine(bench, invocation, err))
        return false;
    struct loop *loop = bench->process.world.loop;
    bench->quiet = (struct loop_timer){.call = on_quiet, .context = bench};
    bench->give_up = (struct loop_timer){.call = on_give_up, .context = bench};
    struct loop_fd *bell = loop_watch_fd(loop, bench->backend.bell, LOOP_READ, on_bell, bench);
    loop_timer_set(loop, &bench->quiet, 1000);
    loop_run(loop);
    loop_unwatch_fd(loop, bell);
    loop_timer_cancel(loop, &bench->quiet);
    loop_timer_cancel(loop, &bench->give_up);
    engine_free(bench->engine);
    store_free(bench->store);
    process_world_done(&bench->process);
    return true;
}

int main(int count, char **words)
{
    if (count != 3) {
        fprintf(stderr, "usage: latency FOLDER CHANGES\n");
        return 2;
    }
    struct bench bench = {.folder = words[1], .changes = (unsigned)strtol(words[2], NULL, 10)};
    struct error err = {0};
    struct invocation invocation;
    char *options[] = {(char[]){"--log-level=warn"}};
    CLEANUP(arena) struct arena *arena = arena_new();
    if (mkdir(bench.folder, 0700))
        fail("the folder cannot be made");
    bench.event_octet = mem_new_array(int64_t, bench.changes);
    bench.save_decided = mem_new_array(int64_t, bench.changes);
    backend_start(&bench.backend);
    save_class(bench.folder, bench.backend.port);
    if (!invocation_parse(&invocation, arena, command_find("run"), 1, options, &err) ||
        !run(&bench, &invocation, &err))
        fail(err.text);
    free(bench.event_octet);
    free(bench.save_decided);
    return 0;
}
