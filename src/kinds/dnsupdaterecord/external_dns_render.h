#pragma once

#include "kinds/dnsupdaterecord/dnsupdaterecord.h"

// Makes the arguments, the environment and the files with which external-dns is started for one
// DNSUpdateRecord. Pure: the same record gives the
// same bytes. It holds for a record that update_record_check() has no error of. Everything is made
// in the arena, its texts borrowed from the record.

struct external_dns_input {
    const struct update_record *record;
    unsigned minor;      // of the release
    struct text project; // EMCO name
    struct text namespace_;
    // The record's annotation, or what external_dns_pinned_make() gave.
    const struct external_dns_pinned *pinned;
};

struct external_dns_env {
    const char *name;
    struct text value; // absent: out of the Secret
    struct text secret;
    struct text key;
};
#define EXTERNAL_DNS_FILES "/etc/signpost" // where the files of Secrets are mounted
struct external_dns_file {
    const char *path; // "/etc/signpost/tls-ca"
    struct text target;
    struct text secret;
    struct text key;
};
struct external_dns_start {
    const char *const *args; // no secret among them
    size_t arg_count;
    const struct external_dns_env *env;
    size_t env_count;
    const struct external_dns_file *files;
    size_t file_count;
    unsigned port; // of metrics and health
};
void external_dns_start_make(struct arena *arena, const struct external_dns_input *input,
                             struct external_dns_start *out);

// Where the records of an external-dns that is started so stand: its flags that say so, a line each
// ("provider=rfc2136"). Owner id and prefixes are not among them.
struct text external_dns_place(struct arena *arena, const struct external_dns_start *start);

// By what the updates of a record for rfc2136 are signed: its flags and the name of the Secret with
// the key in it, a line each. Empty: by nothing.
struct text external_dns_signer(struct arena *arena, const struct update_record *record);

// What the record itself says of all that gets pinned, for an owner id of this process.
void external_dns_pinned_make(struct arena *arena, const struct update_record *record,
                              unsigned minor, struct text project, struct text process_owner,
                              struct external_dns_pinned *out);

// Makes what the record asks for, with place and signer too; what a pinned record leaves out stays
// as it is pinned. `input` need not have `pinned`.
void external_dns_pinned_ask(struct arena *arena, const struct external_dns_input *input,
                             struct text process_owner, struct external_dns_pinned *out);

// The first value that the pinned place has of that flag; absent: it has none.
struct text external_dns_place_find(const struct external_dns_pinned *pinned, struct text flag);

// Would records stand elsewhere by what that parameter, or "provider", says? Spelling does not
// count, nor does which engine writes them.
bool external_dns_is_moved_by(const struct external_dns_pinned *from,
                              const struct external_dns_pinned *to, struct text flag);
bool external_dns_is_same_place(const struct external_dns_pinned *a,
                                const struct external_dns_pinned *b);

// "public-dns-b4bbad42": the value of the label update-record, behind "external-dns-" the name of
// the Deployment and what belongs to it.
const char *update_record_label(struct arena *arena, struct text project, struct text record);
