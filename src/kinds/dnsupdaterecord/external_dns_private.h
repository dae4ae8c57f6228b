#pragma once

#include "base/text.h"

// Inside this folder: what the table of parameters checks texts with. Each returns what is wrong
// with the text ("must begin with arn:"), or NULL.

const char *external_dns_check_arn(struct text text);
const char *external_dns_check_duration(struct text text);          // 0 or more
const char *external_dns_check_positive_duration(struct text text); // more than 0
const char *external_dns_check_interval(struct text text);          // 1s or more
const char *external_dns_check_owner(struct text text);
const char *external_dns_check_affix(struct text text); // prefix or suffix of ownership records
const char *external_dns_check_annotation_prefix(struct text text);
const char *external_dns_check_metrics_address(struct text text);
const char *external_dns_check_plain(struct text text);  // no control characters
const char *external_dns_check_base64(struct text text); // of a secret
const char *external_dns_check_host(struct text text);   // a name or an address alone
#define CHECK(name) external_dns_check_##name

// Not in the table, yet TSIG's parameters are not needed with it.
#define EXTERNAL_DNS_GSS_FLAG "rfc2136-gss-tsig"

// The words that parameters may have, NULL-terminated.
extern const char *const external_dns_zone_types[];
extern const char *const external_dns_algorithms[];
extern const char *const external_dns_axfr_words[];
extern const char *const external_dns_compatibilities[];
extern const char *const external_dns_service_types[];
extern const char *const external_dns_policies[];
extern const char *const external_dns_registries[];
extern const char *const external_dns_log_formats[];
extern const char *const external_dns_log_levels[];
extern const char *const external_dns_strategies[];
extern const char *const external_dns_record_types[];
#define WORDS(name) external_dns_##name
