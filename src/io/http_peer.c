#include <stdio.h>

#include "io/http_call.h"
#include "io/x509.h"

static struct text pem_of(const struct curl_slist *lines)
{
    for (; lines; lines = lines->next) {
        struct text value = text_of(lines->data), name;
        if (text_cut(&value, ':', &name) && text_is(name, "Cert"))
            return value;
    }
    return TEXT("");
}

void http_peer_read(const struct http_call *call, struct http_peer *out)
{
    struct curl_certinfo *chain = NULL;
    struct x509_facts facts;
    call->libcurl->easy_getinfo(call->easy, CURLINFO_CERTINFO, &chain);
    if (!chain || chain->num_of_certs < 1 || !x509_read(&facts, pem_of(chain->certinfo[0]), NULL))
        return;
    snprintf(out->pin, sizeof(out->pin), "%s", facts.pin);
    out->until_s = facts.until_s;
}
