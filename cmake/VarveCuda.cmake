# The emulated GPU (src/device/cuda/emulated): CUDA sources compiled as C++17 for the CPU. C++ is used
# for nothing else; without a C++ compiler CUDA's kernels are not tested here.
include(CheckLanguage)
option(VARVE_EMULATED_CUDA "test the CUDA kernels on an emulated GPU (needs C++)" ON)
if(NOT CMAKE_CXX_COMPILER AND CMAKE_C_COMPILER MATCHES "/clang[^/]*$")
  string(REGEX REPLACE "/clang([^/]*)$" "/clang++\\1" beside ${CMAKE_C_COMPILER})
  if(EXISTS ${beside}) # of one family, as their sanitizers have to be
    set(CMAKE_CXX_COMPILER ${beside})
  endif()
endif()
if(VARVE_EMULATED_CUDA AND NOT CMAKE_CROSSCOMPILING)
  if(NOT CMAKE_CXX_COMPILER)
    unset(CMAKE_CXX_COMPILER CACHE) # what wasn't there when the folder was made may be now
  endif()
  check_language(CXX)
endif()
if(VARVE_EMULATED_CUDA AND CMAKE_CXX_COMPILER)
  enable_language(CXX)
  set(CMAKE_CXX_FLAGS_RELEASE "-O2")
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1") # with sanitizers, -O1 takes it 5 times as long to compile
else()
  set(VARVE_EMULATED_CUDA OFF)
endif()

# What all that is emulated is compiled with. CUDA's compiler lets memory be read as another type.
function(varve_emulated_options target)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON
                        CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-strict-aliasing>)
  # vptr and function need more of clang than a program in C has; kernels compute addresses from null
  # pointers of what a step hasn't got, and don't follow them.
  if(VARVE_SANITIZE MATCHES "undefined")
    set(none vptr,pointer-overflow)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      string(APPEND none ,function)
    endif()
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=${none}>)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/device/cuda/emulated
                             ${PROJECT_SOURCE_DIR}/src)
endfunction()

# varve_emulated_cuda(TARGET FILE.cu...): adds CUDA sources and the emulated GPU that they run on to a
# library or program of this folder.
function(varve_emulated_cuda target)
  if(NOT TARGET varve_emulated_gpu)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/cuda/emulated/*.cpp)
    add_library(varve_emulated_gpu OBJECT ${sources})
    varve_emulated_options(varve_emulated_gpu)
    # Each step of every kernel goes through it, so it is optimised where kernels are not.
    target_compile_options(varve_emulated_gpu PRIVATE $<$<CONFIG:Debug>:-O2>)
    target_compile_definitions(varve_emulated_gpu PRIVATE $<$<CONFIG:Debug>:VV_LARGE_FRAMES>)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  target_sources(${target} PRIVATE ${ARGN} $<TARGET_OBJECTS:varve_emulated_gpu>)
  target_compile_definitions(${target} PRIVATE VV_CUDA_EMULATED)
  varve_emulated_options(${target})
endfunction()

# The module of CUDA kernels: every src/device/cuda/*.cu, src/op/cuda/*.cu and src/op/*/cuda*.cu. An operation's folder
# is on the module's list if it has a cuda.cu.
function(varve_cuda_sources list folder_list)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/device/cuda/*.cu
       ${CMAKE_CURRENT_SOURCE_DIR}/op/cuda/*.cu ${CMAKE_CURRENT_SOURCE_DIR}/op/*/cuda*.cu)
  set(text "")
  foreach(path IN LISTS sources)
    if(path MATCHES "/op/([^/]+)/cuda[.]cu$")
      string(APPEND text "VV_CUDA_FOLDER(${CMAKE_MATCH_1})\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${folder_list} CONTENT "${text}")
  set(${list} ${sources} PARENT_SCOPE)
endfunction()

# varve_cuda_emulated: the module whose GPU is emulated, beside the command.
function(varve_emulated_module generated)
  varve_cuda_sources(sources ${generated}/cuda_folders.inc)
  add_library(varve_cuda_emulated MODULE)
  varve_emulated_cuda(varve_cuda_emulated ${sources})
  # The products' many kernels take GCC twice as long with -O2, and their tests no less time.
  set(products ${sources})
  list(FILTER products INCLUDE REGEX "/op/cuda/products_[^/]*[.]cu$")
  set_property(SOURCE ${products} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
  target_include_directories(varve_cuda_emulated PRIVATE ${generated} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(varve_cuda_emulated PRIVATE varve_static) # small functions, a copy of each
  # Headers in C, where a function may have a struct's name and an enumerator is an int.
  target_compile_options(varve_cuda_emulated PRIVATE -Wno-shadow -Wno-extra)
  target_compile_definitions(varve_cuda_emulated PRIVATE VARVE_VERSION="${PROJECT_VERSION}")
  set_target_properties(varve_cuda_emulated PROPERTIES
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

option(VARVE_CUDA "build the module of CUDA kernels (needs CUDA's compiler)" OFF)
if(VARVE_CUDA)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # Code for each, and a form of the last that later GPUs' drivers compile.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100-real 120)
  endif()
  enable_language(CUDA)
  if(CMAKE_CUDA_ARCHITECTURES STREQUAL native AND CMAKE_CUDA_ARCHITECTURES_NATIVE)
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
  endif()
  # The matrix instructions of four warps together are of 9.0 alone (device/cuda/warpgroup.cuh).
  list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "^90-real$" "90a-real")
endif()

# varve_cuda: the module, beside the command. The contract's flags (docs/arithmetic.md, section 9).
function(varve_cuda_module generated)
  varve_cuda_sources(sources ${generated}/cuda_folders.inc)
  foreach(source IN LISTS sources)
    string(REGEX REPLACE "[/.]" "_" name ${source})
    list(APPEND copies ${generated}/cuda/${name}.cu)
    # A copy by another name: the emulated module compiles the same file as C++.
    file(CONFIGURE OUTPUT ${generated}/cuda/${name}.cu CONTENT "#include \"${source}\"\n")
  endforeach()
  add_library(varve_cuda MODULE ${copies})
  set_target_properties(varve_cuda PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
                        CUDA_RUNTIME_LIBRARY Static POSITION_INDEPENDENT_CODE ON
                        CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(varve_cuda PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${generated}
                             ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(varve_cuda PRIVATE -fmad=false -ftz=false -prec-div=true -prec-sqrt=true)
  target_compile_definitions(varve_cuda PRIVATE VARVE_VERSION="${PROJECT_VERSION}")
  target_link_libraries(varve_cuda PRIVATE varve_static)
  install(TARGETS varve_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/varve)
endfunction()
