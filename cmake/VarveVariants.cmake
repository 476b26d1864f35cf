# Every src/op/*/portable.c is compiled once plainly and once for each instruction set below; the
# exported names get the set's suffix (src/base/isa.h). The registry chooses at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(VARVE_ISAS avx2 avx512)
  set(VARVE_ISA_avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2)
  set(VARVE_ISA_avx512 -march=x86-64-v4 -mprefer-vector-width=256)
else()
  set(VARVE_ISAS)
endif()

# varve_variants(TARGET): adds the object files to TARGET.
function(varve_variants target)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/op/*/portable.c)
  if(NOT sources)
    return()
  endif()
  foreach(isa IN LISTS VARVE_ISAS)
    add_library(${target}_${isa} OBJECT ${sources})
    target_include_directories(${target}_${isa} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
                               ${PROJECT_SOURCE_DIR}/include)
    target_compile_options(${target}_${isa} PRIVATE ${VARVE_ISA_${isa}})
    target_compile_definitions(${target}_${isa} PRIVATE VV_ISA_SUFFIX=_${isa})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
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
