# Fails if a program needs a younger glibc than LATEST:
#   cmake -DPROGRAM= -DLATEST=2.28 -P glibc.cmake
cmake_policy(VERSION 3.25)
execute_process(COMMAND readelf -V -W "${PROGRAM}" OUTPUT_VARIABLE versions
    COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "GLIBC_[0-9.]+" needed "${versions}")
if(NOT needed)
    message(FATAL_ERROR "readelf names no version of glibc in ${PROGRAM}: nothing was checked")
endif()
list(REMOVE_DUPLICATES needed)
foreach(entry IN LISTS needed)
    string(REPLACE "GLIBC_" "" version "${entry}")
    if(version VERSION_GREATER LATEST)
        message(SEND_ERROR "${PROGRAM} needs glibc ${version}, newer than ${LATEST}: "
            "readelf --dyn-syms -W shows which symbol (conformance/agent/old_glibc_main.cpp)")
    endif()
endforeach()
