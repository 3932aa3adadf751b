amber_fuzzer(fuzz_http_parser
	SOURCES fuzz_http_parser.c ${CMAKE_SOURCE_DIR}/tests/transport/http_outcome.c LIBS transport)
amber_fuzzer(fuzz_url LIBS transport)
amber_fuzzer(fuzz_url_ref LIBS transport)
amber_fuzzer(fuzz_exchange_query LIBS transport)
amber_fuzzer(fuzz_exchange_core
	SOURCES fuzz_exchange_core.c ${CMAKE_SOURCE_DIR}/tests/transport/exchange_rig.c LIBS transport)
