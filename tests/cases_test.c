/*
 * docs/cases.md against the tests: every case is in the table; one that names test programs has a
 * function of its name in each; no function is named after a case that doesn't name its program;
 * what has no test says what is missing. Prints how many are tests and how many are lines.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 196, PROGRAMS = 8, LINE = 400 };

struct entry {
    bool listed;
    size_t section;
    size_t programs;
    char program[PROGRAMS][64]; /* "gguf_parse" */
    char missing[LINE];
};

static struct entry table[CASES + 1]; /* by number */
static char section_name[32][64];
static size_t sections;

/* ---- the table ---- */

/* The next cell of a row, without blanks around it; moves `*at` behind the bar that ends it. */
static void next_cell(const char **at, char *cell) {
    const char *end = strchr(*at, '|');
    if (!end) {
        fail_msg("a row of docs/cases.md ends early: %s", *at);
    }
    const char *from = *at + strspn(*at, " "), *to = end;
    while (to > from && to[-1] == ' ') {
        to--;
    }
    snprintf(cell, LINE, "%.*s", (int)(to > from ? to - from : 0), from);
    *at = end + 1;
}

static void take_programs(struct entry *e, char *cell) {
    for (char *rest = NULL, *name = strtok_r(cell, ", ", &rest); name;
         name = strtok_r(NULL, ", ", &rest)) {
        assert_true(e->programs < PROGRAMS && strlen(name) < sizeof e->program[0]);
        strcpy(e->program[e->programs++], name);
    }
}

/* "| C016 | in short | tests | missing |" */
static void take_row(const char *line) {
    char number[LINE], text[LINE], tests[LINE];
    const char *at = line + 1;
    next_cell(&at, number);
    unsigned long n = strtoul(number + 1, NULL, 10);
    if (number[0] != 'C' || n < 1 || n > CASES || table[n].listed) {
        fail_msg("docs/cases.md has a case that there is not, or twice: %s", line);
    }
    struct entry *e = &table[n];
    next_cell(&at, text);
    next_cell(&at, tests);
    next_cell(&at, e->missing);
    e->listed = true;
    e->section = sections - 1;
    take_programs(e, tests);
    if (!text[0] || (e->programs == 0 && !e->missing[0])) {
        fail_msg("C%03lu has no text, or neither a test nor what is missing", n);
    }
}

static int read_table(void **state) {
    (void)state;
    char line[LINE];
    FILE *file = fopen(VARVE_SOURCE_DIR "/docs/cases.md", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "## ", 3) == 0) {
            snprintf(section_name[sections++], sizeof section_name[0], "%.60s", line + 3);
        } else if (strncmp(line, "| C", 3) == 0) {
            take_row(line);
        }
    }
    fclose(file);
    return 0;
}

/* ---- the tests ---- */

static bool names(const struct entry *e, const char *program) {
    for (size_t i = 0; i < e->programs; i++) {
        if (strcmp(e->program[i], program) == 0) {
            return true;
        }
    }
    return false;
}

/* The case that a word goes on with, "c016_"; 0: none. */
static size_t case_at(const char *word) {
    return word[0] == 'c' && strspn(word + 1, "0123456789") == 3 && word[4] == '_'
               ? strtoul(word + 1, NULL, 10)
               : 0;
}

/* What CMocka or CTest is told to run: after "cmocka_unit_test(" or the like, or "NAME ". */
static const char *next_test(const char *text, const char *what) {
    const char *at = strstr(text, what);
    return at ? at + strcspn(at, "( ") + 1 : NULL;
}

struct found {
    bool in[CASES + 1];
};

static void find_tests(const char *text, const char *what, struct found *found) {
    for (const char *word = text; (word = next_test(word, what));) {
        for (size_t n; (n = case_at(word)) != 0; word += 5) {
            assert_true(n <= CASES);
            found->in[n] = true;
        }
    }
}

static char *read_whole(const char *name) {
    char path[700];
    snprintf(path, sizeof path, "%s/tests/%s", VARVE_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    return text;
}

static void check_program(const char *name, const char *file, const char *what) {
    struct found found = {0};
    char *text = read_whole(file);
    find_tests(text, what, &found);
    free(text);
    for (size_t n = 1; n <= CASES; n++) {
        if (found.in[n] && !names(&table[n], name)) {
            fail_msg("C%03zu is tested in tests/%s, which docs/cases.md doesn't say", n, file);
        }
        if (!found.in[n] && names(&table[n], name)) {
            fail_msg("docs/cases.md says that tests/%s tests C%03zu; no test there is named "
                     "c%03zu_…",
                     file, n, n);
        }
    }
}

static bool is_test_program(const char *file) {
    size_t length = strlen(file);
    return length > 7 && strcmp(file + length - 7, "_test.c") == 0 &&
           strcmp(file, "cases_test.c") != 0; /* has names as examples */
}

/* Whether a name of the table is that of a program. */
static void must_exist(const char *program) {
    char path[700];
    snprintf(path, sizeof path, "%s/tests/%s%s", VARVE_SOURCE_DIR, program,
             strchr(program, '.') ? "" : "_test.c");
    FILE *file = fopen(path, "r");
    if (!file) {
        fail_msg("docs/cases.md names the test program %s, which there is not", program);
    }
    fclose(file);
}

static void every_case_is_listed(void **state) {
    (void)state;
    for (size_t n = 1; n <= CASES; n++) {
        if (!table[n].listed) {
            fail_msg("C%03zu is not in docs/cases.md", n);
        }
        for (size_t i = 0; i < table[n].programs; i++) {
            must_exist(table[n].program[i]);
        }
    }
}

static void the_table_and_the_tests_agree(void **state) {
    (void)state;
    DIR *folder = opendir(VARVE_SOURCE_DIR "/tests");
    assert_non_null(folder);
    for (struct dirent *d; (d = readdir(folder));) {
        if (is_test_program(d->d_name)) {
            char name[300];
            snprintf(name, sizeof name, "%.*s", (int)(strlen(d->d_name) - 7), d->d_name);
            check_program(name, d->d_name, "cmocka_unit_test");
        }
    }
    closedir(folder);
    check_program("CMakeLists.txt", "CMakeLists.txt", "NAME ");
}

/* Words are taken for tests as they should be. */
static void names_are_understood(void **state) {
    (void)state;
    struct found found = {0};
    find_tests("cmocka_unit_test(c001_a), cmocka_unit_test_setup(c002_c003_b, c004_setup)\n"
               "c005_nothing; cmocka_unit_test(the_c006_case) cmocka_unit_test(c07_x)",
               "cmocka_unit_test", &found);
    for (size_t n = 1; n <= CASES; n++) {
        assert_int_equal(found.in[n], n <= 3);
    }
}

static void counts(void **state) {
    (void)state;
    size_t tests[32] = {0}, lines[32] = {0}, all_tests = 0, all_lines = 0;
    for (size_t n = 1; n <= CASES; n++) {
        bool tested = table[n].programs > 0;
        (tested ? tests : lines)[table[n].section]++;
        all_tests += tested;
        all_lines += !tested;
    }
    for (size_t s = 0; s < sections; s++) {
        printf("%-20s %3zu tests, %3zu lines\n", section_name[s], tests[s], lines[s]);
    }
    printf("%-20s %3zu tests, %3zu lines\n", "all cases", all_tests, all_lines);
    assert_int_equal(all_tests + all_lines, CASES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_listed),
        cmocka_unit_test(the_table_and_the_tests_agree),
        cmocka_unit_test(names_are_understood),
        cmocka_unit_test(counts),
    };
    return cmocka_run_group_tests(tests, read_table, NULL);
}
