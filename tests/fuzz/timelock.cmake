amber_fuzzer(fuzz_manifest LIBS timelock base)
