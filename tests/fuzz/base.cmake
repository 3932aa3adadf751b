amber_fuzzer(fuzz_units LIBS base)
amber_fuzzer(fuzz_json LIBS base)
amber_fuzzer(fuzz_frame LIBS base)
amber_fuzzer(fuzz_cbor_read SOURCES fuzz_cbor_read.c ../base/cbor_echo.c LIBS base)
amber_fuzzer(fuzz_cose LIBS base)
amber_fuzzer(fuzz_vkey LIBS base)

if(NOT AMBER_FUZZ)
	add_executable(fuzz_replay_victim fuzz_replay_victim.c fuzz_replay.c)
	set_target_properties(fuzz_replay_victim PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
	target_link_libraries(fuzz_replay_victim PRIVATE amber_flags)
	amber_script_test(replay_self_test COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/replay_self_test")
endif()
