#pragma once

#include "kinds/dnsupdaterecord/dnsupdaterecord.h"

// Inside this folder: the rules of update_record_check(), by what they look at.

struct check_run {
    const struct update_record *record;
    unsigned minor;
    struct findings *findings;
};

// Where the parameter stands in the object, or where it would (arena).
const char *parameter_path(const struct check_run *run, enum external_dns_id id);
// Adds "path: text". Of a parameter, at where it stands, or where it would.
void check_error(const struct check_run *run, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void parameter_error(const struct check_run *run, enum external_dns_id id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void parameter_warning(const struct check_run *run, enum external_dns_id id, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

// What is wrong with the characters of such a parameter's text ("must begin with arn:"), or NULL.
const char *parameter_fault(const struct external_dns_parameter *row, struct text text);

// Do the URLs of a variable hold a password? No URL of etcd has an @ otherwise.
bool update_record_env_has_secret(struct text name, struct text value);

// A text of the object fit to be shown (arena).
const char *check_shown(const struct check_run *run, struct text text);

// Each parameter alone: owner, release, range, words, form.
void check_parameters(const struct check_run *run);
// Parameters together.
void check_combinations(const struct check_run *run);
// What stands beside the parameters.
void check_surroundings(const struct check_run *run);
// What the annotation keeps, and where the record asks for something else now.
void check_pinned(const struct check_run *run);
