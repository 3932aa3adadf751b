amber_fuzzer(fuzz_manifest LIBS timelock base)
amber_fuzzer(fuzz_journal LIBS timelock base)
amber_fuzzer(fuzz_generator_wire LIBS timelock base)
