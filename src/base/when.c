#include "base/when.h"

#include <string.h>

#include "base/memory.h"

enum {
    DAY_S = 24 * 60 * 60,
    DAYS_OF_400_YEARS = 146097,
    EPOCH_DAY = 719468, // days from 0000-03-01 to 1970-01-01
};

static const int64_t least_s = -62167219200; // 0000-01-01T00:00:00Z
static const int64_t most_s = 253402300799;  // 9999-12-31T23:59:59Z

struct moment {
    int year, month, day; // 1-based
    int hour, minute, second;
};

static const char *const weekdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

// Years are counted from March here, so that the leap day is a year's last.
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2);
    int64_t era = floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_OF_400_YEARS + day_of_era - EPOCH_DAY;
}

static void set_date(struct moment *at, int64_t days)
{
    int64_t z = days + EPOCH_DAY;
    int64_t era = floor_div(z, DAYS_OF_400_YEARS);
    int64_t day_of_era = z - era * DAYS_OF_400_YEARS;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
                           day_of_era / (DAYS_OF_400_YEARS - 1)) /
                          365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    at->day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    at->month = (int)(month < 10 ? month + 3 : month - 9);
    at->year = (int)(year_of_era + era * 400 + (at->month <= 2));
}

static struct moment moment_of(int64_t unix_s)
{
    if (unix_s < least_s)
        unix_s = least_s;
    if (unix_s > most_s)
        unix_s = most_s;
    int64_t days = floor_div(unix_s, DAY_S);
    int rest = (int)(unix_s - days * DAY_S);
    struct moment at = {.hour = rest / 3600, .minute = rest / 60 % 60, .second = rest % 60};
    set_date(&at, days);
    return at;
}

static bool is_date(const struct moment *at)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (at->month < 1 || at->month > 12 || at->day < 1)
        return false;
    bool is_leap = at->year % 4 == 0 && (at->year % 100 != 0 || at->year % 400 == 0);
    return at->day <= lengths[at->month - 1] + (at->month == 2 && is_leap);
}

// Second 60 is a leap second: RFC 3339 and RFC 9110 allow it, Unix time has none.
static bool is_time(const struct moment *at)
{
    return at->hour <= 23 && at->minute <= 59 && at->second <= 60;
}

static int64_t seconds_of(const struct moment *at)
{
    int64_t of_day = at->hour * 3600 + at->minute * 60 + at->second;
    return days_of(at->year, at->month, at->day) * DAY_S + of_day;
}

static void put_digits(char *out, int count, int number)
{
    while (count-- > 0) {
        out[count] = (char)('0' + number % 10);
        number /= 10;
    }
}

// Every status has several, so that printf would take a good part of writing one.
void when_write(int64_t unix_s, char out[WHEN_TEXT_MAX])
{
    struct moment at = moment_of(unix_s);
    memcpy(out, "0000-00-00T00:00:00Z", sizeof "0000-00-00T00:00:00Z");
    put_digits(out, 4, at.year);
    put_digits(out + 5, 2, at.month);
    put_digits(out + 8, 2, at.day);
    put_digits(out + 11, 2, at.hour);
    put_digits(out + 14, 2, at.minute);
    put_digits(out + 17, 2, at.second);
}

// A time in units of which a second has so many; a unit takes that many digits.
static void write_fraction(int64_t unix_units, int per_second, int digits, char out[WHEN_TEXT_MAX])
{
    int rest = (int)(unix_units % per_second);
    when_write(floor_div(unix_units, per_second), out);
    char *dot = strchr(out, 'Z');
    *dot = '.';
    put_digits(dot + 1, digits, rest < 0 ? rest + per_second : rest);
    memcpy(dot + 1 + digits, "Z", sizeof "Z");
}

void when_write_ms(int64_t unix_ms, char out[WHEN_TEXT_MAX])
{
    write_fraction(unix_ms, 1000, 3, out);
}

