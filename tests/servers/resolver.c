#include "resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/process.h"

enum { OUTPUT_MAX = 16 * 1024 };
static const int64_t AGE_MAX_MS = 7 * 24 * 3600 * INT64_C(1000);

struct resolver {
    struct loop *loop;
    struct process *process;
    char *hosts_folder;
    char *hosts_path;
    char *draft_path; // beside the hosts' folder, whose files dnsmasq reads as soon as they change
    char *conf_path;
    uint16_t port;
    char *settings;
};

static char *join(const char *folder, const char *name)
{
    struct buffer path = {0};
    buffer_printf(&path, "%s/%s", folder, name);
    return buffer_steal(&path);
}

static bool write_file(const char *path, struct text content, struct error *err)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return error_set_errno(err, errno, "%s", path);
    bool is_written = fwrite(content.at, 1, content.len, file) == content.len;
    if (fclose(file) != 0 || !is_written)
        return error_set_errno(err, errno, "%s", path);
    return true;
}

// By a rename: dnsmasq is never to see half of it.
static bool write_hosts(const struct resolver *resolver, struct text hosts, struct error *err)
{
    if (!write_file(resolver->draft_path, hosts, err))
        return false;
    if (rename(resolver->draft_path, resolver->hosts_path) != 0)
        return error_set_errno(err, errno, "%s", resolver->hosts_path);
    return true;
}

static bool write_conf(const struct resolver *resolver, struct error *err)
{
    AUTO_BUFFER conf = {0};
    buffer_printf(&conf,
                  "port=%u\nlisten-address=127.0.0.1\nbind-interfaces\nno-resolv\nno-hosts\n"
                  "cache-size=10000\naddress=/#/\nhostsdir=%s\npid-file=\nlog-facility=-\n%s",
                  resolver->port, resolver->hosts_folder,
                  resolver->settings ? resolver->settings : "");
    return write_file(resolver->conf_path, buffer_text(&conf), err);
}

static void on_end(void *context, const struct process_result *result)
{
    struct resolver *resolver = context;
    resolver->process = NULL;
    fprintf(stderr, "dnsmasq ended by itself: %.*s\n", TEXT_ARGS(result->errors));
}

bool resolver_is_up(const struct resolver *resolver)
{
    return resolver->process;
}

bool resolver_set_up(struct resolver *resolver, bool is_up, struct error *err)
{
    const char *const argv[] = {
        "setpriv",     "--pdeathsig",  "KILL", "dnsmasq",           "--keep-in-foreground",
        "--user=root", "--group=root", "-C",   resolver->conf_path, NULL};
    if (is_up == resolver_is_up(resolver))
        return true;
    if (!is_up) {
        process_cancel(steal(resolver->process));
        return true;
    }
    const struct process_request request = {
        .argv = argv, .max_output_octets = OUTPUT_MAX, .timeout_ms = AGE_MAX_MS};
    resolver->process = process_start(resolver->loop, &request, on_end, resolver, err);
    return resolver->process;
}

static bool set_settings(struct resolver *resolver, struct text settings, struct error *err)
{
    if (resolver->settings && text_is(settings, resolver->settings))
        return true;
    free(resolver->settings);
    resolver->settings = text_dup(settings);
    bool was_up = resolver_is_up(resolver);
    return write_conf(resolver, err) && resolver_set_up(resolver, false, err) &&
           resolver_set_up(resolver, was_up, err);
}

bool resolver_serve(struct resolver *resolver, struct text hosts, struct text settings,
                    struct error *err)
{
    return write_hosts(resolver, hosts, err) && set_settings(resolver, settings, err);
}

struct resolver *resolver_new(struct loop *loop, const char *folder, uint16_t port,
                              struct error *err)
{
    struct resolver *resolver = mem_new_of(struct resolver);
    *resolver = (struct resolver){.loop = loop, .port = port};
    resolver->hosts_folder = join(folder, "hosts");
    resolver->hosts_path = join(folder, "hosts/custom.list");
    resolver->draft_path = join(folder, "custom.list.draft");
    resolver->conf_path = join(folder, "dnsmasq.conf");
    if (mkdir(resolver->hosts_folder, 0755) == 0 || errno == EEXIST)
        return resolver;
    error_set_errno(err, errno, "%s", resolver->hosts_folder);
    resolver_free(resolver);
    return NULL;
}

void resolver_free(struct resolver *resolver)
{
    if (!resolver)
        return;
    process_cancel(resolver->process);
    free(resolver->hosts_folder);
    free(resolver->hosts_path);
    free(resolver->draft_path);
    free(resolver->conf_path);
    free(resolver->settings);
    free(resolver);
}
