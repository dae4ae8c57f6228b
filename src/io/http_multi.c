#include <stdlib.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/http_call.h"

enum { MAX_IDLE_CONNECTIONS = 64 };

#define SET_MULTI(curl, option, value)                                                             \
    do {                                                                                           \
        _Static_assert(CURL_FITS(option, value), #option " takes another type");                   \
        (curl)->libcurl.multi_setopt((curl)->multi, option, value);                                \
    } while (0)

// A socket of libcurl's on the loop.
struct watched {
    struct curl_http *owner;
    struct loop_fd *watch;
    unsigned interest;
};

static void act(struct curl_http *curl, curl_socket_t fd, int what)
{
    int running;
    curl->is_in_libcurl = true;
    must(curl->libcurl.multi_socket_action(curl->multi, fd, what, &running) == CURLM_OK);
    curl->is_in_libcurl = false;
    http_multi_acted(curl);
}

static void on_timer(void *context)
{
    act(context, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer_wish(CURLM *multi, long delay_ms, void *context)
{
    (void)multi;
    struct curl_http *curl = context;
    if (delay_ms < 0)
        loop_timer_cancel(curl->loop, &curl->timer);
    else
        loop_timer_set(curl->loop, &curl->timer, delay_ms);
    return 0;
}

static void on_ready(void *context, int fd, unsigned interest)
{
    struct watched *watched = context;
    act(watched->owner, fd,
        ((interest & LOOP_READ) ? CURL_CSELECT_IN : 0) |
            ((interest & LOOP_WRITE) ? CURL_CSELECT_OUT : 0));
}

static void drop_watch(struct curl_http *curl, curl_socket_t fd, struct watched *watched)
{
    if (!watched)
        return;
    loop_unwatch_fd(curl->loop, watched->watch);
    curl->libcurl.multi_assign(curl->multi, fd, NULL);
    free(watched);
}

static int on_socket_wish(CURL *easy, curl_socket_t fd, int what, void *context, void *socket)
{
    (void)easy;
    struct curl_http *curl = context;
    struct watched *watched = socket;
    if (what == CURL_POLL_REMOVE) {
        drop_watch(curl, fd, watched);
        return 0;
    }
    unsigned interest =
        ((what & CURL_POLL_IN) ? LOOP_READ : 0u) | ((what & CURL_POLL_OUT) ? LOOP_WRITE : 0u);
    if (!watched) {
        watched = mem_new_of(struct watched);
        watched->owner = curl;
        curl->libcurl.multi_assign(curl->multi, fd, watched);
    } else if (watched->interest == interest) {
        return 0;
    } else {
        loop_unwatch_fd(curl->loop, watched->watch);
    }
    watched->interest = interest;
    watched->watch = loop_watch_fd(curl->loop, fd, interest, on_ready, watched);
    return 0;
}

bool http_multi_open(struct curl_http *curl, struct error *err)
{
    if (curl->multi)
        return true;
    if (!curl_library_load(&curl->libcurl, CURL_LIBRARY_FILE, err))
        return false;
    must(curl->libcurl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    curl->timer = (struct loop_timer){.call = on_timer, .context = curl};
    curl->multi = curl->libcurl.multi_init();
    must(curl->multi);
    SET_MULTI(curl, CURLMOPT_SOCKETFUNCTION, on_socket_wish);
    SET_MULTI(curl, CURLMOPT_SOCKETDATA, curl);
    SET_MULTI(curl, CURLMOPT_TIMERFUNCTION, on_timer_wish);
    SET_MULTI(curl, CURLMOPT_TIMERDATA, curl);
    SET_MULTI(curl, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    SET_MULTI(curl, CURLMOPT_MAXCONNECTS, (long)MAX_IDLE_CONNECTIONS);
    return true;
}
