#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/value.h"

// What Signpost knows of external-dns: its releases, and the one table of parameters that a
// DNSUpdateRecord may have. Checks, arguments, the CRD and the help text come from that table
// (parameters.def). All of it is static.
//
//     const struct external_dns_parameter *row = external_dns_find(TEXT("domain-filter"));

// ---- providers ----------------------------------------------------------------------------------

enum external_dns_provider {
    EXTERNAL_DNS_AWS,
    EXTERNAL_DNS_AWS_SD,
    EXTERNAL_DNS_AZURE,
    EXTERNAL_DNS_AZURE_DNS,
    EXTERNAL_DNS_AZURE_PRIVATE_DNS,
    EXTERNAL_DNS_COREDNS,
    EXTERNAL_DNS_RFC2136,
    EXTERNAL_DNS_PROVIDERS, // also: none of them
};
extern const char *const external_dns_providers[]; // "aws", ...; NULL-terminated

// Sets of providers, as bits.
enum external_dns_owner {
    OWNER_AWS = 1 << EXTERNAL_DNS_AWS | 1 << EXTERNAL_DNS_AWS_SD,
    OWNER_AZURE =
        1 << EXTERNAL_DNS_AZURE | 1 << EXTERNAL_DNS_AZURE_DNS | 1 << EXTERNAL_DNS_AZURE_PRIVATE_DNS,
    OWNER_COREDNS = 1 << EXTERNAL_DNS_COREDNS,
    OWNER_RFC2136 = 1 << EXTERNAL_DNS_RFC2136,
    OWNER_ANY = (1 << EXTERNAL_DNS_PROVIDERS) - 1,
};

// ---- releases -----------------------------------------------------------------------------------

enum external_dns_support {
    EXTERNAL_DNS_SUPPORTED,
    EXTERNAL_DNS_TOO_OLD, // another format of ownership records: refused
    EXTERNAL_DNS_TOO_NEW, // treated as the newest that we know
    EXTERNAL_DNS_NO_RELEASE,
};
// The release of external-dns that is run where nobody names one.
#define EXTERNAL_DNS_VERSION "v0.22.0"
enum { EXTERNAL_DNS_OLDEST = 19, EXTERNAL_DNS_NEWEST = 22 };

// Reads "v0.22.0"; the minor number by which flags are spelled goes to *minor, which is always
// between OLDEST and NEWEST.
enum external_dns_support external_dns_release_read(struct text version, unsigned *minor);

// What stands behind the colon of an image's last part; an absent text: it has no tag.
struct text external_dns_image_tag(struct text image);
// What is wrong with an image: it must have a tag or a digest, not :latest, and a tag that is a
// release must be that of `version` (absent: any). NULL: nothing. The text is the arena's.
const char *external_dns_image_fault(struct arena *arena, struct text image, struct text version);

// ---- parameters ---------------------------------------------------------------------------------

enum external_dns_id {
#define PARAMETER(id, ...) PARAMETER_##id,
#include "kinds/dnsupdaterecord/parameters.def"
#undef PARAMETER
    PARAMETERS,
};

enum external_dns_form {
    FORM_PLAIN,   // --flag=value
    FORM_LIST,    // one --flag=value for each entry; a text is cut at its commas
    FORM_FLAG,    // --flag or --no-flag
    FORM_FILE,    // --flag=<where the file is mounted>
    FORM_SECRET,  // an environment variable out of a Secret
    FORM_IGNORED, // kept, never passed on, with a warning
    FORM_FOLDED,  // says what another parameter says, or nothing
};

enum external_dns_trait {
    TRAIT_PLACE = 1 << 0,   // says where records stand: changing it moves them
    TRAIT_FIXED = 1 << 1,   // passed always, before all others
    TRAIT_RFC2136 = 1 << 2, // others than rfc2136 take it, and do not use it
};

