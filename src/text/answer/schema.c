#include "text/answer/schema.h"

#include "text/grow.h"
#include "text/json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct parameter {
    struct vv_bytes key;
    unsigned types;
};

struct vv_tool {
    struct vv_bytes name;
    struct parameter *parameters; /* [count] */
    size_t count, capacity;
};

struct vv_tools {
    struct vv_tool *at; /* [count] */
    size_t count, capacity;
};

static bool is(const struct vv_bytes *bytes, const char *word) {
    return bytes->length == strlen(word) && memcmp(bytes->at, word, bytes->length) == 0;
}

unsigned vv_type_of_json(enum vv_json_part part) {
    switch (part) {
    case VV_JSON_NULL:
        return VV_TYPE_NULL;
    case VV_JSON_FALSE:
    case VV_JSON_TRUE:
        return VV_TYPE_BOOLEAN;
    case VV_JSON_INTEGER:
        return VV_TYPE_INTEGER;
    case VV_JSON_REAL:
        return VV_TYPE_REAL;
    case VV_JSON_STRING:
        return VV_TYPE_STRING;
    case VV_JSON_OBJECT:
        return VV_TYPE_OBJECT;
    case VV_JSON_ARRAY:
        return VV_TYPE_ARRAY;
    default:
        return 0;
    }
}

static bool equal(const struct vv_bytes *bytes, struct vv_text text) {
    return bytes->length == text.length &&
           (text.length == 0 || memcmp(bytes->at, text.at, text.length) == 0);
}

/* ---- Reading ---- */

/* Reads on to the end of the value that `part` begins. */
static int skip(struct vv_json *json, enum vv_json_part part, struct vv_error *error) {
    int status = VV_OK;
    if (part == VV_JSON_OBJECT || part == VV_JSON_ARRAY) {
        unsigned outside = json->depth - 1;
        while (status == VV_OK && json->depth > outside) {
            status = vv_json_next(json, &part, error);
        }
    }
    return status;
}

/* The next key of an object and the part that begins its value; false at its end. */
static bool next_member(struct vv_json *json, const char *const *keys, int *key,
                        enum vv_json_part *part, int *status, struct vv_error *error) {
    *status = vv_json_next(json, part, error);
    if (*status != VV_OK || *part == VV_JSON_OBJECT_END) {
        return false;
    }
    *key = 0;
    while (keys[*key] && !is(&json->string, keys[*key])) {
        ++*key;
    }
    *status = vv_json_next(json, part, error);
    return *status == VV_OK;
}

/* The same for an array. */
static bool next_element(struct vv_json *json, enum vv_json_part *part, int *status,
                         struct vv_error *error) {
    *status = vv_json_next(json, part, error);
    return *status == VV_OK && *part != VV_JSON_ARRAY_END;
}

/* ---- Types of a schema ---- */

