// What a Corefile of many entries costs in one process: merging the DNS object, rendering and
// checking the text, and a whole decision of the controller over it.
//
//     corefile ENTRIES UPSTREAMS ROUNDS [FILE]
//
// Writes the Corefile to FILE, if one is given. Prints the medians of the rounds in microseconds of
// CPU: "octets=N merge=U render=U lint=U decide=U".

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "controllers/clusterdns/test_cluster.h"
#include "dns/corefile/lint.h"

enum { UPSTREAMS_MAX = 15, ROUNDS_MAX = 1000 };
enum phase { PHASE_MERGE, PHASE_RENDER, PHASE_LINT, PHASE_DECIDE, PHASES };

static int64_t took_us[PHASES][ROUNDS_MAX];

static const char kubeadm[] =
    ".:5353 {\n    errors\n    health\n    ready\n"
    "    kubernetes cluster.local in-addr.arpa ip6.arpa {\n       pods insecure\n    }\n"
    "    forward . /etc/resolv.conf\n    reload\n}\n";

static int64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "corefile: %s\n", what);
    exit(1);
}

static const char *spec_of(size_t entries, size_t upstreams)
{
    AUTO_BUFFER out = {0};
    buffer_add_text(&out, "'servers':[");
    for (size_t i = 0; i < entries; i++) {
        buffer_printf(&out,
                      "%s{'name':'entry-%zu','zones':['zone-%zu.example'],'forwardPlugin':{"
                      "'policy':'RoundRobin','upstreams':[",
                      i ? "," : "", i, i);
        for (size_t at = 0; at < upstreams; at++)
            buffer_printf(&out, "%s'10.%zu.%zu.%zu'", at ? "," : "", i / 250, i % 250, at + 1);
        buffer_add_text(&out, "]}}");
    }
    buffer_add_text(&out, "]");
    return arena_copy(arena, out.at, out.len);
}

// ---- the text -----------------------------------------------------------------------------------

static void merge(struct arena *used, const struct object *subject, struct merged *merged)
{
    struct merge_object object = {.name = TEXT(DNS_MAIN_NAME)};
    const struct merge_settings settings =
        merge_settings_of(&cluster.settings, COREFILE_PLAIN, true);
    dns_unpack(used, object_spec(subject), &object.spec);
    dns_merge(used, &settings, &object, 1, merged);
}

static void lint(struct arena *used, struct text text)
{
    const struct corefile_file file = {"Corefile", text};
    const struct corefile_lint_options options = {.version = coredns_newest};
    struct corefile_problems problems = {.arena = used};
    CLEANUP(corefile) struct corefile *corefile = corefile_lint(&file, &options, &problems);
    if (problems.error_count)
        fail(problems.items[0].text);
}

static void make_once(const struct object *subject, size_t round, struct buffer *text)
{
    char id[CONFIG_ID_LEN + 1];
    struct merged merged;
    CLEANUP(arena) struct arena *used = arena_new();
    int64_t began_us = cpu_us();
    merge(used, subject, &merged);
    int64_t merged_us = cpu_us();
    buffer_clear(text);
    corefile_render(text, &merged.input, id);
    int64_t rendered_us = cpu_us();
    lint(used, buffer_text(text));
    took_us[PHASE_MERGE][round] = merged_us - began_us;
    took_us[PHASE_RENDER][round] = rendered_us - merged_us;
    took_us[PHASE_LINT][round] = cpu_us() - rendered_us;
}

// ---- a decision ---------------------------------------------------------------------------------

// As it stands in a cluster whose Corefile others wrote.
static void settle_cluster(const char *spec)
{
    put_text_map("kube-system", "coredns", "Corefile", kubeadm);
    put_pod(false, "coredns-a", "10.0.0.1");
    put_main(spec);
    settle(DNS_MAIN_NAME);
    set_answer(0, "10.0.0.1:5353", config_id());
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    if (strcmp(now("Converged"), "True/Converged"))
        fail("the cluster does not converge");
}

static void decide_once(size_t round)
{
    CLEANUP(arena) struct arena *used = arena_new();
    struct input_objects objects[INPUTS];
    struct decision decision = {0};
    const struct object *subject = object_of(find_stored(&dns_kind, "", DNS_MAIN_NAME));
    for (size_t i = 0; i < INPUTS; i++)
        fill_input(&clusterdns_controller.inputs[i], subject, &objects[i]);
    const struct snapshot snapshot = {
        .arena = used,
        .namespace_ = TEXT(""),
        .name = TEXT(DNS_MAIN_NAME),
        .subject = subject,
        .inputs = objects,
        .now_ms = cluster.now_ms,
        .settings = &cluster.settings,
        .is_leading = true,
    };
    int64_t began_us = cpu_us();
    clusterdns_controller.decide(&snapshot, NULL, &decision);
    took_us[PHASE_DECIDE][round] = cpu_us() - began_us;
    for (size_t i = 0; i < INPUTS; i++)
        drop_input(&objects[i]);
    object_unref(subject);
}

// ---- all of it ----------------------------------------------------------------------------------

static int compare_us(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static long long median_us(enum phase phase, size_t rounds)
{
    qsort(took_us[phase], rounds, sizeof took_us[phase][0], compare_us);
    return took_us[phase][rounds / 2];
}

static void save(const char *path, struct text text)
{
    FILE *file = fopen(path, "w");
    if (!file || fwrite(text.at, 1, text.len, file) != text.len || fclose(file))
        fail("the Corefile can't be written");
}

int main(int count, char **words)
{
    AUTO_BUFFER text = {0};
    size_t entries = count > 3 ? strtoul(words[1], NULL, 10) : 0;
    size_t upstreams = count > 3 ? strtoul(words[2], NULL, 10) : 0;
    size_t rounds = count > 3 ? strtoul(words[3], NULL, 10) : 0;
    if (!entries || !upstreams || upstreams > UPSTREAMS_MAX || !rounds || rounds > ROUNDS_MAX)
        fail("usage: corefile ENTRIES UPSTREAMS ROUNDS [FILE]");
    open_cluster(NULL);
    settle_cluster(spec_of(entries, upstreams));
    const struct object *subject = object_of(find_stored(&dns_kind, "", DNS_MAIN_NAME));
    for (size_t round = 0; round < rounds; round++)
        make_once(subject, round, &text);
    object_unref(subject);
    for (size_t round = 0; round < rounds; round++)
        decide_once(round);
    printf("octets=%zu merge=%lld render=%lld lint=%lld decide=%lld\n", text.len,
           median_us(PHASE_MERGE, rounds), median_us(PHASE_RENDER, rounds),
           median_us(PHASE_LINT, rounds), median_us(PHASE_DECIDE, rounds));
    if (count > 4)
        save(words[4], buffer_text(&text));
    tear_down(NULL);
    return 0;
}
