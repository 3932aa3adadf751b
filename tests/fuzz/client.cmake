amber_fuzzer(fuzz_told LIBS client)
