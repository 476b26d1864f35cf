/* --index-score and --cache-precision. */
#include "support/command.h"
#include "support/temporary.h"

#include <string.h>

#define MODEL "tests/data/qwen4exp/micro.f32.gguf"
