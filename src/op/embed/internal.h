/* The operation's variants, for variants.c alone. */
#pragma once
#include "op/embed/contract.h"

int vv_embed_reference(const void *args, size_t begin, size_t end);
int vv_embed_once(const void *args, size_t begin, size_t end);
