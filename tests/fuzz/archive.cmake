amber_fuzzer(fuzz_key_file LIBS archive)
amber_fuzzer(fuzz_stored_head LIBS archive)
