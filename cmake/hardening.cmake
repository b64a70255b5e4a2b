# Fails if a program, or a room that is linked into it, lacks what CMakeLists.txt hardens it with:
#   cmake -DPROGRAM= -DROOM= [-DCET=1] -P hardening.cmake
# What the compiler adds is looked for in the room's archive: the program has it from the libraries
# that are linked in, too.
cmake_policy(VERSION 3.25)

function(readelf RESULT)
    execute_process(COMMAND readelf -W ${ARGN} OUTPUT_VARIABLE text
        COMMAND_ERROR_IS_FATAL ANY)
    set(${RESULT} "${text}" PARENT_SCOPE)
endfunction()
function(needs TEXT PATTERN WHAT)
    if(NOT TEXT MATCHES "${PATTERN}")
        message(SEND_ERROR "${PROGRAM} ${WHAT}")
    endif()
endfunction()

readelf(header -h "${PROGRAM}")
readelf(segments -l "${PROGRAM}")
readelf(dynamic -d "${PROGRAM}")
needs("${header}" "Type: +DYN" "is not position-independent")
needs("${segments}" "GNU_RELRO" "has no segment that is read-only after relocation")
needs("${segments}" "GNU_STACK[^\n]* RW " "has an executable stack")
needs("${dynamic}" "BIND_NOW|Flags:[^\n]* NOW" "binds its functions late")

readelf(symbols -s "${ROOM}")
needs("${symbols}" "__stack_chk_fail" "has a room without a stack protector")
needs("${symbols}" "__[a-z]+_chk[ \n]" "has a room without _FORTIFY_SOURCE")
needs("${symbols}" "__glibcxx_assert" "has a room without the assertions of libstdc++")
if(CET)
    readelf(notes -n "${ROOM}")
    string(REGEX MATCHALL "File: " objects "${notes}")
    string(REGEX MATCHALL "IBT, SHSTK" marked "${notes}")
    list(LENGTH objects objects)
    list(LENGTH marked marked)
    if(objects EQUAL 0 OR NOT objects EQUAL marked)
        message(SEND_ERROR "${marked} of ${objects} objects of ${ROOM} are marked for CET")
    endif()
endif()
