#pragma once

#include "dns/registry_name.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"

// Which names external-dns publishes for a record, and keeps.

// Why it would leave out a record set of that name and type without a word: OUTSIDE_DOMAIN_FILTER
// or NAME_TOO_LONG_FOR_REGISTRY, with what to tell people in *text (arena). NONE: it does not.
enum reason update_record_name_fault(struct arena *arena, const struct update_record *record,
                                     struct text name, struct text type, const char **text);
// The registry of the names that stand: "txt", "noop", ...
struct text update_record_registry(const struct update_record *record);
// How the names of its ownership records are made, also while the record asks for another place.
// The texts are borrowed from the record.
struct registry_affix update_record_affix(const struct update_record *record);

// Does external-dns list what is at the provider by AXFR (parameter rfc2136-tsig-axfr)?
bool update_record_lists_by_axfr(const struct update_record *record);
// Why names stay at the provider that nobody publishes any more: "its policy removes nothing".
// NULL: they are removed.
const char *update_record_why_names_stay(const struct update_record *record);
// Is nothing to be sent to the provider (parameter dry-run)?
bool update_record_is_dry_run(const struct update_record *record);

// The domains of domain-filter or exclude-domains, in the form of published names, as external-dns
// compares them whatever their spelling is; one that begins with a dot keeps it (arena).
const struct text *update_record_domains(struct arena *arena, const struct value *value,
                                         size_t *count);
// Is `narrow`, of such a list, one of those domains or below one? A dot in front does not count.
bool update_record_domains_cover(const struct text *wide, size_t count, struct text narrow);
