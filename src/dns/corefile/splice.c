#include "dns/corefile/splice.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/corefile/address.h"
#include "dns/corefile/corefile_private.h"

// Octets [start, end) of the file that give way to others.
struct edit {
    size_t start;
    size_t end;
    struct text text;
};
struct edits {
    struct edit *items;
    size_t count;
    size_t capacity;
};

static void add_edit(struct edits *edits, size_t start, size_t end, struct text text)
{
    mem_reserve(&edits->items, &edits->capacity, edits->count + 1);
    edits->items[edits->count++] = (struct edit){start, end, text};
}

static int compare_edits(const void *a, const void *b)
{
    const struct edit *left = a;
    const struct edit *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

static struct text text_of_file(const struct corefile *corefile)
{
    return corefile->files[0].text;
}

static size_t text_start(struct text text)
{
    return text_starts(text, "\xef\xbb\xbf") ? 3 : 0;
}

static size_t line_start(struct text text, size_t at)
{
    while (at > text_start(text) && text.at[at - 1] != '\n')
        at--;
    return at;
}

// Behind the line feed, if nothing else stands between.
static size_t after_line(struct text text, size_t at)
{
    size_t end = at;
    while (end < text.len && strchr(" \t\r", text.at[end]))
        end++;
    return end < text.len && text.at[end] == '\n' ? end + 1 : at;
}

// ---- finding ------------------------------------------------------------------------------------

// The zones of a key, in lower case with a final dot; false: it is no address of plain DNS.
static bool read_key(struct arena *arena, struct text key, struct corefile_address *address)
{
    return !corefile_address_read(arena, key, address) && !strcmp(address->transport, "dns");
}

// A key begins with its zone, but for networks and those that name a transport.
static bool may_serve(struct text key, struct text zone)
{
    size_t len = zone.len > 1 ? zone.len - 1 : 1; // without the final dot
    if (key.len && memchr(key.at, '/', key.len))
        return true;
    return key.len >= len &&
           text_equal_nocase((struct text){key.at, len}, (struct text){zone.at, len});
}

static bool key_serves(struct arena *arena, struct text key, struct text zone, uint16_t *port)
{
    int64_t number = 0;
    struct corefile_address address;
    if (!may_serve(key, zone) || !read_key(arena, key, &address))
        return false;
    for (size_t i = 0; i < address.zone_count; i++)
        if (text_equal(corefile_zone_name(arena, address.zones[i], false), zone)) {
            text_to_int64(address.port, &number);
            *port = (uint16_t)number;
            return true;
        }
    return false;
}

const struct corefile_block *corefile_find_zone(const struct corefile *corefile, struct text zone,
                                                uint16_t *port)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text name = corefile_zone_name(arena, zone, false);
    for (size_t i = 0; i < corefile->block_count; i++)
        for (size_t key = 0; key < corefile->blocks[i].key_count; key++)
            if (key_serves(arena, corefile->blocks[i].keys[key], name, port))
                return &corefile->blocks[i];
    return NULL;
}

static size_t block_end(const struct corefile *corefile, const struct corefile_block *block)
{
    return after_line(text_of_file(corefile), corefile_token_end(corefile, block->last));
}

static size_t block_start(const struct corefile *corefile, const struct corefile_block *block,
                          struct text name)
{
    struct text text = text_of_file(corefile);
    size_t start = corefile->tokens[block->first].start;
    size_t line = line_start(text, start);
    if (!name.len || line != start || line == text_start(text))
        return start;
    size_t above = line_start(text, line - 1);
    struct text comment = text_trim((struct text){text.at + above, line - 1 - above});
    bool is_its = comment.len == name.len + 2 && text_starts(comment, "# ") &&
                  memcmp(comment.at + 2, name.at, name.len) == 0;
    return is_its ? above : start;
}

