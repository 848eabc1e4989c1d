# What every target of ours shares: warnings, floating-point rules, sanitizers, the seeded fault.
add_library(orthros_warnings INTERFACE)
target_compile_options(orthros_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror>)

# No contraction: a fused multiply-add appears only where the source says so, and every
# platform computes the same bits.
add_library(orthros_base INTERFACE)
target_include_directories(orthros_base INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(orthros_base INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(ORTHROS_SANITIZE)
  target_compile_options(orthros_base INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${ORTHROS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(orthros_base INTERFACE -fsanitize=${ORTHROS_SANITIZE})
endif()
if(NOT ORTHROS_FAULT STREQUAL "none")
  message(STATUS "Orthros: built with the seeded fault ${ORTHROS_FAULT}; the tests must fail")
endif()
target_compile_definitions(orthros_base INTERFACE ORTHROS_FAULT=${ORTHROS_FAULT})

# A library of ours: orthros_add_library(name SOURCES ... LIBS ...)
function(orthros_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC orthros_base ${ARG_LIBS} PRIVATE orthros_warnings)
endfunction()

# A program of ours, in bin/: orthros_add_program(name SOURCES ... LIBS ...)
function(orthros_add_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE orthros_base orthros_warnings ${ARG_LIBS})
endfunction()
