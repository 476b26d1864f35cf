# The emulated GPU (src/device/cuda/emulated): CUDA sources compiled as C++17 for the CPU. C++ is used
# for nothing else; without a C++ compiler CUDA's kernels are not tested here.
include(CheckLanguage)
option(VARVE_EMULATED_CUDA "test the CUDA kernels on an emulated GPU (needs C++)" ON)
if(VARVE_EMULATED_CUDA AND NOT CMAKE_CROSSCOMPILING)
  check_language(CXX)
endif()
if(VARVE_EMULATED_CUDA AND CMAKE_CXX_COMPILER)
  enable_language(CXX)
  set(CMAKE_CXX_FLAGS_RELEASE "-O2")
  set(CMAKE_CXX_FLAGS_DEBUG "${CMAKE_C_FLAGS_DEBUG}")
else()
  set(VARVE_EMULATED_CUDA OFF)
endif()

# What all that is emulated is compiled with. CUDA's compiler lets memory be read as another type.
function(varve_emulated_options target)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON
                        CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-strict-aliasing>)
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
  endif()
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  target_sources(${target} PRIVATE ${ARGN} $<TARGET_OBJECTS:varve_emulated_gpu>)
  target_compile_definitions(${target} PRIVATE VV_CUDA_EMULATED)
  varve_emulated_options(${target})
endfunction()