struct external_dns_parameter {
    const char *name;
    unsigned types; // bits: 1 << VALUE_TEXT, ...
    enum external_dns_form form;
    unsigned owners; // enum external_dns_owner
    unsigned traits;
    unsigned since;         // the first release that has the flag, by its minor number
    unsigned renamed_since; // 0: never
    const char *renamed;    // the flag's name since then
    const char *fallback;   // what is passed where the record has none, or NULL
    int64_t min;            // octets of a text, or the range of a number
    int64_t max;
    const char *const *choices; // NULL-terminated, or NULL
    // What is wrong with a text that is not empty ("must begin with arn:"), or NULL. May be NULL.
    const char *(*check)(struct text text);
    const char *doc;
};
extern const struct external_dns_parameter external_dns_parameters[PARAMETERS];

// By its name in a record; NULL: unknown.
const struct external_dns_parameter *external_dns_find(struct text name);
// The known name that is nearest to a wrong one, or NULL.
const char *external_dns_nearest(struct text wrong);
// By its flag in any release, without dashes in front: "rfc2136-axfr", "no-dry-run". NULL: unknown.
// *is_negated may be NULL.
const struct external_dns_parameter *external_dns_find_flag(struct text flag, bool *is_negated);
// By its environment variable: "EXTERNAL_DNS_RFC2136_TSIG_SECRET".
const struct external_dns_parameter *external_dns_find_variable(struct text variable);
// How a release spells the flag; NULL: it has none.
const char *external_dns_flag(const struct external_dns_parameter *row, unsigned minor);
// Is the parameter passed on for that provider?
bool external_dns_is_used(const struct external_dns_parameter *row,
                          enum external_dns_provider provider);
// Does a flag say where records stand ("provider" does, too)?
bool external_dns_is_place(struct text flag);
// Must it not stand in extraArgs?
bool external_dns_is_reserved(struct text flag);
// Prints something and ends the process at once, such as help-long.
bool external_dns_ends_process(struct text flag);
// Does a flag of that name hold a secret, so that it goes into the environment?
bool external_dns_is_secret_flag(struct text flag);
// Appends "EXTERNAL_DNS_" and the flag in capitals.
void external_dns_variable_write(struct buffer *out, struct text flag);

// ---- all flags ----------------------------------------------------------------------------------

enum external_dns_flag_form {
    FLAG_VALUE,  // --flag=value, once
    FLAG_LIST,   // --flag=value, again and again
    FLAG_SWITCH, // --flag or --no-flag, once
};
// How releases from `since` to `until`, by their minor numbers, read a flag (flags.def).
struct external_dns_flag_row {
    const char *name;
    enum external_dns_flag_form form;
    unsigned since;
    unsigned until;
};
// Of a release; NULL: it has no such flag, and ends when it is given. Only a switch may have "no-"
// in front, which *is_negated says.
const struct external_dns_flag_row *external_dns_flag_find(struct text flag, unsigned minor,
                                                           bool *is_negated);
// Of the newest release that has it, or NULL.
const struct external_dns_flag_row *external_dns_flag_find_any(struct text flag, bool *is_negated);
// The flag of a release that is nearest to a wrong one, or NULL.
const char *external_dns_flag_nearest(struct text wrong, unsigned minor);

// ---- environment --------------------------------------------------------------------------------

struct external_dns_variable {
    const char *name;
    unsigned owners;
    bool is_secret; // may stand in a Secret only
    bool is_file;   // names a file, whose content stands in a Secret
};
// The NAME of "env:NAME", as targets of secretRefs name variables. Absent: a parameter's target.
struct text external_dns_target_variable(struct text target);
// A variable of the provider's own libraries that may be set; NULL: it may not.
const struct external_dns_variable *external_dns_find_env(struct text name,
                                                          enum external_dns_provider provider);
// True of a variable that is known to hold no secret for any provider.
bool external_dns_env_may_be_shown(struct text name);

// ---- values -------------------------------------------------------------------------------------

// "[host]:port"; false: it is none. 0 is no port.
bool external_dns_address_read(struct text address, struct text *host, unsigned *port);
// Go's durations with d and w besides, as external-dns takes them.
bool external_dns_duration_ns(struct text text, int64_t *ns);
// The entries of a text with commas, or of a list of such texts, without those that are empty.
const struct text *external_dns_entries(struct arena *arena, const struct value *value,
                                        size_t *count);
