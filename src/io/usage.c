#include "io/usage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/metric.h"
#include "io/disk.h"

enum { PROC_OCTETS_MAX = 1 << 20 };

static void write_number(struct buffer *out, const char *name, const char *type, const char *help,
                         double number)
{
    metric_write_head(out, name, type, help);
    buffer_printf(out, "%s %.17g\n", name, number);
}

static void write_cpu(struct buffer *out)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage))
        return;
    double seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    write_number(out, "process_cpu_seconds_total", "counter", "User and system time.", seconds);
}

// The nth word of a /proc file behind the last ")", from 0; -1: not there.
static int64_t word_of(struct text rest, int at)
{
    struct text word;
    int64_t number;
    for (int i = 0; text_cut(&rest, ' ', &word); i++)
        if (i == at)
            return text_to_int64(text_trim(word), &number) ? number : -1;
    return -1;
}

static struct text read_proc(struct buffer *out, const char *path)
{
    return disk_read(out, path, PROC_OCTETS_MAX, NULL) ? buffer_text(out) : TEXT("");
}

static void write_memory(struct buffer *out)
{
    AUTO_BUFFER content = {0};
    struct text statm = read_proc(&content, "/proc/self/statm");
    int64_t page = sysconf(_SC_PAGESIZE);
    if (word_of(statm, 0) >= 0)
        write_number(out, "process_virtual_memory_bytes", "gauge", "Address space.",
                     (double)(word_of(statm, 0) * page));
    if (word_of(statm, 1) >= 0)
        write_number(out, "process_resident_memory_bytes", "gauge", "Memory in use.",
                     (double)(word_of(statm, 1) * page));
}

static double boot_time(void)
{
    AUTO_BUFFER content = {0};
    struct text rest = read_proc(&content, "/proc/stat");
    struct text line;
    while (text_cut(&rest, '\n', &line))
        if (text_starts(line, "btime "))
            return (double)word_of(line, 1);
    return -1;
}

static void write_start(struct buffer *out)
{
    AUTO_BUFFER content = {0};
    struct text stat = read_proc(&content, "/proc/self/stat");
    const char *behind = stat.len ? strrchr(stat.at, ')') : NULL;
    double booted_s = boot_time();
    if (!behind || booted_s < 0)
        return;
    int64_t ticks = word_of(text_of(behind + 2), 19);
    if (ticks >= 0)
        write_number(out, "process_start_time_seconds", "gauge", "Unix time of the start.",
                     booted_s + (double)ticks / (double)sysconf(_SC_CLK_TCK));
}

static void write_descriptors(struct buffer *out)
{
    char **names = NULL;
    size_t count = 0;
    struct rlimit limit;
    if (disk_list("/proc/self/fd", &names, &count, NULL))
        write_number(out, "process_open_fds", "gauge", "Open descriptors.", (double)(count - 1));
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    if (!getrlimit(RLIMIT_NOFILE, &limit))
        write_number(out, "process_max_fds", "gauge", "Descriptors that may be open.",
                     (double)limit.rlim_cur);
}

void usage_write_metrics(struct buffer *out)
{
    write_cpu(out);
    write_memory(out);
    write_start(out);
    write_descriptors(out);
}
