#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/http_call.h"

enum { MAX_IDLE_CONNECTIONS = 64 };

#define SET_MULTI(multi, option, value)                                                            \
    do {                                                                                           \
        _Static_assert(CURL_FITS(option, value), #option " takes another type");                   \
        (multi)->owner->libcurl.multi_setopt((multi)->handle, option, value);                      \
    } while (0)

// A socket of libcurl's on the loop.
struct watched {
    struct http_multi *multi;
    struct loop_fd *watch;
    unsigned interest;
};

// A server that sends head and body in two small writes, the second once the first is acknowledged,
// would be waited for 40 ms. The kernel drops that option with each request, and libcurl may have
// read the first before anybody watched: so it is told whenever there is more to come.
static void acknowledge_at_once(int fd)
{
    static const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof(yes));
}

static void act(struct http_multi *multi, curl_socket_t fd, int what)
{
    struct curl_http *curl = multi->owner;
    int running;
    curl->is_in_libcurl = true;
    must(curl->libcurl.multi_socket_action(multi->handle, fd, what, &running) == CURLM_OK);
    if (multi->ready)
        acknowledge_at_once(fd);
    multi->ready = NULL;
    curl->is_in_libcurl = false;
    http_multi_acted(multi);
}

static void on_timer(void *context)
{
    act(context, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer_request(CURLM *handle, long delay_ms, void *context)
{
    struct http_multi *multi = context;
    (void)handle;
    if (delay_ms < 0)
        loop_timer_cancel(multi->owner->loop, &multi->timer);
    else
        loop_timer_set(multi->owner->loop, &multi->timer, delay_ms);
    return 0;
}

static void on_ready(void *context, int fd, unsigned interest)
{
    struct watched *watched = context;
    watched->multi->ready = watched;
    act(watched->multi, fd,
        ((interest & LOOP_READ) ? CURL_CSELECT_IN : 0) |
            ((interest & LOOP_WRITE) ? CURL_CSELECT_OUT : 0));
}

static void drop_watch(struct http_multi *multi, curl_socket_t fd, struct watched *watched)
{
    if (!watched)
        return;
    if (multi->ready == watched)
        multi->ready = NULL;
    loop_unwatch_fd(multi->owner->loop, watched->watch);
    multi->owner->libcurl.multi_assign(multi->handle, fd, NULL);
    free(watched);
}

static int on_socket_request(CURL *easy, curl_socket_t fd, int what, void *context, void *socket)
{
    (void)easy;
    struct http_multi *multi = context;
    struct watched *watched = socket;
    if (what == CURL_POLL_REMOVE) {
        drop_watch(multi, fd, watched);
        return 0;
    }
    unsigned interest =
        ((what & CURL_POLL_IN) ? LOOP_READ : 0u) | ((what & CURL_POLL_OUT) ? LOOP_WRITE : 0u);
    if (!watched) {
        watched = mem_new_of(struct watched);
        watched->multi = multi;
        multi->owner->libcurl.multi_assign(multi->handle, fd, watched);
    } else if (watched->interest == interest) {
        return 0;
    } else {
        loop_unwatch_fd(multi->owner->loop, watched->watch);
    }
    if (interest & LOOP_READ)
        acknowledge_at_once(fd);
    watched->interest = interest;
    watched->watch = loop_watch_fd(multi->owner->loop, fd, interest, on_ready, watched);
    return 0;
}

static void open(struct http_multi *multi, struct curl_http *curl)
{
    multi->owner = curl;
    multi->timer = (struct loop_timer){.call = on_timer, .context = multi};
    multi->handle = curl->libcurl.multi_init();
    must(multi->handle);
    SET_MULTI(multi, CURLMOPT_SOCKETFUNCTION, on_socket_request);
    SET_MULTI(multi, CURLMOPT_SOCKETDATA, multi);
    SET_MULTI(multi, CURLMOPT_TIMERFUNCTION, on_timer_request);
    SET_MULTI(multi, CURLMOPT_TIMERDATA, multi);
    SET_MULTI(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    SET_MULTI(multi, CURLMOPT_MAXCONNECTS, (long)MAX_IDLE_CONNECTIONS);
}

static bool load(struct curl_http *curl, struct error *err)
{
    if (!curl_library_load(&curl->libcurl, CURL_LIBRARY_FILE, err))
        return false;
    must(curl->libcurl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    return true;
}

struct http_multi *http_multi_open(struct curl_http *curl, bool is_single, struct error *err)
{
    struct http_multi *multi = is_single ? &curl->single : &curl->shared;
    if (multi->handle)
        return multi;
    if (!http_is_loaded(curl) && !load(curl, err))
        return NULL;
    open(multi, curl);
    if (is_single)
        SET_MULTI(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    return multi;
}

void http_multi_close(struct http_multi *multi)
{
    if (!multi->handle)
        return;
    multi->owner->libcurl.multi_cleanup(multi->handle);
    loop_timer_cancel(multi->owner->loop, &multi->timer);
}
