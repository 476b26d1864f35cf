# What every object file is compiled with.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(VARVE_SANITIZE "" CACHE STRING "address,undefined or thread")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")
if(VARVE_FUZZ AND NOT VARVE_SANITIZE)
  set(VARVE_SANITIZE address,undefined)
endif()
if(VARVE_SANITIZE) # enough for checks to end in good time
  set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # Without it GCC leaves vector registers' upper halves in use after AVX code, and every SSE
    # instruction from there on waits for them: 5 to 8 times the time.
    string(APPEND CMAKE_C_FLAGS_DEBUG " -fexpensive-optimizations")
  endif()
endif()

# The contract (docs/arithmetic.md, section 9): an fma happens only where it is written.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off> $<$<COMPILE_LANGUAGE:C,CXX>:-fno-fast-math>)
foreach(flags IN ITEMS "${CMAKE_C_FLAGS}" "$ENV{CFLAGS}")
  if(flags MATCHES "-ffast-math|-Ofast|-funsafe-math|-ffinite-math|-fassociative-math|-freciprocal-math")
    message(FATAL_ERROR "varve's results are defined to the bit: take the relaxed floating-point flag out of CFLAGS (${flags})")
  endif()
endforeach()

# Records of tables leave out what they do not have.
set(varve_warnings -Wall -Wextra -Wno-missing-field-initializers -Wconversion -Wshadow -Wvla)
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${varve_warnings}>")
add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)
option(VARVE_WERROR "warnings are errors" OFF)
if(VARVE_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()
add_compile_definitions(_GNU_SOURCE)

if(VARVE_SANITIZE)
  add_compile_options(-fsanitize=${VARVE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${VARVE_SANITIZE})
endif()
