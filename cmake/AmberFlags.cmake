# Options, warnings and hardening of docs/STYLE.md, collected in the interface target amber_flags.
option(AMBER_TESTS "build the tests" ON)
option(AMBER_WERROR "warnings are errors" OFF)
option(AMBER_HARDEN "stack protector, fortify, PIE, full RELRO" OFF)
option(AMBER_FUZZ "build the libFuzzer harnesses (clang only)" OFF)
option(AMBER_COVERAGE "instrument for gcov" OFF)
set(AMBER_SANITIZE "" CACHE STRING "value for -fsanitize=, empty for none")

if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Installed programs find libraries of a prefix of their own (RandomX).
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

# assert() is for our own bugs and stays on in release: it is cheap and it
# turns a broken invariant into a stop instead of a leak.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO
	"${CMAKE_C_FLAGS_RELWITHDEBINFO}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_MINSIZEREL
	"${CMAKE_C_FLAGS_MINSIZEREL}")

add_library(amber_flags INTERFACE)
target_compile_definitions(amber_flags INTERFACE _GNU_SOURCE)
target_include_directories(amber_flags INTERFACE
	"${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
target_compile_options(amber_flags INTERFACE
	-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wmissing-prototypes
	-Wstrict-prototypes -Wwrite-strings -Wundef -Wvla
	$<$<BOOL:${AMBER_WERROR}>:-Werror>)
# Static RandomX builds bring assembly without a stack note.
target_link_options(amber_flags INTERFACE -Wl,-z,noexecstack)
if(AMBER_HARDEN)
	target_compile_options(amber_flags INTERFACE
		-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fPIE)
	target_link_options(amber_flags INTERFACE -Wl,-z,relro -Wl,-z,now)
endif()
if(AMBER_SANITIZE)
	target_compile_options(amber_flags INTERFACE
		-fsanitize=${AMBER_SANITIZE} -fno-omit-frame-pointer
		-fno-sanitize-recover=all)
	target_link_options(amber_flags INTERFACE -fsanitize=${AMBER_SANITIZE})
	target_compile_definitions(amber_flags INTERFACE AMBER_SANITIZED=1)
endif()
if(AMBER_FUZZ)
	if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
		message(FATAL_ERROR "AMBER_FUZZ needs clang (Debian: clang); use --preset fuzz")
	endif()
	target_compile_options(amber_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(AMBER_COVERAGE)
	target_compile_options(amber_flags INTERFACE --coverage)
	target_link_options(amber_flags INTERFACE --coverage)
endif()

# The version stands in project() alone.
configure_file("${CMAKE_SOURCE_DIR}/cmake/version.h.in"
	"${CMAKE_BINARY_DIR}/generated/base/version.h" @ONLY)
