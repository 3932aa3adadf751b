/*
 * fuzz_pin.h - the log key that signed the corpus of segments; nobody has its
 * secret half any more.
 */
#ifndef AMBER_TESTS_FUZZ_FUZZ_PIN_H
#define AMBER_TESTS_FUZZ_FUZZ_PIN_H

#define FUZZ_PIN \
	"fuzz.example/log+74f2c378+" \
	"AX5yu8hkssyhXakWsqL5Zcas2Jl2CHB2xxn1c1enYaEX"

#endif
