# Every src/op/*/portable.c, and src/quant/row_dot.c, is compiled once plainly and once for each
# instruction set below; the exported names get the set's suffix (src/base/isa.h). Hand-written files
# src/op/*/x86_SET.c and arm_SET.c are for that set alone; src/op/*/panels.c is compiled for each set
# that multiplies by panels (src/quant/panel). The registry chooses at run time.
set(VARVE_ISAS)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(VARVE_ISAS avx2 avx512)
  set(VARVE_ISA_avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2)
  set(VARVE_ISA_avx512 -march=x86-64-v4 -mprefer-vector-width=256)
  set(VARVE_HAND_PREFIX x86)
  set(VARVE_HAND_SETS avx2 avxvnni avx512 avx512vnni amx)
  set(VARVE_PANEL_SETS avx2 avxvnni avx512vnni amx)
  set(VARVE_HAND_avx2 ${VARVE_ISA_avx2})
  set(VARVE_HAND_avxvnni ${VARVE_ISA_avx2} -mavxvnni)
  set(VARVE_HAND_avx512 -march=x86-64-v4)
  set(VARVE_HAND_avx512vnni -march=x86-64-v4 -mavx512vnni)
  set(VARVE_HAND_amx -march=x86-64-v4 -mavx512vbmi -mavx512vnni -mamx-tile -mamx-int8)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(VARVE_HAND_PREFIX arm)
  set(VARVE_HAND_SETS neon dotprod i8mm) # neon: every AArch64 CPU, so no flags
  set(VARVE_PANEL_SETS neon dotprod i8mm)
  set(VARVE_HAND_neon)
  set(VARVE_HAND_dotprod -march=armv8.2-a+dotprod)
  set(VARVE_HAND_i8mm -march=armv8.2-a+dotprod+i8mm)
else()
  set(VARVE_HAND_SETS)
endif()

# The sources, compiled with the flags and the suffix of an instruction set, become part of TARGET.
function(varve_add_set target name suffix flags)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${name} PRIVATE ${flags})
  target_compile_definitions(${name} PRIVATE VV_ISA_SUFFIX=_${suffix})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()

# varve_variants(TARGET): adds the object files that this architecture has to TARGET.
function(varve_variants target)
  foreach(set IN LISTS VARVE_HAND_SETS)
    file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/op/*/${VARVE_HAND_PREFIX}_${set}.c
         ${CMAKE_CURRENT_SOURCE_DIR}/quant/panel/${VARVE_HAND_PREFIX}_${set}.c)
    set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${VARVE_HAND_${set}}")
    target_sources(${target} PRIVATE ${files})
  endforeach()
  if(VARVE_SANITIZE AND CMAKE_C_COMPILER_ID MATCHES "Clang")
    # With -O1 Clang takes half a minute for its instrumented kernels, which run hardly faster by it.
    set_property(SOURCE quant/panel/x86_avx512.c APPEND PROPERTY COMPILE_OPTIONS -O0)
  endif()
  file(GLOB portable CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/op/*/portable.c
       ${CMAKE_CURRENT_SOURCE_DIR}/quant/row_dot.c)
  foreach(isa IN LISTS VARVE_ISAS)
    varve_add_set(${target} ${target}_${isa} ${isa} "${VARVE_ISA_${isa}}" ${portable})
  endforeach()
  file(GLOB panels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/op/*/panels.c)
  foreach(set IN LISTS VARVE_PANEL_SETS)
    varve_add_set(${target} ${target}_panels_${set} ${set} "${VARVE_HAND_${set}}" ${panels})
  endforeach()
endfunction()

# Writes the list of operation folders for the registry: a folder in src/op is an operation.
function(varve_operation_list file)
  file(GLOB folders CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/op/*/variants.c)
  set(text "")
  foreach(path IN LISTS folders)
    get_filename_component(folder ${path} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    string(APPEND text "VV_OPERATION_FOLDER(${name})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}")
endfunction()