static unsigned type_named(const struct vv_bytes *name) {
    static const struct {
        const char *name;
        unsigned types;
    } table[] = {
        {"string", VV_TYPE_STRING}, {"integer", VV_TYPE_INTEGER}, {"boolean", VV_TYPE_BOOLEAN},
        {"number", VV_TYPE_NUMBER}, {"array", VV_TYPE_ARRAY},     {"object", VV_TYPE_OBJECT},
        {"null", VV_TYPE_NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (is(name, table[i].name)) {
            return table[i].types;
        }
    }
    return 0;
}

/* Adds the types that one value names, is of, or describes. */
typedef int (*reader)(struct vv_json *json, enum vv_json_part part, unsigned *types,
                      struct vv_error *error);

static int read_type_name(struct vv_json *json, enum vv_json_part part, unsigned *types,
                          struct vv_error *error) {
    *types |= part == VV_JSON_STRING ? type_named(&json->string) : 0;
    return skip(json, part, error);
}

static int read_value_type(struct vv_json *json, enum vv_json_part part, unsigned *types,
                           struct vv_error *error) {
    *types |= vv_type_of_json(part);
    return skip(json, part, error);
}

/* Each element of an array, or a value that is none. */
static int read_each(struct vv_json *json, enum vv_json_part part, reader read, unsigned *types,
                     struct vv_error *error) {
    int status = VV_OK;
    if (part != VV_JSON_ARRAY) {
        return read(json, part, types, error);
    }
    while (status == VV_OK && next_element(json, &part, &status, error)) {
        status = read(json, part, types, error);
    }
    return status;
}

static int read_schema(struct vv_json *json, enum vv_json_part part, unsigned *types,
                       struct vv_error *error) {
    static const char *const keys[] = {"type", "enum", "const", "anyOf", "oneOf", NULL};
    static const reader readers[] = {read_type_name, read_value_type, read_value_type, read_schema,
                                     read_schema};
    static const bool several[] = {true, true, false, true, true};
    unsigned found = 0;
    int status = VV_OK, key;
    if (part != VV_JSON_OBJECT) {
        *types = VV_TYPE_ANY;
        return skip(json, part, error);
    }
    while (status == VV_OK && next_member(json, keys, &key, &part, &status, error)) {
        if (!keys[key]) {
            status = skip(json, part, error);
        } else if (several[key]) {
            status = read_each(json, part, readers[key], &found, error);
        } else {
            status = readers[key](json, part, &found, error);
        }
    }
    *types |= found ? found : VV_TYPE_ANY;
    return status;
}

/* ---- Tools ---- */

static int read_properties(struct vv_json *json, enum vv_json_part part, struct vv_tool *tool,
                           struct vv_error *error) {
    int status = VV_OK;
    if (part != VV_JSON_OBJECT) {
        return skip(json, part, error);
    }
    while ((status = vv_json_next(json, &part, error)) == VV_OK && part == VV_JSON_KEY) {
        status = vv_grow(&tool->parameters, &tool->capacity, tool->count + 1,
                         sizeof *tool->parameters, "the tools' parameters", error);
        if (status != VV_OK) {
            return status;
        }
        struct parameter *parameter = &tool->parameters[tool->count++];
        *parameter = (struct parameter){.key = json->string};
        json->string = (struct vv_bytes){0}; /* ours now */
        status = vv_json_next(json, &part, error);
        status = status == VV_OK ? read_schema(json, part, &parameter->types, error) : status;
        if (status != VV_OK) {
            return status;
        }
    }
    return status;
}

static int read_parameters(struct vv_json *json, enum vv_json_part part, struct vv_tool *tool,
                           struct vv_error *error) {
    static const char *const keys[] = {"properties", NULL};
    int status = VV_OK, key;
    if (part != VV_JSON_OBJECT) {
        return skip(json, part, error);
    }
    while (status == VV_OK && next_member(json, keys, &key, &part, &status, error)) {
        status = keys[key] ? read_properties(json, part, tool, error) : skip(json, part, error);
    }
    return status;
}

static int read_tool(struct vv_json *json, struct vv_tool *tool, struct vv_error *error) {
    static const char *const keys[] = {"function", "name", "parameters", "input_schema", NULL};
    enum vv_json_part part;
    int status = VV_OK, key;
    while (status == VV_OK && next_member(json, keys, &key, &part, &status, error)) {
        if (key == 0 && part == VV_JSON_OBJECT) {
            status = read_tool(json, tool, error);
        } else if (key == 1 && part == VV_JSON_STRING) {
            vv_bytes_free(&tool->name);
            tool->name = json->string;
            json->string = (struct vv_bytes){0};
        } else if (key == 2 || key == 3) {
            status = read_parameters(json, part, tool, error);
        } else {
            status = skip(json, part, error);
        }
    }
    return status;
}

static int read_tools(struct vv_json *json, struct vv_tools *tools, struct vv_error *error) {
    enum vv_json_part part;
    int status = vv_json_next(json, &part, error);
    if (status == VV_OK && part != VV_JSON_ARRAY) {
        return vv_fail(error, VV_ERROR_INVALID, "they are not an array");
    }
    while (status == VV_OK && next_element(json, &part, &status, error)) {
        status = vv_grow(&tools->at, &tools->capacity, tools->count + 1, sizeof *tools->at,
                         "the tools", error);
        if (status != VV_OK) {
            return status;
        }
        struct vv_tool *tool = &tools->at[tools->count++];
        *tool = (struct vv_tool){0};
        status = part == VV_JSON_OBJECT ? read_tool(json, tool, error) : VV_OK;
        if (status == VV_OK && tool->name.length == 0) {
            return vv_fail(error, VV_ERROR_INVALID, "number %zu has no name", tools->count);
        }
    }
    return status == VV_OK ? vv_json_next(json, &part, error) : status;
}

int vv_tools_read(struct vv_text text, struct vv_tools **tools, struct vv_error *error) {
    struct vv_json json = {.text = text};
    struct vv_error why;
    struct vv_tools *read = calloc(1, sizeof *read);
    if (!read) {
        return vv_fail_memory(error, sizeof *read, "the tools");
    }
    int status = read_tools(&json, read, &why);
    vv_bytes_free(&json.string);
    if (status != VV_OK) {
        vv_tools_free(read);
        return vv_fail(error, status, "the tools can't be read: %s", why.message);
    }
    *tools = read;
    return VV_OK;
}

void vv_tools_free(struct vv_tools *tools) {
    for (size_t i = 0; tools && i < tools->count; i++) {
        struct vv_tool *tool = &tools->at[i];
        for (size_t k = 0; k < tool->count; k++) {
            vv_bytes_free(&tool->parameters[k].key);
        }
        free(tool->parameters);
        vv_bytes_free(&tool->name);
    }
    if (tools) {
        free(tools->at);
    }
    free(tools);
}

/* ---- Looking up ---- */

size_t vv_tools_count(const struct vv_tools *tools) {
    return tools->count;
}

const struct vv_tool *vv_tools_find(const struct vv_tools *tools, struct vv_text name) {
    for (size_t i = 0; tools && i < tools->count; i++) {
        if (equal(&tools->at[i].name, name)) {
            return &tools->at[i];
        }
    }
    return NULL;
}

unsigned vv_tool_types(const struct vv_tool *tool, struct vv_text key) {
    for (size_t i = 0; tool && i < tool->count; i++) {
        if (equal(&tool->parameters[i].key, key)) {
            return tool->parameters[i].types;
        }
    }
    return VV_TYPE_ANY;
}
