amber_fuzzer(fuzz_http_parser
	SOURCES fuzz_http_parser.c ${CMAKE_SOURCE_DIR}/tests/transport/http_outcome.c LIBS transport)
amber_fuzzer(fuzz_url LIBS transport)
