#include <string.h>

#include "base/must.h"
#include "dns/corefile/canary.h"
#include "dns/corefile/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

// The first two octets are the id of the query, as well as of the reply.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    const struct text octets = {(const char *)at, len};
    uint16_t id = len < 2 ? 0 : (uint16_t)(at[0] << 8 | at[1]);
    struct canary_reply reply;
    struct error err = {0};
    bool is_read = canary_read(octets, id, &reply, &err);
    must(canary_is_reply(octets, id) == (is_read || err.fault == FAULT_SPEC));
    if (!is_read) {
        must(err.text[0]);
        return 0;
    }
    must(utf8_is_valid(text_of(reply.text)));
    const char *config_id = canary_config_id(&reply);
    must(canary_judge(&reply, NULL) == (config_id ? CANARY_CURRENT : CANARY_SILENT));
    must(!config_id || canary_judge(&reply, config_id) == CANARY_CURRENT);
    return 0;
}
