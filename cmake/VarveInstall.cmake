# What `make install` and `make deb` put where, besides the command, the library and the header.
include(GNUInstallDirs)

# The pkg-config file finds its prefix from where it lies, so that the folder may be moved.
file(RELATIVE_PATH VARVE_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" VARVE_PC_UP "${VARVE_PC_UP}")
configure_file(cmake/varve.pc.in varve.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/varve.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

file(GLOB pages CONFIGURE_DEPENDS docs/*.md)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES examples/story.c examples/tools.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
# Debian has a name of its own for the licence, and a folder of its own for zsh's completions.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT elsewhere)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright
        COMPONENT debian EXCLUDE_FROM_ALL)

# written(FILE WORDS...): a target's worth of what `varve help WORDS` prints.
set(written_files)
function(written file)
  add_custom_command(OUTPUT ${file} COMMAND varve help ${ARGN} > ${file} DEPENDS varve VERBATIM)
  list(APPEND written_files ${file})
  set(written_files ${written_files} PARENT_SCOPE)
endfunction()

# A command for another machine can't be run here to write its pages.
if(TARGET varve AND NOT CMAKE_CROSSCOMPILING)
  set(share ${PROJECT_BINARY_DIR}/share)
  file(MAKE_DIRECTORY ${share})
  written(${share}/varve.1 --man)
  written(${share}/varve --completion bash)
  written(${share}/_varve --completion zsh)
  add_custom_target(pages ALL DEPENDS ${written_files})
  install(FILES ${share}/varve.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${share}/varve DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${share}/_varve DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
          COMPONENT elsewhere)
  install(FILES ${share}/_varve DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
          COMPONENT debian EXCLUDE_FROM_ALL)
  if(VARVE_TESTS AND NOT VARVE_SANITIZE) # a library with sanitizers needs more than it tells others
    add_test(NAME install COMMAND ${PROJECT_SOURCE_DIR}/tools/check_install.sh ${PROJECT_BINARY_DIR})
    set_tests_properties(install PROPERTIES TIMEOUT 300 ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
  endif()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME varve)
set(CPACK_PACKAGE_CONTACT "The varve authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "run sparse mixture-of-experts language models")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "varve runs language models from GGUF files on one machine, and gives the same
bits whatever the window, the thread count or the instruction set. The package
has the command, the library for C programs, their manual and examples.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS
    "${PROJECT_BINARY_DIR};varve;Unspecified;/;${PROJECT_BINARY_DIR};varve;debian;/")
include(CPack)
