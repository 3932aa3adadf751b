# Finds each library and says which Debian package to install when one is missing.
# Each becomes an imported target dep::<name>.
find_package(PkgConfig)
if(NOT PkgConfig_FOUND)
	message(FATAL_ERROR "pkg-config not found: install the Debian package "
		"pkg-config (scripts/setup installs everything)")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# amber_pkg(NAME MODULE MINIMUM DEBIAN-PACKAGE)
function(amber_pkg name module minimum package)
	pkg_check_modules(DEP_${name} QUIET IMPORTED_TARGET "${module}>=${minimum}")
	if(NOT DEP_${name}_FOUND)
		message(FATAL_ERROR "${module} >= ${minimum} not found: install the Debian "
			"package ${package} (scripts/setup installs everything)")
	endif()
	add_library(dep::${name} ALIAS PkgConfig::DEP_${name})
	message(STATUS "${module} ${DEP_${name}_VERSION}")
endfunction()

amber_pkg(sodium libsodium 1.0.18 libsodium-dev)
amber_pkg(cbor libcbor 0.8 libcbor-dev)
amber_pkg(event libevent_core 2.1 libevent-dev)
# evdns' server, for tests and load alone.
amber_pkg(event_extra libevent_extra 2.1 libevent-dev)
amber_pkg(ssl libssl 3.0 libssl-dev)
amber_pkg(crypto libcrypto 3.0 libssl-dev)
amber_pkg(cares libcares 1.18 libc-ares-dev)
amber_pkg(inih inih 53 libinih-dev)
amber_pkg(seccomp libseccomp 2.5 libseccomp-dev)
amber_pkg(zlib zlib 1.2 zlib1g-dev)
if(AMBER_TESTS)
	amber_pkg(cmocka cmocka 1.1.5 libcmocka-dev)
endif()

# llhttp: from the system, or from where scripts/setup unpacks it (Debian 12).
file(GLOB AMBER_DEPS_LIBDIRS "${CMAKE_SOURCE_DIR}/build/deps/usr/lib/*" LIST_DIRECTORIES true)
find_path(LLHTTP_INCLUDE_DIR llhttp.h
	HINTS "${CMAKE_SOURCE_DIR}/build/deps/usr/include")
find_library(LLHTTP_LIBRARY NAMES llhttp
	HINTS ${AMBER_DEPS_LIBDIRS} "${CMAKE_SOURCE_DIR}/build/deps/usr/lib")
if(NOT LLHTTP_INCLUDE_DIR OR NOT LLHTTP_LIBRARY)
	message(FATAL_ERROR "llhttp not found: install the Debian package libllhttp-dev; "
		"on Debian 12, which lacks it, run scripts/setup")
endif()
add_library(dep::llhttp UNKNOWN IMPORTED)
set_target_properties(dep::llhttp PROPERTIES
	IMPORTED_LOCATION "${LLHTTP_LIBRARY}"
	INTERFACE_INCLUDE_DIRECTORIES "${LLHTTP_INCLUDE_DIR}")
message(STATUS "llhttp ${LLHTTP_LIBRARY}")

# RandomX: 1.x knows rx/0 only; 2.x also rx/2.  RANDOMX_FLAG_V2 is an enumerator, which
# the preprocessor cannot see, and 1.x would silently ignore the flag: so compile it.
# Found paths and answers are cached; both are forgotten when the prefix changes, the
# answer also when the header does (a library upgraded in place).
if(NOT "${AMBER_RANDOMX_PREFIX}" STREQUAL "${CMAKE_PREFIX_PATH}")
	unset(RANDOMX_INCLUDE_DIR CACHE)
	unset(RANDOMX_LIBRARY CACHE)
endif()
set(AMBER_RANDOMX_PREFIX "${CMAKE_PREFIX_PATH}" CACHE INTERNAL "")
find_path(RANDOMX_INCLUDE_DIR randomx.h)
# The library of the header's own prefix first: they must be of one version.
cmake_path(GET RANDOMX_INCLUDE_DIR PARENT_PATH AMBER_RANDOMX_ROOT)
find_library(RANDOMX_LIBRARY NAMES randomx
	HINTS "${AMBER_RANDOMX_ROOT}/lib" "${AMBER_RANDOMX_ROOT}/lib64"
		"${AMBER_RANDOMX_ROOT}/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
if(NOT RANDOMX_INCLUDE_DIR OR NOT RANDOMX_LIBRARY)
	message(FATAL_ERROR "RandomX not found: install the Debian package librandomx-dev, "
		"or name another installed prefix with -DCMAKE_PREFIX_PATH=DIR")
endif()
add_library(dep::randomx UNKNOWN IMPORTED)
set_target_properties(dep::randomx PROPERTIES
	IMPORTED_LOCATION "${RANDOMX_LIBRARY}"
	INTERFACE_INCLUDE_DIRECTORIES "${RANDOMX_INCLUDE_DIR}")
if(RANDOMX_LIBRARY MATCHES "\\.a$")
	# A static RandomX needs the C++ runtime that the shared one brings along.
	set_property(TARGET dep::randomx PROPERTY
		INTERFACE_LINK_LIBRARIES stdc++ m Threads::Threads)
endif()
include(CheckSourceCompiles)
file(SHA256 "${RANDOMX_INCLUDE_DIR}/randomx.h" AMBER_RANDOMX_HEADER)
if(NOT "${AMBER_RANDOMX_PROBED}" STREQUAL "${AMBER_RANDOMX_HEADER}")
	unset(AMBER_RANDOMX_V2 CACHE)
	set(AMBER_RANDOMX_PROBED "${AMBER_RANDOMX_HEADER}" CACHE INTERNAL "")
endif()
set(CMAKE_REQUIRED_INCLUDES "${RANDOMX_INCLUDE_DIR}")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
check_source_compiles(C "
#include <randomx.h>
int probe(void);
int probe(void) { return (int)RANDOMX_FLAG_V2; }
" AMBER_RANDOMX_V2)
unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
unset(CMAKE_REQUIRED_INCLUDES)
if(AMBER_RANDOMX_V2)
	target_compile_definitions(dep::randomx INTERFACE AMBER_RANDOMX_V2=1)
	message(STATUS "RandomX ${RANDOMX_LIBRARY}: rx/0 and rx/2")
else()
	target_compile_definitions(dep::randomx INTERFACE AMBER_RANDOMX_V2=0)
	message(STATUS "RandomX ${RANDOMX_LIBRARY}: rx/0")
endif()
