#include "dns/rdata.h"

#include <string.h>

#include "base/memory.h"
#include "dns/rdata_private.h"
#include "dns/rr_type.h"

#define FIELDS(...) .fields = {__VA_ARGS__}
#define DS_FIELDS RDATA_U16, RDATA_ALGORITHM, RDATA_DIGEST_TYPE, RDATA_HEX
#define KEY_FIELDS RDATA_U16, RDATA_U8, RDATA_ALGORITHM
#define SIG_FIELDS                                                                                 \
    RDATA_TYPE, RDATA_ALGORITHM, RDATA_U8, RDATA_PERIOD, RDATA_TIME, RDATA_TIME, RDATA_U16,        \
        RDATA_NAME, RDATA_BASE64
#define SVCB_FIELDS RDATA_U16, RDATA_NAME, RDATA_PARAMS

// By number. Compressible are those of RFC 1035 alone (RFC 3597 4).
static const struct rdata_shape shapes[] = {
    [RR_A] = {FIELDS(RDATA_IP4)},
    [RR_NS] = {FIELDS(RDATA_NAME), .is_compressible = true, .has_target = true,
               .check = rdata_check_ns},
    [3] = {FIELDS(RDATA_NAME), .is_compressible = true, .has_target = true}, // MD
    [4] = {FIELDS(RDATA_NAME), .is_compressible = true, .has_target = true}, // MF
    [RR_CNAME] = {FIELDS(RDATA_NAME), .is_compressible = true, .has_target = true},
    [RR_SOA] = {FIELDS(RDATA_NAME, RDATA_NAME, RDATA_U32, RDATA_PERIOD, RDATA_PERIOD, RDATA_PERIOD,
                       RDATA_PERIOD),
                .is_compressible = true},
    [7] = {FIELDS(RDATA_NAME), .is_compressible = true, .has_target = true}, // MB
    [8] = {FIELDS(RDATA_NAME), .is_compressible = true},                     // MG
    [9] = {FIELDS(RDATA_NAME), .is_compressible = true},                     // MR
    [10] = {FIELDS(RDATA_OPAQUE)},                                           // NULL
    [11] = {FIELDS(RDATA_IP4, RDATA_WKS), .check = rdata_check_wks},         // WKS
    [RR_PTR] = {FIELDS(RDATA_NAME), .is_compressible = true, .has_target = true},
    [13] = {FIELDS(RDATA_STRING, RDATA_STRING)},                      // HINFO
    [14] = {FIELDS(RDATA_NAME, RDATA_NAME), .is_compressible = true}, // MINFO
    [RR_MX] = {FIELDS(RDATA_U16, RDATA_NAME), .is_compressible = true, .has_target = true,
               .check = rdata_check_mx},
    [RR_TXT] = {FIELDS(RDATA_STRINGS)},
    [17] = {FIELDS(RDATA_NAME, RDATA_NAME)},                          // RP
    [18] = {FIELDS(RDATA_U16, RDATA_NAME), .has_target = true},       // AFSDB
    [19] = {FIELDS(RDATA_STRING), .check = rdata_check_x25},          // X25
    [20] = {FIELDS(RDATA_STRING, RDATA_MAYBE)},                       // ISDN
    [21] = {FIELDS(RDATA_U16, RDATA_NAME), .has_target = true},       // RT
    [22] = {FIELDS(RDATA_NSAP)},                                      // NSAP
    [23] = {FIELDS(RDATA_NAME)},                                      // NSAP-PTR
    [24] = {FIELDS(SIG_FIELDS)},                                      // SIG
    [25] = {FIELDS(KEY_FIELDS, RDATA_KEY), .check = rdata_check_key}, // KEY
    [26] = {FIELDS(RDATA_U16, RDATA_NAME, RDATA_NAME)},               // PX
    [27] = {FIELDS(RDATA_STRING, RDATA_STRING, RDATA_STRING), .check = rdata_check_gpos}, // GPOS
    [RR_AAAA] = {FIELDS(RDATA_IP6)},
    [29] = {FIELDS(RDATA_LOC)},                                          // LOC
    [30] = {FIELDS(RDATA_NAME, RDATA_OPAQUE), .check = rdata_check_nxt}, // NXT
    [31] = {FIELDS(RDATA_HEX)},                                          // EID
    [32] = {FIELDS(RDATA_HEX)},                                          // NIMLOC
    [RR_SRV] = {FIELDS(RDATA_U16, RDATA_U16, RDATA_U16, RDATA_NAME), .has_target = true},
    [34] = {FIELDS(RDATA_ATMA), .check = rdata_check_atma}, // ATMA
    [35] = {FIELDS(RDATA_U16, RDATA_U16, RDATA_STRING, RDATA_STRING, RDATA_STRING, RDATA_NAME),
            .has_target = true, .check = rdata_check_naptr},                    // NAPTR
    [36] = {FIELDS(RDATA_U16, RDATA_NAME), .has_target = true},                 // KX
    [37] = {FIELDS(RDATA_CERT_TYPE, RDATA_U16, RDATA_ALGORITHM, RDATA_BASE64)}, // CERT
    [38] = {FIELDS(RDATA_A6)},                                                  // A6
    [RR_DNAME] = {FIELDS(RDATA_NAME), .has_target = true},
    [40] = {FIELDS(RDATA_U8, RDATA_U8, RDATA_U8, RDATA_KEY)}, // SINK
    [42] = {FIELDS(RDATA_APL), .check = rdata_check_apl},     // APL
    [RR_DS] = {FIELDS(DS_FIELDS), .check = rdata_check_ds},
    [44] = {FIELDS(RDATA_U8, RDATA_U8, RDATA_HEX), .check = rdata_check_sshfp}, // SSHFP
    [45] = {FIELDS(RDATA_U8, RDATA_U8, RDATA_U8, RDATA_GATEWAY, RDATA_BASE64)}, // IPSECKEY
    [46] = {FIELDS(SIG_FIELDS)},                                                // RRSIG
    [47] = {FIELDS(RDATA_NAME, RDATA_BITMAP), .check = rdata_check_nsec},       // NSEC
    [RR_DNSKEY] = {FIELDS(KEY_FIELDS, RDATA_BASE64), .check = rdata_check_dnskey},
    [49] = {FIELDS(RDATA_BASE64)},                                                        // DHCID
    [50] = {FIELDS(RDATA_U8, RDATA_U8, RDATA_U16, RDATA_SALT, RDATA_HASH, RDATA_BITMAP)}, // NSEC3
    [51] = {FIELDS(RDATA_U8, RDATA_U8, RDATA_U16, RDATA_SALT)}, // NSEC3PARAM
    [52] = {FIELDS(RDATA_U8, RDATA_U8, RDATA_U8, RDATA_HEX), .check = rdata_check_tlsa}, // TLSA
    [53] = {FIELDS(RDATA_U8, RDATA_U8, RDATA_U8, RDATA_HEX), .check = rdata_check_tlsa}, // SMIMEA
    [55] = {FIELDS(RDATA_HIP, RDATA_NAMES)},                                             // HIP
    [56] = {FIELDS(RDATA_STRINGS)},                                                      // NINFO
    [57] = {FIELDS(KEY_FIELDS, RDATA_BASE64), .check = rdata_check_rkey},                // RKEY
    [58] = {FIELDS(RDATA_NAME, RDATA_NAME)},                                             // TALINK
    [RR_CDS] = {FIELDS(DS_FIELDS), .check = rdata_check_cds},
    [RR_CDNSKEY] = {FIELDS(KEY_FIELDS, RDATA_BASE64), .check = rdata_check_cdnskey},
    [61] = {FIELDS(RDATA_BASE64)},                       // OPENPGPKEY
    [62] = {FIELDS(RDATA_U32, RDATA_U16, RDATA_BITMAP)}, // CSYNC
    [63] = {FIELDS(RDATA_U32, RDATA_U8, RDATA_U8, RDATA_HEX),
            .check = rdata_check_zonemd}, // ZONEMD
    [RR_SVCB] = {FIELDS(SVCB_FIELDS), .has_target = true, .check = rdata_check_svcb},
    [RR_HTTPS] = {FIELDS(SVCB_FIELDS), .has_target = true, .check = rdata_check_svcb},
    [66] = {FIELDS(RDATA_TYPE, RDATA_SCHEME, RDATA_U16, RDATA_NAME)}, // DSYNC
    [67] = {FIELDS(RDATA_BASE64)},                                    // HHIT
    [68] = {FIELDS(RDATA_BASE64)},                                    // BRID
    [RR_SPF] = {FIELDS(RDATA_STRINGS)},
    [104] = {FIELDS(RDATA_U16, RDATA_GROUPS)},                   // NID
    [105] = {FIELDS(RDATA_U16, RDATA_IP4)},                      // L32
    [106] = {FIELDS(RDATA_U16, RDATA_GROUPS)},                   // L64
    [107] = {FIELDS(RDATA_U16, RDATA_NAME), .has_target = true}, // LP
    [108] = {FIELDS(RDATA_EUI48)},                               // EUI48
    [109] = {FIELDS(RDATA_EUI64)},                               // EUI64
    [256] = {FIELDS(RDATA_U16, RDATA_U16, RDATA_NONEMPTY)},      // URI
    [RR_CAA] = {FIELDS(RDATA_U8, RDATA_TAG, RDATA_VALUE)},
    [258] = {FIELDS(RDATA_STRINGS)},                                           // AVC
    [259] = {FIELDS(RDATA_U32, RDATA_U32, RDATA_U8, RDATA_STRING, RDATA_DOA)}, // DOA
    [260] = {FIELDS(RDATA_U8, RDATA_RELAY)},                                   // AMTRELAY
    [261] = {FIELDS(RDATA_STRINGS)},                                           // RESINFO
    [262] = {FIELDS(RDATA_STRINGS)},                                           // WALLET
};

