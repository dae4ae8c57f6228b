#include "dns/corefile/test_lint.h"

// ---- cache and hosts ----------------------------------------------------------------------------

static void cache_keeps_answers_for_a_while(void **state)
{
    (void)state;
    const struct row heads[] = {
        {NULL, "cache 900 a.example", ""},
        {NULL, "cache +5", ""},
        {NULL, "cache a.example 0", ""},
        {NULL, "cache 0", "plugin/cache: cache TTL can not be zero or negative: 0"},
        {NULL, "cache\ncache", "plugin/cache: " ONCE},
    };
    CHECK_LINES(heads);
    const struct row rows[] = {
        {NULL,
         "success 100 60 5\ndenial 9984 30\nprefetch 10 1m 10%\nserve_stale 1h verify\n"
         "servfail 5m\ndisable denial b.example\nkeepttl",
         ""},
        {NULL, "success x", "strconv.Atoi: parsing \"x\": invalid syntax"},
        {NULL, "denial 1 0", "cache TTL can not be zero or negative: 0"},
        {NULL, "denial 1 1 -1", "cache min TTL can not be negative: -1"},
        {NULL, "prefetch 10 1m 5%", "percentage should fall in range [10, 90]: 5"},
        {NULL, "prefetch 10 1m 50", "last character of percentage should be `%`, but is: '0'"},
        {NULL, "servfail 6m", "caching SERVFAIL responses over 5 minutes is not permitted"},
        {NULL, "disable all", "cache type for disable must be \"success\" or \"denial\""},
        {NULL, "nothing", AT("3") WRONG_COUNT "'nothing'"},
        {NULL, "keepttl yes", AT("3") WRONG_COUNT "'yes'"},
        {"1.11.0", "keepttl yes", AT("3") WRONG_COUNT "'yes'"},
    };
    CHECK_OPTIONS("cache", rows);
}

static void keepttl_once_looked_at_the_zones_of_its_cache(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"1.11.1", "cache 5 a.example {\nkeepttl\n}", ""},
        {"1.11.0", "cache 5 a.example {\nkeepttl\n}",
         "plugin/cache: " AT("3") WRONG_COUNT "'keepttl'"},
        {"1.11.0", "cache 5 {\nkeepttl\n}", ""},
        {"1.11.0", "cache { keepttl }", ""},
        {NULL, "cache { keepttl }", "plugin/cache: " AT("2") WRONG_COUNT "'}'"},
    };
    CHECK_LINES(rows);
}

static void stale_answers_have_their_times(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "serve_stale 1h verify 100ms 30s 1m\nserve_stale_policy prefer_positive", ""},
        {NULL, "serve_stale 1h Immediate 30s 1m", ""},
        {NULL, "serve_stale 1h immediate 30s 1m 1m", AT("3") WRONG_COUNT "'1m'"},
        {NULL, "serve_stale -1h", "invalid negative duration for serve_stale"},
        {NULL, "serve_stale 1h Later", "invalid value for serve_stale refresh mode: later"},
        {NULL, "serve_stale 1h verify x",
         "invalid serve_stale verify timeout: time: invalid duration \"x\""},
        {NULL, "serve_stale 1h verify -1s", "invalid negative timeout for serve_stale verify"},
        {NULL, "serve_stale 1h verify 1s 1ms",
         "serve_stale response TTL must be a whole number of seconds"},
        {NULL, "serve_stale 1h verify 1s 1200000h",
         "serve_stale response TTL exceeds the DNS TTL range"},
        {NULL, "serve_stale 1h immediate 1s 6m",
         "serve_stale failure recheck cannot exceed 5 minutes"},
        {NULL, "serve_stale 1h immediate 1s -6m",
         "invalid negative failure recheck for serve_stale"},
        {"1.14.6", "serve_stale 1h verify 100ms 30s", AT("3") WRONG_COUNT "'30s'"},
        {"1.14.6", "serve_stale 1h immediate 30s",
         "serve_stale timeout is only valid with the verify refresh mode"},
        {"1.14.3", "serve_stale 1h verify 100ms", AT("3") WRONG_COUNT "'100ms'"},
        {NULL, "serve_stale_policy prefer_positive", "serve_stale_policy requires serve_stale"},
        {NULL, "serve_stale\nserve_stale_policy verify", "invalid serve_stale_policy: verify"},
        {NULL, "serve_stale_policy prefer_positive\nserve_stale_policy x",
         "serve_stale_policy can only be specified once"},
    };
    CHECK_OPTIONS("cache", rows);
}

static void lines_of_hosts_stand_in_front_of_fallthrough(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "192.0.2.1 a.example\nttl +60\nreload 5s\nno_reverse\nfallthrough", ""},
        {NULL, "fallthrough\n192.0.2.1 a.example", AT("4") "unknown property '192.0.2.1'"},
        {NULL, "fallthrough a..b\n192.0.2.1 a.example", ""},
        {NULL, "ttl", AT("3") "ttl needs a time in second"},
        {NULL, "ttl 1s", AT("3") "ttl needs a number of second"},
        {NULL, "ttl 0", AT("3") "ttl provided is invalid"},
        {NULL, "ttl 65536", AT("3") "ttl provided is invalid"},
        {NULL, "reload", AT("3") "reload needs a duration (zero seconds to disable)"},
        {NULL, "reload 5", AT("3") "invalid duration for reload '5'"},
        {NULL, "reload -5s", AT("3") "invalid negative duration for reload '-5s'"},
        {NULL, "fallthrough\nfallthrough_unsupported", ""},
        {NULL, "fallthrough\nfallthrough_unsupported x", AT("4") WRONG_COUNT "'x'"},
        {NULL, "fallthrough_unsupported", AT("4") "fallthrough_unsupported requires fallthrough"},
        {"1.14.6", "fallthrough\nfallthrough_unsupported",
         AT("4") "unknown property 'fallthrough_unsupported'"},
    };
    CHECK_OPTIONS("hosts /etc/hosts", rows);
}

