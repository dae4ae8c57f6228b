#include "base/must.h"
#include "providers/kubernetes/access.h"
#include "providers/kubernetes/listing.h"
#include "providers/kubernetes/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static void check_access(struct text octets)
{
    struct access access = {0};
    struct error err = {0};
    CLEANUP(secret) struct secret *secret = secret_new(octets.at, octets.len);
    if (!access_read(&access, secret, &err)) {
        must(err.fault == FAULT_SPEC && err.text[0] && !access.server);
        return;
    }
    must(access.server && !text_ends(text_of(access.server), "/"));
    must(!access.certificate == !access.key);
    must(!access.is_unverified || !access.ca);
    must(!access.credential || access.authorization);
    access_done(&access);
}

// Answers are stored as JSON and read back.
static void check_answer(const struct value *answer)
{
    AUTO_BUFFER json = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    value_write_json(&json, answer);
    const struct value *again =
        value_read_json(arena, buffer_text(&json), &value_manifest_limits, NULL);
    must(again && value_equal(again, answer));
}

static void check_listing(struct arena *arena, const struct value *page)
{
    struct error err = {0};
    struct listing listing;
    listing_init(&listing, arena);
    must(listing_add_services(&listing, page, &err) || err.text[0]);
    must(listing_add_nodes(&listing, page, &err) || err.text[0]);
    must(value_count(listing.services) <= LISTING_SERVICES_MAX);
    must(value_count(listing.nodes) <= LISTING_NODES_MAX);
    check_answer(listing.services);
    check_answer(listing.nodes);
}

static void check_reply(struct text body, int status)
{
    struct error err = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(secret) struct secret *credential = secret_new("token", 5);
    const struct http_reply reply = {.status = status, .body = body};
    const struct value *page = kubernetes_reply_read(arena, &reply, credential, 0, &err);
    if (page)
        check_listing(arena, page);
    else
        must(err.text[0] && !strstr(err.text, "token"));
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    struct text octets = {(const char *)at, len};
    check_access(octets);
    check_reply(octets, 200);
    check_reply(octets, 403);
    check_reply(octets, 429);
    return 0;
}