// Of TA and DLV, far from all others.
static const struct rdata_shape trust_anchor = {FIELDS(DS_FIELDS), .check = rdata_check_ds};

const struct rdata_shape *rdata_shape_find(uint16_t type)
{
    if (type < COUNT_OF(shapes))
        return shapes[type].fields[0] ? &shapes[type] : NULL;
    return type == RR_TA || type == RR_TA + 1 ? &trust_anchor : NULL;
}

bool rdata_is_compressible(uint16_t type)
{
    const struct rdata_shape *shape = rdata_shape_find(type);
    return shape && shape->is_compressible;
}

// ---- names --------------------------------------------------------------------------------------

size_t rdata_name_len(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *label = at;
    while (label < end && *label && *label <= DNAME_LABEL_MAX)
        label += *label + 1;
    size_t len = (size_t)(label - at) + 1;
    return label < end && !*label && len <= DNAME_MAX ? len : 0;
}

// Of a field that may stand in front of a name; 0: of no such.
static size_t field_len(enum rdata_field field, const uint8_t *at, const uint8_t *end)
{
    static const uint8_t lens[RDATA_FIELD_COUNT] = {
        [RDATA_U8] = 1,        [RDATA_U16] = 2,         [RDATA_U32] = 4,
        [RDATA_PERIOD] = 4,    [RDATA_TIME] = 4,        [RDATA_TYPE] = 2,
        [RDATA_ALGORITHM] = 1, [RDATA_DIGEST_TYPE] = 1, [RDATA_CERT_TYPE] = 2};
    if (field == RDATA_NAME)
        return rdata_name_len(at, end);
    if (field == RDATA_STRING)
        return at < end ? 1u + *at : 0;
    return lens[field];
}

size_t rdata_names(uint16_t type, struct text rdata, uint16_t *offsets, size_t capacity)
{
    const struct rdata_shape *shape = rdata_shape_find(type);
    const uint8_t *first = (const uint8_t *)rdata.at, *at = first, *end = first + rdata.len;
    size_t count = 0;
    for (const uint8_t *field = shape ? shape->fields : NULL; field && *field; field++) {
        size_t len = field_len(*field, at, end);
        if (!len || len > (size_t)(end - at))
            break;
        if (*field == RDATA_NAME && count < capacity)
            offsets[count++] = (uint16_t)(at - first);
        at += len;
    }
    return count;
}

bool rdata_target(uint16_t type, struct text rdata, struct dname *target)
{
    const struct rdata_shape *shape = rdata_shape_find(type);
    uint16_t offset;
    if (!shape || !shape->has_target || !rdata_names(type, rdata, &offset, 1))
        return false;
    const uint8_t *at = (const uint8_t *)rdata.at + offset;
    *target = (struct dname){at, rdata_name_len(at, (const uint8_t *)rdata.at + rdata.len)};
    return true;
}
