# The few shapes of target in the house.

# amber_library(NAME SOURCES ... LIBS ...): the static library of a folder.
function(amber_library name)
	cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
	add_library(${name} STATIC ${A_SOURCES})
	set_target_properties(${name} PROPERTIES OUTPUT_NAME "amber_${name}")
	target_link_libraries(${name} PUBLIC amber_flags ${A_LIBS})
endfunction()

# amber_program(NAME SOURCES ... LIBS ...): an installed program, in build/<preset>/bin.
function(amber_program name)
	cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
	add_executable(${name} ${A_SOURCES})
	target_link_libraries(${name} PRIVATE ${A_LIBS} amber_flags)
	install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()

# amber_test(NAME [LONG] [TIMEOUT S] [WRAP symbol ...] [SOURCES ...] LIBS ...): a cmocka
# program, tests/<folder>/NAME.c by default, labelled quick, or long for scripts/campaign.
# WRAP gives -Wl,--wrap=symbol for injected failures.  Each is linked with test_util
# (tests/test_util.h); LIBS test_alloc or test_alloc_fail adds tests/test_alloc.h.
function(amber_test name)
	cmake_parse_arguments(A "LONG" "TIMEOUT" "SOURCES;LIBS;WRAP" ${ARGN})
	if(NOT A_SOURCES)
		set(A_SOURCES ${name}.c)
	endif()
	if(NOT A_TIMEOUT)
		set(A_TIMEOUT 300)
	endif()
	add_executable(${name} ${A_SOURCES})
	set_target_properties(${name} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
	target_compile_definitions(${name} PRIVATE
		AMBER_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data"
		AMBER_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
	target_link_libraries(${name} PRIVATE test_util ${A_LIBS} dep::cmocka amber_flags)
	foreach(symbol ${A_WRAP})
		target_link_options(${name} PRIVATE -Wl,--wrap=${symbol})
	endforeach()
	add_test(NAME ${name} COMMAND ${name})
	amber_label(${name} "${A_LONG}" ${A_TIMEOUT})
endfunction()

# amber_script_test(NAME [LONG] [TIMEOUT S] COMMAND ...): a script as a test; it finds
# the programs in AMBER_BIN and the tree in AMBER_SOURCE.
function(amber_script_test name)
	cmake_parse_arguments(A "LONG" "TIMEOUT" "COMMAND" ${ARGN})
	if(NOT A_TIMEOUT)
		set(A_TIMEOUT 300)
	endif()
	add_test(NAME ${name} COMMAND ${A_COMMAND})
	set_tests_properties(${name} PROPERTIES ENVIRONMENT
		"AMBER_BIN=${CMAKE_BINARY_DIR}/bin;AMBER_TESTS_BIN=${CMAKE_BINARY_DIR}/tests;AMBER_SOURCE=${CMAKE_SOURCE_DIR};AMBER_SANITIZE=${AMBER_SANITIZE}")
	amber_label(${name} "${A_LONG}" ${A_TIMEOUT})
endfunction()

function(amber_label name long timeout)
	set(label quick)
	if(long)
		set(label long)
	endif()
	set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout}
		SKIP_RETURN_CODE 77)
endfunction()

# amber_fuzzer(NAME LIBS ...): tests/fuzz/NAME.c.  Under the fuzz preset a libFuzzer
# program in bin/; everywhere else the same harness linked with fuzz_replay.c, run by ctest
# over the committed corpus (tests/fuzz/corpus/NAME) and deterministic mutations of it.
function(amber_fuzzer name)
	cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
	if(NOT A_SOURCES)
		set(A_SOURCES ${name}.c)
	endif()
	if(AMBER_FUZZ)
		add_executable(${name} ${A_SOURCES})
		target_link_options(${name} PRIVATE -fsanitize=fuzzer)
	else()
		add_executable(${name} ${A_SOURCES} "${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_replay.c")
		set_target_properties(${name} PROPERTIES
			RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
		add_test(NAME ${name} COMMAND ${name} "${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name}")
		amber_label(${name} "" 600)
	endif()
	target_link_libraries(${name} PRIVATE ${A_LIBS} amber_flags)
endfunction()
