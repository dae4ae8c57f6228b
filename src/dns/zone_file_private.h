#pragma once

#include "dns/zone_file.h"

// What the parts of the reader of master files share.

struct zone_file_source {
    const char *file;
    const char *at;
    const char *end;
    const char *line_at; // where the line begins
    uint32_t line;
};
struct zone_file_place {
    const char *file;
    uint32_t line;
    uint32_t column;
};
enum zone_file_owner { OWNER_NONE, OWNER_KNOWN, OWNER_BROKEN };

struct zone_file_reader {
    const struct zone_file_calls *calls;
    struct zone_file_source source;
    struct dname owner;
    struct dname origin;
    enum zone_file_owner owner_state;
    bool has_default_ttl; // of $TTL
    bool has_ttl;         // of an entry before
    uint32_t default_ttl_s;
    uint32_t ttl_s;
    // The entry.
    const char *entry_at;
    const char *entry_line_at;
    uint32_t entry_line;
    bool begins_blank;
    bool has_fault; // at fault_at, and its words end before it
    bool has_too_many_words;
    const char *fault_at;
    struct rdata_word *words;
    size_t count;
    size_t capacity;
    // Set while a $GENERATE makes entries: where it stands.
    const struct zone_file_place *generator;
    bool is_ended; // nothing more is read of the source
    size_t depth;
    size_t include_count;
    size_t generated_count;
    struct error err;
    uint8_t owner_octets[DNAME_MAX];
    uint8_t origin_octets[DNAME_MAX];
};

// What stands before the rdata.
struct zone_file_head {
    bool has_ttl;
    uint32_t ttl_s;
    uint16_t class_;
    uint16_t type;
};

// The words of the entry at source.at, up to the line end outside parentheses. The first fault is
// kept in has_fault, fault_at and err; not told yet.
void zone_file_scan(struct zone_file_reader *reader);
struct zone_file_place zone_file_place_of(const struct zone_file_reader *reader, const char *at);
// Tells a fault at `at`, which lies in the entry.
void zone_file_report(struct zone_file_reader *reader, const char *at, const char *reason,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
// Tells reader->err at `at`.
void zone_file_report_error(struct zone_file_reader *reader, const char *at);

// TTL, class and type, from word *next on, which is behind them then. False: told.
bool zone_file_read_head(struct zone_file_reader *reader, size_t *next,
                         struct zone_file_head *head);
bool zone_file_read_owner(struct zone_file_reader *reader, struct text text);
// Hands out the entry whose rdata begins at word `next`.
void zone_file_emit(struct zone_file_reader *reader, const struct zone_file_head *head,
                    size_t next);

// Of the words of a $GENERATE.
void zone_file_generate(struct zone_file_reader *reader);
