#include "providers/pihole/explain.h"

enum { LEFT_SHOWN = 20 };

struct teller {
    void (*report)(void *context, const char *level, const char *text);
    void *context;
};

static void report(const struct teller *teller, const char *level, const char *text)
{
    teller->report(teller->context, level, text);
}

static void report_left(const struct teller *teller, const struct value *left)
{
    size_t count = 0;
    value_each (line, left) {
        AUTO_BUFFER text = {0};
        if (count++ == LEFT_SHOWN)
            break;
        buffer_printf(&text, "a line of another owner stays there: %.*s", TEXT_ARGS(line->text));
        report(teller, "warn", text.at);
    }
    if (value_count(left) > LEFT_SHOWN) {
        AUTO_BUFFER text = {0};
        buffer_printf(&text, "%zu more lines of other owners stay there",
                      value_count(left) - LEFT_SHOWN);
        report(teller, "warn", text.at);
    }
}

static void report_forced(const struct teller *teller, const struct value *answer)
{
    static const char *const lists[] = {"hosts", "cnameRecords"};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        AUTO_BUFFER path = {0};
        AUTO_BUFFER text = {0};
        buffer_printf(&path, "visit.forced.%s", lists[i]);
        if (!value_bool_at(answer, path.at, false))
            continue;
        buffer_printf(&text, "dns.%s is set by its environment: take FTLCONF_dns_%s away there",
                      lists[i], lists[i]);
        report(teller, "error", text.at);
    }
}

static void write_count(struct buffer *out, int64_t count, const char *what)
{
    buffer_printf(out, "%lld %s%s", (long long)count, what, count == 1 ? "" : "s");
}

// "it lets us in, API v6, 1 instance in use; 4 lines of hosts, 1 ours, ..."
static void write_summary(struct buffer *out, const struct job *job, bool has_owner)
{
    const struct value *answer = job->answer;
    int64_t seats = value_int_at(answer, "seatsInUse", -1);
    buffer_printf(out, "it lets us in, API %.*s", TEXT_ARGS(value_text_at(answer, "dialect")));
    if (seats >= 0) {
        buffer_add_text(out, ", ");
        write_count(out, seats, "seat");
        buffer_add_text(out, " in use");
    }
    buffer_add_text(out, "; ");
    write_count(out, value_int_at(answer, "lines.hosts", 0), "line");
    buffer_add_text(out, " of hosts");
    if (has_owner)
        buffer_printf(out, ", %lld ours", (long long)value_int_at(answer, "visit.ours", 0));
    buffer_add_text(out, ", ");
    write_count(out, value_int_at(answer, "lines.cnameRecords", 0), "line");
    buffer_add_text(out, " of cnameRecords");
    if (has_owner && job->ledger)
        buffer_printf(out, ", %lld ours", (long long)value_int_at(answer, "visit.aliases", 0));
}

void pihole_explain(const struct job *job, bool has_owner,
                    void (*report_line)(void *context, const char *level, const char *text),
                    void *context)
{
    AUTO_BUFFER text = {0};
    const struct teller teller = {report_line, context};
    const struct value *answer = job->answer;
    write_summary(&text, job, has_owner);
    report(&teller, "ok", text.at);
    if (job->unavailable)
        report(&teller, "error", job->unavailable->text);
    else
        report_forced(&teller, answer);
    if (value_bool_at(answer, "hostsRestart", false))
        report(&teller, "warn",
               "each change of hosts restarts its resolver: set dns.hostsLocal to false there");
    if (value_bool_at(answer, "visit.believesAnyKey", false))
        report(&teller, "warn",
               "its TLS key is not known yet: the first that `signpost run` sees is believed");
    report_left(&teller, value_at(answer, "visit.left", NULL));
}
