# Fuzz targets: tests/fuzz/<room>_<what>_fuzz.cpp is the program fuzz_<room>_<what>, linked with
# that room. Seeds, if any, stand in tests/fuzz/corpus/<room>_<what>/. `fuzzers` builds them all; if
# some parts of the tests are wanted (cmake/tests.cmake), those of the rooms in these parts.

add_custom_target(fuzzers)
set(fuzz_names "")
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.cpp)
foreach(source IN LISTS fuzz_sources)
    cmake_path(GET source STEM name)
    string(REGEX REPLACE "_fuzz$" "" name "${name}")
    # The longest one: a room's name may itself begin with another's.
    set(room "${name}")
    while(room MATCHES "_" AND NOT TARGET veriroce_${room})
        string(REGEX REPLACE "_[^_]*$" "" room "${room}")
    endwhile()
    if(NOT TARGET veriroce_${room})
        message(FATAL_ERROR "${source}: no room is called '${room}' (<room>_<what>_fuzz.cpp)")
    endif()
    if(COMMAND is_wanted)
        is_wanted(wanted ${room})
        if(NOT wanted)
            continue()
        endif()
    endif()
    add_executable(fuzz_${name} ${source})
    target_link_libraries(fuzz_${name} PRIVATE veriroce_options veriroce_${room})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer ${fast_linker})
    set_target_properties(fuzz_${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
    add_dependencies(fuzzers fuzz_${name})
    string(APPEND fuzz_names "${name}\n")
endforeach()
# An earlier configuration may have left others.
file(WRITE "${PROJECT_BINARY_DIR}/fuzz/targets.txt" "${fuzz_names}")
