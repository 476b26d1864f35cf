/*
 * The functions behind filters, tests, functions and methods: tables.c gives them their names and
 * parameters. The first value of a filter, a test or a method is what it is applied to.
 */
#pragma once
#include "text/jinja/run.h"

/* case.c, texts.c, layout.c, split.c, search.c: texts. What is no text is one as by str(). */
vv_jinja_function vv_jinja_upper, vv_jinja_lower, vv_jinja_capitalize, vv_jinja_title,
    vv_jinja_title_words;
vv_jinja_function vv_jinja_strip, vv_jinja_strip_left, vv_jinja_strip_right, vv_jinja_replace,
    vv_jinja_join_filter, vv_jinja_join_method, vv_jinja_indent, vv_jinja_truncate, vv_jinja_center,
    vv_jinja_pad_left, vv_jinja_pad_right, vv_jinja_fill_zeros, vv_jinja_escape,
    vv_jinja_count_words, vv_jinja_to_text;
vv_jinja_function vv_jinja_split, vv_jinja_split_right, vv_jinja_split_lines, vv_jinja_partition,
    vv_jinja_partition_right;
vv_jinja_function vv_jinja_find, vv_jinja_find_right, vv_jinja_index_of, vv_jinja_count_of,
    vv_jinja_starts_with, vv_jinja_ends_with, vv_jinja_remove_prefix, vv_jinja_remove_suffix,
    vv_jinja_is_alpha, vv_jinja_is_digit, vv_jinja_is_alnum, vv_jinja_is_space, vv_jinja_is_upper,
    vv_jinja_is_lower;

/* format.c */
vv_jinja_function vv_jinja_format_filter, vv_jinja_format_method;

/* tojson.c */
vv_jinja_function vv_jinja_tojson, vv_jinja_from_json;

/* numbers.c */
vv_jinja_function vv_jinja_abs, vv_jinja_round, vv_jinja_to_integer, vv_jinja_to_real, vv_jinja_sum;

/* choose.c: map, select and their relatives, default */
vv_jinja_function vv_jinja_map, vv_jinja_select, vv_jinja_reject, vv_jinja_selectattr,
    vv_jinja_rejectattr, vv_jinja_default, vv_jinja_attr;

/* lists.c, order.c: lists and dicts */
vv_jinja_function vv_jinja_length_of, vv_jinja_first, vv_jinja_last, vv_jinja_to_list,
    vv_jinja_reverse, vv_jinja_batch, vv_jinja_slice_filter, vv_jinja_items_filter,
    vv_jinja_list_index, vv_jinja_list_count, vv_jinja_copy;
vv_jinja_function vv_jinja_dict_get, vv_jinja_dict_keys, vv_jinja_dict_values, vv_jinja_dict_items;
vv_jinja_function vv_jinja_sort, vv_jinja_dictsort, vv_jinja_unique, vv_jinja_groupby, vv_jinja_min,
    vv_jinja_max;

/* loop.c */
vv_jinja_function vv_jinja_loop_cycle, vv_jinja_loop_changed;

/* functions.c */
vv_jinja_function vv_jinja_range, vv_jinja_make_dict, vv_jinja_make_namespace,
    vv_jinja_raise_exception, vv_jinja_strftime_now;

/* tests.c */
vv_jinja_function vv_jinja_test_defined, vv_jinja_test_undefined, vv_jinja_test_none,
    vv_jinja_test_boolean, vv_jinja_test_true, vv_jinja_test_false, vv_jinja_test_integer,
    vv_jinja_test_float, vv_jinja_test_number, vv_jinja_test_string, vv_jinja_test_mapping,
    vv_jinja_test_sequence, vv_jinja_test_iterable, vv_jinja_test_callable, vv_jinja_test_odd,
    vv_jinja_test_even, vv_jinja_test_divisibleby, vv_jinja_test_sameas, vv_jinja_test_upper,
    vv_jinja_test_lower, vv_jinja_test_in, vv_jinja_test_equal, vv_jinja_test_not_equal,
    vv_jinja_test_less, vv_jinja_test_less_equal, vv_jinja_test_greater,
    vv_jinja_test_greater_equal, vv_jinja_test_filter, vv_jinja_test_test;