void when_write_us(int64_t unix_us, char out[WHEN_TEXT_MAX])
{
    write_fraction(unix_us, 1000000, 6, out);
}

// Takes exactly `count` digits off the front.
static bool take_digits(struct text *rest, size_t count, int *out)
{
    int number = 0;
    if (rest->len < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (rest->at[i] < '0' || rest->at[i] > '9')
            return false;
        number = number * 10 + rest->at[i] - '0';
    }
    rest->at += count;
    rest->len -= count;
    *out = number;
    return true;
}

static bool take(struct text *rest, const char *exact)
{
    if (!text_starts(*rest, exact))
        return false;
    size_t len = strlen(exact);
    rest->at += len;
    rest->len -= len;
    return true;
}

static bool take_clock(struct text *rest, struct moment *at)
{
    return take_digits(rest, 2, &at->hour) && take(rest, ":") &&
           take_digits(rest, 2, &at->minute) && take(rest, ":") &&
           take_digits(rest, 2, &at->second);
}

// ".123456": milliseconds, the rest is cut off.
static bool take_fraction(struct text *rest, int *ms)
{
    *ms = 0;
    if (!take(rest, "."))
        return true;
    int digit;
    int weight = 100;
    size_t before = rest->len;
    while (take_digits(rest, 1, &digit)) {
        *ms += digit * weight;
        weight /= 10;
    }
    return rest->len < before;
}

static bool take_offset(struct text *rest, int *offset_s)
{
    *offset_s = 0;
    if (take(rest, "Z") || take(rest, "z"))
        return true;
    bool is_west = take(rest, "-");
    int hours;
    int minutes;
    if ((!is_west && !take(rest, "+")) || !take_digits(rest, 2, &hours) || !take(rest, ":") ||
        !take_digits(rest, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *offset_s = (hours * 60 + minutes) * 60 * (is_west ? -1 : 1);
    return true;
}

static bool read_rfc3339(struct text rest, int64_t *unix_ms)
{
    struct moment at = {0};
    int ms;
    int offset_s;
    bool is_read = take_digits(&rest, 4, &at.year) && take(&rest, "-") &&
                   take_digits(&rest, 2, &at.month) && take(&rest, "-") &&
                   take_digits(&rest, 2, &at.day) && (take(&rest, "T") || take(&rest, "t")) &&
                   take_clock(&rest, &at) && take_fraction(&rest, &ms) &&
                   take_offset(&rest, &offset_s) && rest.len == 0;
    if (!is_read || !is_date(&at) || !is_time(&at))
        return false;
    *unix_ms = (seconds_of(&at) - offset_s) * 1000 + ms;
    return true;
}

bool when_parse(struct text text, int64_t *unix_ms, struct error *err)
{
    if (read_rfc3339(text, unix_ms))
        return true;
    struct text shown = utf8_prefix(text, 64);
    return error_set(err, FAULT_SPEC, "InvalidTime",
                     "\"%.*s\" is not a time: write it as 2025-12-30T10:00:00Z", TEXT_ARGS(shown));
}

// Takes one of the words; its index goes to *out.
static bool take_word(struct text *rest, const char *const *words, size_t count, int *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!take(rest, words[i]))
            continue;
        *out = (int)i;
        return true;
    }
    return false;
}

bool when_parse_http(struct text text, int64_t *unix_s)
{
    struct moment at = {0};
    int weekday, month = 0;
    bool is_read = take_word(&text, weekdays, COUNT_OF(weekdays), &weekday) && take(&text, ", ") &&
                   take_digits(&text, 2, &at.day) && take(&text, " ") &&
                   take_word(&text, months, COUNT_OF(months), &month) && take(&text, " ") &&
                   take_digits(&text, 4, &at.year) && take(&text, " ") && take_clock(&text, &at) &&
                   take(&text, " GMT") && text.len == 0;
    at.month = month + 1;
    if (!is_read || !is_date(&at) || !is_time(&at))
        return false;
    *unix_s = seconds_of(&at);
    return true;
}
