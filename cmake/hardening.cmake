# Fails if a program lacks what CMakeLists.txt links it with:
#   cmake -DPROGRAM= -P hardening.cmake
cmake_policy(VERSION 3.25)

function(readelf RESULT)
    execute_process(COMMAND readelf -W ${ARGN} "${PROGRAM}" OUTPUT_VARIABLE text
        COMMAND_ERROR_IS_FATAL ANY)
    set(${RESULT} "${text}" PARENT_SCOPE)
endfunction()
function(needs TEXT PATTERN WHAT)
    if(NOT TEXT MATCHES "${PATTERN}")
        message(SEND_ERROR "${PROGRAM} ${WHAT}")
    endif()
endfunction()

readelf(header -h)
readelf(segments -l)
readelf(dynamic -d)
needs("${header}" "Type: +DYN" "is not position-independent")
needs("${segments}" "GNU_RELRO" "has no segment that is read-only after relocation")
needs("${segments}" "GNU_STACK[^\n]* RW " "has an executable stack")
needs("${dynamic}" "BIND_NOW|Flags:[^\n]* NOW" "binds its functions late")
