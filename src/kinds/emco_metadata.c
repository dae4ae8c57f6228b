#include "kinds/emco_metadata.h"

#define ANNOTATION_PATH "metadata.annotations[" EMCO_NAME_ANNOTATION "]"

enum { SLUG_MAX = 54, NAME_DIGITS = 8 };

struct emco_metadata emco_metadata_decode(const struct value *map)
{
    return (struct emco_metadata){
        .name = value_text_at(map, "name"),
        .description = value_text_at(map, "description"),
        .user_data1 = value_text_at(map, "userData1"),
        .user_data2 = value_text_at(map, "userData2"),
        .tree = map,
    };
}

struct emco_metadata emco_object_metadata(const struct value *object)
{
    struct emco_metadata metadata = emco_metadata_decode(value_find(object, "spec"));
    metadata.name = emco_name_of(object);
    return metadata;
}

const char *emco_object_name_below(struct arena *arena, const struct text *coordinates,
                                   size_t count, struct text name)
{
    AUTO_BUFFER made = {0};
    struct text *components = arena_new_array(arena, struct text, count + 1);
    for (size_t i = 0; i < count; i++)
        components[i] = coordinates[i];
    components[count] = name;
    emco_slug_write(&made, name, SLUG_MAX);
    buffer_add_char(&made, '-');
    emco_hash_write(&made, NAME_DIGITS, components, count + 1);
    return arena_copy(arena, made.at, made.len);
}

static bool has_name_of(const struct value *object, const char *plain,
                        const struct text *coordinates, size_t count, struct arena *arena)
{
    struct text own = value_text_at(object, "metadata.name");
    return text_is(own, plain) ||
           (count &&
            text_is(own, emco_object_name_below(arena, coordinates, count, emco_name_of(object))));
}

void emco_check_name(const struct value *object, const struct text *coordinates, size_t count,
                     struct findings *findings)
{
    struct text name = emco_name_of(object);
    if (!value_text_at(object, "metadata.name").len)
        return;
    if (!emco_name_is_valid(name)) {
        findings_add_at(findings, FINDING_ERROR,
                        value_at(object, ANNOTATION_PATH, NULL) ? ANNOTATION_PATH : "metadata.name",
                        "must be 1 to %d letters, digits, - _ or . with a letter or digit at both "
                        "ends",
                        EMCO_NAME_MAX);
        return;
    }
    const char *plain = emco_object_name(findings->arena, name);
    if (!has_name_of(object, plain, coordinates, count, findings->arena))
        findings_add_at(findings, FINDING_ERROR, "metadata.name",
                        "must be %s, with %.*s in annotation " EMCO_NAME_ANNOTATION, plain,
                        TEXT_ARGS(name));
}

struct emco_coordinates emco_coordinates_decode(const struct value *spec)
{
    return (struct emco_coordinates){
        .composite_app = value_text_at(spec, "compositeApp"),
        .version = value_text_at(spec, "version"),
        .group = value_text_at(spec, "deploymentIntentGroup"),
    };
}
