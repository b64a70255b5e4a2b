# Tests: one executable test_<room> per folder under tests/ that holds *_test.cpp; tests/*_test.cpp
# are test_house. Other .cpp in a test folder are compiled in with them.
# A test links the room of its folder's name; what else it needs is named in test_uses below.

include(Catch)
set(VERIROCE_TEST_TIMEOUT 300 CACHE STRING
    "Seconds after which a test counts as hung; it says nothing about speed")

add_library(veriroce_test_main OBJECT tests/main.cpp)
target_link_libraries(veriroce_test_main PUBLIC veriroce_options Catch2::Catch2)
target_compile_definitions(veriroce_test_main PUBLIC VERIROCE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    VERIROCE_BINARY_DIR="${PROJECT_BINARY_DIR}")
# Compilers spend two fifths of their time on optimising tests, which spend theirs in the rooms.
target_compile_options(veriroce_test_main PUBLIC -O0)
# Catch2's header takes longer to read than most tests.
precompiled(veriroce_test_pch HEADERS <catch2/catch.hpp> LIBS veriroce_test_main)

# Frames of every opcode in every encapsulation, and of what lies above, for whoever decodes them.
file(GLOB corpus_sources CONFIGURE_DEPENDS tests/dissector/corpus/*.cpp)
add_library(veriroce_test_corpus OBJECT ${corpus_sources})
target_link_libraries(veriroce_test_corpus PUBLIC veriroce_options veriroce_wire)

# Rooms and libraries that a folder's tests need beyond the room they test.
set(test_uses_wire PkgConfig::tins)  # the independent witness of outer headers
set(test_uses_capture PkgConfig::pcap ZLIB::ZLIB PkgConfig::zstd)  # reads as well; packs files
set(test_uses_engine veriroce_rules)  # checks cite rules of the catalogue
set(test_uses_fault veriroce_script)  # faults as plans write them
set(test_uses_judge veriroce_capture veriroce_sim veriroce_engine veriroce_fault veriroce_mutants)
set(test_uses_sim veriroce_capture veriroce_mutants)
set(test_uses_transport_commands veriroce_mutants)  # defects that fuzz finds
set(test_uses_filter veriroce_capture veriroce_decode)
set(test_uses_flow veriroce_capture veriroce_test_corpus)
set(test_uses_analyze veriroce_capture veriroce_sim veriroce_engine veriroce_fault)
set(test_uses_two_points veriroce_capture veriroce_sim veriroce_engine veriroce_fault)
set(test_uses_analysis_database veriroce_capture PkgConfig::sqlite)
set(test_uses_analysis_page veriroce_capture)
set(test_uses_mpi veriroce_capture)
set(test_uses_decode veriroce_capture veriroce_test_corpus)
set(test_uses_dissect veriroce_test_corpus)
set(test_uses_port veriroce_pingpong)  # the traffic
set(test_uses_inject veriroce_script veriroce_pingpong veriroce_port ${xdp})  # plans; the traffic
set(test_uses_print veriroce_capture veriroce_test_corpus)
set(test_uses_mutants veriroce_rules)
set(test_uses_reports veriroce_rules veriroce_capture veriroce_inject veriroce_fault)
set(test_uses_script_import veriroce_plan veriroce_testbed veriroce_script veriroce_mutants
    veriroce_rules veriroce_capture veriroce_flow)
foreach(room interpreter testbed plan explorer sheet)  # their tests play cases in virtual time
    set(test_uses_${room} veriroce_plan veriroce_testbed veriroce_interpreter veriroce_rules
        veriroce_cases veriroce_script veriroce_mutants)
endforeach()

# Compiled one by one: they name things as other files of their folder name something else.
set_source_files_properties(
    tests/dissector/decode/cut_test.cpp tests/dissector/decode/fast_path_test.cpp
    tests/dissector/decode/link_types_test.cpp tests/dissector/decode/upper_test.cpp
    tests/dissector/flow/mpa_connections_test.cpp tests/dissector/flow/tracker_test.cpp
    tests/dissector/flow/upper_connections_test.cpp
    tests/transport/net/errors_test.cpp tests/transport/net/line_server_test.cpp
    tests/transport/net/neighbours_test.cpp
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# The tests in three parts, for those who play some of them: part 1 plays whole suites, part 3
# needs the program or few rooms, and part 2 is what neither list names. What reads our sources, and
# what sanitizers leave out, is of no part.
set(VERIROCE_TEST_PARTS "" CACHE STRING
    "1, 2 and 3: build these parts of the tests, and what they need; nothing: all of them")
set(test_part_1 explorer plan script_import sheet testbed)
set(test_part_3 agent analysis_database analysis_page analyze bench capture command_line
    conformance_commands decode dissect dissector_commands dut fault filter flow inject mpi
    preflight print program reports rules transport_commands two_points wire)

# With sanitizers a process takes longer to start than most tests: rooms whose tests are many and
# short are played by one process each.
set(test_played_whole analysis_database analyze bench command_line conformance_commands decode dut
    engine fault filter flow interpreter model mutants pingpong port preflight print rules script
    sheet testbed transport_commands two_points wire)

# Whether a test is of the part that is wanted.
function(is_wanted OUT NAME)
    set(part 2)
    foreach(listed 1 3)
        if(NAME IN_LIST test_part_${listed})
            set(part ${listed})
        endif()
    endforeach()
    if(VERIROCE_TEST_PARTS STREQUAL "" OR part IN_LIST VERIROCE_TEST_PARTS OR NAME STREQUAL house)
        set(${OUT} YES PARENT_SCOPE)
    else()
        set(${OUT} NO PARENT_SCOPE)
    endif()
endfunction()

function(test_folder NAME DIR)
    is_wanted(wanted ${NAME})
    if(NOT wanted)
        return()
    endif()
    file(GLOB sources CONFIGURE_DEPENDS "${DIR}/*.cpp")
    list(FILTER sources EXCLUDE REGEX "/tests/main\\.cpp$")
    if(NOT TARGET veriroce-mpi)
        list(FILTER sources EXCLUDE REGEX "/mpi(/.*)?_test\\.cpp$")
    endif()
    set(tests ${sources})
    list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
    if(NOT tests)
        return()
    endif()
    add_executable(test_${NAME} ${sources})
    target_link_libraries(test_${NAME} PRIVATE veriroce_test_main ${test_uses_${NAME}})
    together(test_${NAME})
    target_precompile_headers(test_${NAME} REUSE_FROM veriroce_test_pch)
    # g++ would optimise the hot rooms anew for each of them, because their objects could be.
    target_link_options(test_${NAME} PRIVATE -fno-lto ${fast_linker})
    if(TARGET veriroce_${NAME})
        target_link_libraries(test_${NAME} PRIVATE veriroce_${NAME})
    endif()
    if(VERIROCE_SANITIZE AND NAME IN_LIST test_played_whole)
        add_test(NAME "${NAME}/whole" COMMAND test_${NAME})
        set_tests_properties("${NAME}/whole" PROPERTIES TIMEOUT ${VERIROCE_TEST_TIMEOUT})
    else()
        # Listed when ctest starts, not at the link: a broken test breaks its own run only.
        catch_discover_tests(test_${NAME} TEST_PREFIX "${NAME}/" DISCOVERY_MODE PRE_TEST
            PROPERTIES TIMEOUT ${VERIROCE_TEST_TIMEOUT})
    endif()
    set_property(GLOBAL APPEND PROPERTY VERIROCE_TEST_TARGETS test_${NAME})
endfunction()

if(NOT VERIROCE_SANITIZE)  # they read our sources, and run nothing of ours
    test_folder(house tests)
    # They let std::regex loose on all of them. What is precompiled is not optimised.
    set_source_files_properties(tests/include_check.cpp tests/include_test.cpp tests/style_test.cpp
        PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
endif()
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS tests/*/*_test.cpp)
set(test_dirs "")
foreach(source IN LISTS test_sources)
    cmake_path(GET source PARENT_PATH dir)
    list(APPEND test_dirs "${dir}")