// ---- zones --------------------------------------------------------------------------------------

static void file_names_a_file(void **state)
{
    (void)state;
    const struct row heads[] = {{NULL, "file", "plugin/file: " AT("2") WRONG_COUNT "'file'"}};
    CHECK_LINES(heads);
    const struct row rows[] = {
        {NULL, "reload 30s\nreload_by_mtime\nfallthrough\nupstream", ""},
        {NULL, "reload", "reload duration value is expected"},
        {NULL, "reload 30", "plugin/file: time: missing unit in duration \"30\""},
        {"1.14.3", "reload_by_mtime", AT("3") "unknown property 'reload_by_mtime'"},
        {"1.12.1", "fallthrough", AT("3") "unknown property 'fallthrough'"},
        {"1.12.2", "fallthrough", ""},
    };
    CHECK_OPTIONS("file db.example a.example", rows);
}

static void auto_takes_zones_out_of_the_names_of_files(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "directory /zones\nreload 1m\nupstream", ""},
        {NULL, "directory /zones db\\.(.*) {1}", ""},
        {NULL, "directory", AT("3") WRONG_COUNT "'directory'"},
        {NULL, "directory /zones db\\..* {1}", AT("3") "Need at least one sub expression"},
        {NULL, "directory /zones (", "error parsing regexp: missing closing ): `(`"},
        {NULL, "directory /zones (.*)", AT("3") WRONG_COUNT "'(.*)'"},
        {NULL, "directory /zones (.*) {1} x", AT("3") WRONG_COUNT "'x'"},
        {NULL, "reload", "reload duration value is expected"},
        {NULL, "reload 1", "plugin/file: time: missing unit in duration \"1\""},
        {NULL, "reload -1s", "plugin/file: invalid duration"},
        {NULL, "no_reload", AT("3") "unknown property 'no_reload'"},
    };
    CHECK_OPTIONS("auto", rows);
}

static void secondary_is_transferred_from_somewhere(void **state)
{
    (void)state;
    const struct row heads[] = {
        {NULL, "secondary a.example",
         "plugin/secondary: " AT("2") "secondary zones require a transfer from property"},
        {"1.12.1", "secondary a.example", ""},
    };
    CHECK_LINES(heads);
    const struct row rows[] = {
        {NULL, "transfer from 192.0.2.1 [2001:db8::1]:53 2001:db8::1 fe80::1%eth0", ""},
        {NULL, "transfer", AT("3") WRONG_COUNT "'transfer'"},
        {NULL, "transfer to 192.0.2.1", AT("3") "unknown property to"},
        {NULL, "transfer from", AT("3") WRONG_COUNT "'from'"},
        {NULL, "transfer from *", "can't use '*' in transfer from"},
        {NULL, "transfer from a:53", "must specify an IP address: `a'"},
        {"1.14.4", "transfer from fe80::1%eth0", "must specify an IP address: `fe80::1%eth0'"},
        {NULL, "transfer from ::1\ncatalog a.example\nfallthrough", ""},
        {NULL, "transfer from ::1\ncatalog a..b", "invalid catalog member zone \"a..b\""},
        {"1.14.6", "transfer from ::1\ncatalog a.example", AT("4") WRONG_COUNT "'a.example'"},
        {"1.14.4", "transfer from ::1\ncatalog", AT("4") "unknown property 'catalog'"},
        {"1.14.3", "transfer from ::1\nfallthrough", AT("4") "unknown property 'fallthrough'"},
    };
    CHECK_OPTIONS("secondary a.example", rows);
}

static void transfer_goes_to_addresses(void **state)
{
    (void)state;
    const struct row heads[] = {
        {NULL, "transfer", "plugin/transfer: plugin/transfer: " AT("2") "'to' is required"}};
    CHECK_LINES(heads);
    const struct row rows[] = {
        {NULL, "to * 192.0.2.1:53\nsource 192.0.2.1", ""},
        {NULL, "to", AT("3") WRONG_COUNT "'to'"},
        {NULL, "to here", "must specify an IP address: `here'"},
        {NULL, "to *\nfrom ::1", "plugin/transfer: " AT("4") "unknown property \"from\""},
        {NULL, "to *\nsource x", "plugin/transfer: " AT("4") "invalid source address \"x\""},
        {NULL, "to *\nsource ::1\nsource ::1",
         "plugin/transfer: " AT("5") "source already specified"},
        {"1.14.4", "to *\nsource ::1", "plugin/transfer: " AT("4") "unknown property \"source\""},
    };
    CHECK_OPTIONS("transfer", rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(cache_keeps_answers_for_a_while),
        UNIT(keepttl_once_looked_at_the_zones_of_its_cache),
        UNIT(stale_answers_have_their_times),
        UNIT(lines_of_hosts_stand_in_front_of_fallthrough),
        UNIT(file_names_a_file),
        UNIT(auto_takes_zones_out_of_the_names_of_files),
        UNIT(secondary_is_transferred_from_somewhere),
        UNIT(transfer_goes_to_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