struct text corefile_block_text(const struct corefile *corefile, const struct corefile_block *block,
                                struct text name)
{
    size_t start = block_start(corefile, block, name);
    return (struct text){text_of_file(corefile).at + start, block_end(corefile, block) - start};
}

const struct corefile_directive *corefile_find_root_forward(const struct corefile *corefile)
{
    uint16_t port;
    const struct corefile_directive *found = NULL;
    const struct corefile_block *root = corefile_find_zone(corefile, TEXT("."), &port);
    for (size_t i = 0; root && i < root->directive_count; i++) {
        const struct corefile_directive *directive = &root->directives[i];
        if (!text_is(corefile_text(corefile, directive->first), "forward") ||
            directive->count < 3 || !text_is(corefile_text(corefile, directive->first + 1), "."))
            continue;
        if (found)
            return NULL;
        found = directive;
    }
    return found && corefile->tokens[found->first].file == 0 ? found : NULL;
}

struct text corefile_root_forward(const struct corefile *corefile)
{
    const struct corefile_directive *forward = corefile_find_root_forward(corefile);
    if (!forward)
        return (struct text){0};
    size_t start = corefile->tokens[forward->first].start;
    size_t end = corefile_token_end(corefile, forward->first + forward->count - 1);
    return (struct text){text_of_file(corefile).at + start, end - start};
}

// ---- server blocks ------------------------------------------------------------------------------

bool corefile_block_zones(struct arena *arena, const struct corefile_block *block,
                          struct text **zones, size_t *count)
{
    size_t capacity = 0;
    bool is_plain = block->key_count > 0;
    *zones = NULL;
    *count = 0;
    for (size_t key = 0; key < block->key_count; key++) {
        struct corefile_address address = {0};
        if (!read_key(arena, block->keys[key], &address)) {
            is_plain = false;
            continue;
        }
        arena_reserve(arena, zones, &capacity, *count + address.zone_count);
        for (size_t i = 0; i < address.zone_count; i++)
            (*zones)[(*count)++] = corefile_zone_name(arena, address.zones[i], false);
    }
    return is_plain;
}

// A zone of one of ours, in lower case with a final dot.
struct owned_zone {
    struct text zone;
    const struct corefile_owned *owned;
};
// Sorted by zone; blocks that share a zone stay in the order in which they were noted.
struct owned_zones {
    struct owned_zone *items;
    size_t count;
};

static int compare_owned_zones(const void *a, const void *b)
{
    const struct owned_zone *left = a;
    const struct owned_zone *right = b;
    int order = text_compare(left->zone, right->zone);
    if (order || left->owned == right->owned)
        return order;
    return left->owned < right->owned ? -1 : 1;
}

static struct owned_zones sort_owned_zones(struct arena *arena, const struct corefile_owned *owned,
                                           size_t owned_count)
{
    size_t all = 0;
    for (size_t i = 0; i < owned_count; i++)
        all += owned[i].zone_count;
    struct owned_zones zones = {arena_new_array(arena, struct owned_zone, all + 1), 0};
    for (size_t i = 0; i < owned_count; i++)
        for (size_t at = 0; at < owned[i].zone_count; at++)
            zones.items[zones.count++] = (struct owned_zone){
                corefile_zone_name(arena, owned[i].zones[at], false), &owned[i]};
    qsort(zones.items, zones.count, sizeof *zones.items, compare_owned_zones);
    return zones;
}