endforeach()
list(REMOVE_DUPLICATES test_dirs)
foreach(dir IN LISTS test_dirs)
    room_name(name "${dir}")
    test_folder(${name} "${dir}")
endforeach()

# What follows is of the program's part, or left out by sanitizers.
set(programs veriroce veriroce-agent)
if(TARGET veriroce-mpi)
    list(APPEND programs veriroce-mpi veriroce_mpi)
endif()
is_wanted(wanted program)
if(VERIROCE_SANITIZE AND NOT wanted)
    set_target_properties(${programs} ${room_targets} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
endif()

# Two devices behind their agents work with each other; tests/interop/run.sh plays it.
add_executable(interop_peers tests/interop/peers_main.cpp)
target_link_libraries(interop_peers PRIVATE veriroce_options veriroce_dut veriroce_net)

# Benchmarks: tests/bench/<name>_bench.cpp is the program bench_<name>; the other .cpp there go into
# each, those of a folder <name> into that one. What they print is for people; the tests only see
# that they run.
set(bench_uses_judge veriroce_judge veriroce_capture PkgConfig::pcap)
set(bench_short_judge --runs 1 --packets 5000)
set(bench_short_udp_link --runs 1 --seconds 0.1)
set(bench_uses_inject veriroce_inject veriroce_fault ${xdp})
set(bench_needs_inject ${live_skeleton})
set(bench_short_inject --runs 1 --seconds 0.05)
file(GLOB bench_parts CONFIGURE_DEPENDS tests/bench/*.cpp)
set(bench_sources ${bench_parts})
list(FILTER bench_sources INCLUDE REGEX "_bench\\.cpp$")
list(FILTER bench_parts EXCLUDE REGEX "_(bench|main)\\.cpp$")
add_library(veriroce_bench_parts OBJECT ${bench_parts})
target_link_libraries(veriroce_bench_parts PRIVATE veriroce_options)
together(veriroce_bench_parts)
foreach(source IN LISTS bench_sources)
    cmake_path(GET source STEM name)
    string(REGEX REPLACE "_bench$" "" name "${name}")
    file(GLOB own_parts CONFIGURE_DEPENDS tests/bench/${name}/*.cpp)
    if(name STREQUAL inject AND NOT xdp)
        list(FILTER own_parts EXCLUDE REGEX "/live_[a-z]*\\.cpp$")
    endif()
    add_executable(bench_${name} ${source} ${own_parts} ${bench_needs_${name}}
        $<TARGET_OBJECTS:veriroce_bench_parts>)
    target_link_libraries(bench_${name} PRIVATE
        veriroce_options veriroce_program veriroce_net ${bench_uses_${name}} Threads::Threads)
    add_test(NAME "bench: bench_${name} runs and prints figures"
        COMMAND bench_${name} ${bench_short_${name}})
    # Alone: what it floods is the kernel's backlog of a core, which all network namespaces share.
    set_tests_properties("bench: bench_${name} runs and prints figures" PROPERTIES RUN_SERIAL ON
        PASS_REGULAR_EXPRESSION "every ICRC that came was right" TIMEOUT ${VERIROCE_TEST_TIMEOUT})
endforeach()

# Captures that figures are measured on; tests/bench/README.md.
add_executable(make_captures tests/bench/make_captures_main.cpp
    $<TARGET_OBJECTS:veriroce_bench_parts>)
target_link_libraries(make_captures PRIVATE veriroce_options veriroce_wire veriroce_net)
set(made_captures "${PROJECT_BINARY_DIR}/made_captures")
file(MAKE_DIRECTORY "${made_captures}")
add_test(NAME "bench: make_captures makes them" COMMAND make_captures "${made_captures}" 5000)
set_tests_properties("bench: make_captures makes them" PROPERTIES
    FIXTURES_SETUP made_captures TIMEOUT ${VERIROCE_TEST_TIMEOUT})
if(TARGET veriroce)
    foreach(name write-1k-16 write-1k-65536 write-16-16 write-16-65536)
        add_test(NAME "bench: the judge finds nothing in ${name}"
            COMMAND veriroce judge --complete --strict "${made_captures}/${name}.pcap")
        set_tests_properties("bench: the judge finds nothing in ${name}" PROPERTIES
            FIXTURES_REQUIRED made_captures TIMEOUT ${VERIROCE_TEST_TIMEOUT}
            PASS_REGULAR_EXPRESSION "RoCEv2 packets: 5000,.* 0 certain, 0 possible")
    endforeach()
endif()

# The contract's document suffices: veriroce tests a device that was written from it alone. That
# device is Python, and so slow that sanitizers leave it out.
if(TARGET veriroce AND NOT VERIROCE_SANITIZE)
    foreach(ip 4 6)
        set(name "interop: veriroce finds nothing wrong with the Python agent over IPv${ip}")
        add_test(NAME "${name}" COMMAND "${PROJECT_SOURCE_DIR}/tests/interop/python_agent/test.sh"
            $<TARGET_FILE:veriroce> ${ip})
        set_tests_properties("${name}" PROPERTIES TIMEOUT 180)
    endforeach()
endif()

# They run the program.
if(TARGET test_program)
    add_dependencies(test_program veriroce)
    if(TARGET veriroce-mpi)
        add_dependencies(test_program veriroce-mpi)
    endif()
endif()

# A name that matches no test must not count as a pass.
if(TARGET test_house)
    add_test(NAME "house: a name that matches no test fails" COMMAND test_house "no such test")
    set_tests_properties("house: a name that matches no test fails" PROPERTIES
        WILL_FAIL ON TIMEOUT 10)
endif()

# The agent runs on bare hosts. Sanitizers bring libraries of their own, so there this says nothing.
if(TARGET veriroce-agent AND NOT VERIROCE_SANITIZE)
    add_test(NAME "house: the agent needs libc and libibverbs and nothing else"
        COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:veriroce-agent>
            "-DALLOWED=libc.so.6;libm.so.6;libpthread.so.0;libibverbs.so.1;ld-linux-x86-64.so.2"
            -P "${PROJECT_SOURCE_DIR}/cmake/needs.cmake")
    if(VERIROCE_AGENT_GLIBC)
        add_test(NAME "house: the agent runs with glibc ${VERIROCE_AGENT_GLIBC}"
            COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:veriroce-agent>
                -DLATEST=${VERIROCE_AGENT_GLIBC} -P "${PROJECT_SOURCE_DIR}/cmake/glibc.cmake")
    endif()
endif()

# As SECURITY.md says.
if(CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo AND NOT VERIROCE_SANITIZE)
    foreach(program veriroce veriroce-agent)
        if(TARGET ${program})
            add_test(NAME "house: ${program} is hardened"
                COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}>
                    -DROOM=$<TARGET_FILE:veriroce_net> -DCET=${VERIROCE_CET}
                    -P "${PROJECT_SOURCE_DIR}/cmake/hardening.cmake")
        endif()
    endforeach()
endif()
