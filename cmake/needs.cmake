# Fails if a program needs a shared library that is not named:
#   cmake -DPROGRAM= -DALLOWED=a;b -P needs.cmake
cmake_policy(VERSION 3.25)
execute_process(COMMAND readelf -d "${PROGRAM}" OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
# An open bracket in an element would make one element of all that follow.
string(REPLACE "[" "<" dynamic "${dynamic}")
string(REGEX MATCHALL "Shared library: <[^]]+" needed "${dynamic}")
if(NOT needed)
    message(FATAL_ERROR "readelf names no shared library of ${PROGRAM}: nothing was checked")
endif()
foreach(entry IN LISTS needed)
    string(REGEX REPLACE ".*<" "" library "${entry}")
    if(NOT library IN_LIST ALLOWED)
        message(SEND_ERROR "${PROGRAM} needs ${library}")
    endif()
endforeach()