// The first one that is not before `wanted`.
static size_t find_owned_zone(const struct owned_zones *zones, const struct owned_zone *wanted)
{
    size_t low = 0;
    for (size_t high = zones->count; low < high;) {
        size_t middle = (low + high) / 2;
        if (compare_owned_zones(&zones->items[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_zone(const struct owned_zones *zones, const struct corefile_owned *owned,
                     struct text zone)
{
    const struct owned_zone wanted = {zone, owned};
    size_t at = find_owned_zone(zones, &wanted);
    return at < zones->count && !compare_owned_zones(&zones->items[at], &wanted);
}

static const struct corefile_owned *
find_owner(struct arena *arena, const struct corefile_block *block, const struct owned_zones *owned)
{
    struct text *zones;
    size_t count;
    if (!corefile_block_zones(arena, block, &zones, &count) || !count)
        return NULL;
    size_t first = find_owned_zone(owned, &(struct owned_zone){zones[0], NULL});
    for (size_t i = first; i < owned->count && text_equal(owned->items[i].zone, zones[0]); i++) {
        size_t at = 1;
        while (at < count && has_zone(owned, owned->items[i].owned, zones[at]))
            at++;
        if (at == count)
            return owned->items[i].owned;
    }
    return NULL;
}

const struct corefile_owned **corefile_find_owners(struct arena *arena,
                                                   const struct corefile *corefile,
                                                   const struct corefile_owned *owned, size_t count)
{
    const struct corefile_owned **owners =
        arena_new_array(arena, const struct corefile_owned *, corefile->block_count + 1);
    const struct owned_zones zones = sort_owned_zones(arena, owned, count);
    for (size_t i = 0; i < corefile->block_count; i++)
        owners[i] = find_owner(arena, &corefile->blocks[i], &zones);
    return owners;
}

bool corefile_is_owned(const struct corefile_block *block, const struct corefile_owned *owned,
                       size_t count)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct owned_zones zones = sort_owned_zones(arena, owned, count);
    return find_owner(arena, block, &zones) != NULL;
}

static void remove_owned(struct edits *edits, const struct corefile_splice *splice)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct corefile *corefile = splice->corefile;
    const struct corefile_owned **owners =
        corefile_find_owners(arena, corefile, splice->owned, splice->owned_count);
    for (size_t i = 0; i < corefile->block_count; i++) {
        const struct corefile_block *block = &corefile->blocks[i];
        if (owners[i])
            add_edit(edits, block_start(corefile, block, owners[i]->name),
                     block_end(corefile, block), TEXT(""));
    }
}

// ---- the root forward ---------------------------------------------------------------------------

static bool is_ours(struct text option)
{
    static const char *const ours[] = {"policy", "tls", "tls_servername", "force_tcp"};
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (text_is(option, ours[i]))
            return true;
    return false;
}

// Its own options: each begins a line of the block.
static void remove_options(struct edits *edits, const struct corefile *corefile, size_t open,
                           size_t end)
{
    struct text text = text_of_file(corefile);
    for (size_t at = open + 1; at + 1 < end; at++) {
        const struct corefile_token *token = &corefile->tokens[at];
        if (!corefile_starts_line(&corefile->tokens[at - 1], token) ||
            !is_ours(corefile_text(corefile, at)))
            continue;
        size_t last = at;
        while (last + 2 < end &&
               !corefile_starts_line(&corefile->tokens[last], &corefile->tokens[last + 1]))
            last++;
        size_t start = line_start(text, token->start);
        add_edit(edits, start, after_line(text, corefile_token_end(corefile, last)), TEXT(""));
    }
}

// Writes the options of `forward` that are ours. Others belong to whoever wrote the file.
static void render_own(struct buffer *out, const struct corefile_forward *forward, unsigned level)
{
    const struct corefile_forward ours = {
        .upstreams = forward->upstreams,
        .upstream_count = forward->upstream_count,
        .policy = forward->policy,
        .uses_tls = forward->uses_tls,
        .tls_server_name = forward->tls_server_name,
        .tls_bundle = forward->tls_bundle,
        .forces_tcp = forward->forces_tcp,
    };
    corefile_render_forward(out, &ours, level);
}

void corefile_write_own_forward(struct buffer *out, const struct corefile_forward *forward)
{
    render_own(out, forward, 0);
}

// The lines of our options, as a block at that level has them.
static struct text render_options(struct buffer *out, const struct corefile_forward *forward,
                                  unsigned level, struct text *upstreams)
{
    struct text rest;
    struct text line;
    render_own(out, forward, level);
    rest = text_trim(buffer_text(out));
    text_cut(&rest, '\n', &line);
    line = text_trim(line);
    must(text_starts(line, "forward . ") && text_ends(line, " {"));
    *upstreams = (struct text){line.at + 10, line.len - 12};
    const char *close = memrchr(rest.at, '}', rest.len);
    while (close[-1] == ' ')
        close--;
    return (struct text){rest.at, (size_t)(close - rest.at)};
}

static void replace_forward(struct edits *edits, struct buffer *rendered, struct buffer *block,
                            const struct corefile_splice *splice)
{
    const struct corefile *corefile = splice->corefile;
    const struct corefile_directive *forward = corefile_find_root_forward(corefile);
    size_t end = forward->first + forward->count;
    size_t open = forward->first + 2;
    struct text upstreams;
    struct text options = render_options(rendered, splice->forward, 1, &upstreams);
    while (open < end && !text_is(corefile_text(corefile, open), "{"))
        open++;
    add_edit(edits, corefile->tokens[forward->first + 2].start,
             corefile_token_end(corefile, open - 1), upstreams);
    if (open == end) {
        size_t at = corefile_token_end(corefile, end - 1);
        buffer_printf(block, " {\n%.*s    }", TEXT_ARGS(options));
        add_edit(edits, at, at, buffer_text(block));
        return;
    }
    // Above the '}', which stands on a line of its own unless nothing stands in the block.
    size_t close = corefile->tokens[end - 1].start;
    size_t at = line_start(text_of_file(corefile), close);
    bool is_alone = at > corefile->tokens[open].start;
    buffer_printf(block, "%s%.*s", is_alone ? "" : "\n", TEXT_ARGS(options));
    add_edit(edits, is_alone ? at : close, is_alone ? at : close, buffer_text(block));
    remove_options(edits, corefile, open, end);
}

static void restore_forward(struct edits *edits, const struct corefile_splice *splice)
{
    struct text now = corefile_root_forward(splice->corefile);
    size_t start = (size_t)(now.at - text_of_file(splice->corefile).at);
    add_edit(edits, start, start + now.len, splice->saved);
}

// ---- all of it ----------------------------------------------------------------------------------

static void apply(struct buffer *out, struct text text, struct edits *edits)
{
    size_t at = 0;
    if (edits->count)
        qsort(edits->items, edits->count, sizeof *edits->items, compare_edits);
    for (size_t i = 0; i < edits->count; i++) {
        const struct edit *edit = &edits->items[i];
        must(edit->start >= at && edit->end >= edit->start);
        buffer_add(out, text.at + at, edit->start - at);
        buffer_add(out, edit->text.len ? edit->text.at : "", edit->text.len);
        at = edit->end;
    }
    buffer_add(out, text.at + at, text.len - at);
}

void corefile_splice(struct buffer *out, const struct corefile_splice *splice)
{
    struct edits edits = {0};
    AUTO_BUFFER rendered = {0};
    AUTO_BUFFER block = {0};
    struct text text = text_of_file(splice->corefile);
    size_t first = text_start(text);
    remove_owned(&edits, splice);
    if (splice->root == COREFILE_ROOT_REPLACE)
        replace_forward(&edits, &rendered, &block, splice);
    if (splice->root == COREFILE_ROOT_RESTORE)
        restore_forward(&edits, splice);
    buffer_add(out, text.at, first);
    buffer_add(out, splice->blocks.len ? splice->blocks.at : "", splice->blocks.len);
    struct text rest = {text.at + first, text.len - first};
    for (size_t i = 0; i < edits.count; i++) {
        edits.items[i].start -= first;
        edits.items[i].end -= first;
    }
    apply(out, rest, &edits);
    free(edits.items);
}
