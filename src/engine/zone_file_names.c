#include "engine/zone_file_names.h"

#include <string.h>

#define NAME_END ".zone"
#define TEMPORARY_END ".tmp"

enum { TEMPORARY_DRAWN = 7 }; // a dot and what makes it another one's

void zone_file_name_write(struct buffer *out, struct dname apex)
{
    AUTO_BUFFER name = {0};
    dname_write(&name, apex);
    for (size_t i = 0; i < name.len; i++) {
        bool is_plain = name.at[i] != '/' && name.at[i] != '\\' && name.at[i] != '%';
        if (is_plain)
            buffer_add_char(out, name.at[i]);
        else
            buffer_printf(out, "%%%02X", (unsigned char)name.at[i]);
    }
    buffer_add_text(out, "zone");
}

static int digit_of(char character)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *at = character ? strchr(digits, character) : NULL;
    return at ? (int)(at - digits) : -1;
}

static void unescape(struct buffer *out, struct text name)
{
    for (size_t i = 0; i < name.len; i++) {
        int high = i + 2 < name.len ? digit_of(name.at[i + 1]) : -1;
        int low = i + 2 < name.len ? digit_of(name.at[i + 2]) : -1;
        if (name.at[i] != '%' || high < 0 || low < 0) {
            buffer_add_char(out, name.at[i]);
            continue;
        }
        buffer_add_char(out, (char)(high * 16 + low));
        i += 2;
    }
}

bool zone_file_name_read(struct text name, uint8_t octets[DNAME_MAX], struct dname *apex)
{
    AUTO_BUFFER text = {0};
    AUTO_BUFFER again = {0};
    if (!text_ends(name, NAME_END))
        return false;
    unescape(&text, (struct text){name.at, name.len - strlen("zone")});
    if (!dname_read(buffer_text(&text), NULL, DNAME_OF_FILE, octets, apex, NULL) ||
        dname_is_root(*apex))
        return false;
    zone_file_name_write(&again, *apex);
    return text_equal(buffer_text(&again), name);
}

bool zone_file_name_read_temporary(struct text name, uint8_t octets[DNAME_MAX], struct dname *apex)
{
    size_t around = 1 + TEMPORARY_DRAWN + strlen(TEMPORARY_END);
    if (name.len <= around || name.at[0] != '.' || !text_ends(name, TEMPORARY_END))
        return false;
    return zone_file_name_read((struct text){name.at + 1, name.len - around}, octets, apex);
}

void zone_file_mark_write(struct buffer *out, struct dname apex)
{
    buffer_add_text(out, "; written by signpost: ");
    dname_write(out, apex);
    buffer_add_char(out, '\n');
}
