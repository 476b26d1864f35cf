# varve_test(NAME SOURCE...): a test program of its own, with cmocka, found by CTest.
find_package(PkgConfig QUIET)
function(varve_test name)
  add_executable(test_${name} ${ARGN})
  target_link_libraries(test_${name} PRIVATE varve_test_support)
  add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200)
endfunction()
