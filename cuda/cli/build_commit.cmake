# Writes HEADER with the commit of SOURCE, or COMMIT where it is given; leaves it alone where nothing
# has changed, so that nothing is compiled again.
cmake_minimum_required(VERSION 3.25)
if(NOT COMMIT)
  execute_process(
    COMMAND git describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY "${SOURCE}"
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT COMMIT)
  set(COMMIT unknown)
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#define ORTHROS_COMMIT \"@COMMIT@\"\n" @ONLY)
