# Tests of the engine, the interposer, calibrate and bench.
# Programs that hash link the interposer; these link the one with the tests' hook.
amber_test(test_narrow LIBS timelock base narrow_hooked)
set(engine_checks engine_checks.c residue.c rx_vectors.c)
amber_test(test_engine TIMEOUT 300 SOURCES test_engine.c ${engine_checks}
	LIBS timelock base narrow_hooked)
amber_test(test_engine_full LONG TIMEOUT 1800 SOURCES test_engine_full.c ${engine_checks}
	LIBS timelock base narrow_hooked)
set(hashers $<TARGET_FILE:test_engine>)
if(TARGET amber-timelock)
	list(APPEND hashers $<TARGET_FILE:amber-timelock>)
endif()
amber_script_test(check_stack COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/check_stack" ${hashers})
amber_test(test_bench_report LIBS timelock base)
target_compile_definitions(test_bench_report PRIVATE AMBER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
amber_test(test_measure TIMEOUT 300 LIBS timelock base narrow)
amber_script_test(test_bench_cli TIMEOUT 600
	COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/test_bench_cli")
amber_script_test(test_bench_cli_long LONG TIMEOUT 900
	COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/test_bench_cli" --long)
