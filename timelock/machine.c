/*
 * machine.c - facts about the machine, read from /proc and /sys.
 *
 * Must not trust that a file is there, nor cache anything: bench asks while
 * memory becomes scarce.
 */
#include "timelock/machine.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"

/* The first line of a small file, without its newline; false if unreadable. */
static bool
read_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (f == NULL)
		return false;
	ok = fgets(out, (int)size, f) != NULL;
	fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = '\0';
	return ok;
}

/* "Name:   1234 kB" anywhere in a file, in bytes; the sum if there are many. */
static bool
read_kib(const char *path, const char *name, uint64_t *bytes)
{
	FILE *f = fopen(path, "re");
	size_t n = strlen(name);
	bool found = false;
	char line[256];

	if (f == NULL)
		return false;
	*bytes = 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, n) == 0 && line[n] == ':') {
			*bytes += strtoull(line + n + 1, NULL, 10) * 1024;
			found = true;
		}
	fclose(f);
	return found;
}

unsigned
machine_allowed_cpus(unsigned *cpus, unsigned max)
{
	size_t size = CPU_ALLOC_SIZE(MACHINE_CPUS);
	cpu_set_t *set = CPU_ALLOC(MACHINE_CPUS);
	unsigned n = 0;

	if (set != NULL && sched_getaffinity(0, size, set) == 0)
		for (unsigned i = 0; i < MACHINE_CPUS && n < max; i++)
			if (CPU_ISSET_S(i, size, set))
				cpus[n++] = i;
	if (set != NULL)
		CPU_FREE(set);
	if (n == 0)
		cpus[n++] = 0;
	return n;
}

int
machine_pin(unsigned cpu, struct err *e)
{
	cpu_set_t *set;
	size_t size = CPU_ALLOC_SIZE(MACHINE_CPUS);
	int r = 0;

	if (cpu >= MACHINE_CPUS)
		return err_set(e, ERR_ARG, "CPU %u: the last possible is %d",
		    cpu, MACHINE_CPUS - 1);
	if ((set = CPU_ALLOC(MACHINE_CPUS)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a CPU set");
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	if (sched_setaffinity(0, size, set) != 0)
		r = err_sys(e, "pin to CPU %u", cpu);
	CPU_FREE(set);
	return r;
}

int
machine_may_pin(unsigned cpu, struct err *e)
{
	size_t size = CPU_ALLOC_SIZE(MACHINE_CPUS);
	cpu_set_t *old = CPU_ALLOC(MACHINE_CPUS);
	int r;

	if (old == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a CPU set");
	if (sched_getaffinity(0, size, old) != 0)
		r = err_sys(e, "read the CPU affinity");
	else if ((r = machine_pin(cpu, e)) == 0 &&
	    sched_setaffinity(0, size, old) != 0)
		r = err_sys(e, "set the CPU affinity back");
	CPU_FREE(old);
	return r;
}

unsigned
machine_current_cpu(bool *is_pinned)
{
	unsigned cpus[2] = { 0, 0 };
	int cpu = sched_getcpu();

	*is_pinned = machine_allowed_cpus(cpus, 2) == 1;
	return cpu < 0 ? cpus[0] : (unsigned)cpu;
}

/* --- memory --------------------------------------------------------------- */

/* What one cgroup leaves: limit less what it holds and cannot drop. */
static void
bound_by_cgroup(const char *folder, const char *limit_name,
    const char *usage_name, const char *file_key, uint64_t *bytes)
{
	uint64_t limit, usage, cached = 0, left;
	char path[768], text[64];
	char line[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, limit_name);
	if (!read_line(path, text, sizeof(text)) || strcmp(text, "max") == 0)
		return;
	limit = strtoull(text, NULL, 10);
	snprintf(path, sizeof(path), "%s/%s", folder, usage_name);
	if (!read_line(path, text, sizeof(text)))
		return;
	usage = strtoull(text, NULL, 10);
	/* Page cache that is not in use can be given back. */
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	if ((f = fopen(path, "re")) != NULL) {
		size_t n = strlen(file_key);

		while (fgets(line, sizeof(line), f) != NULL)
			if (strncmp(line, file_key, n) == 0 && line[n] == ' ')
				cached = strtoull(line + n + 1, NULL, 10);
		fclose(f);
	}
	usage -= cached < usage ? cached : usage;
	left = usage < limit ? limit - usage : 0;
	if (left < *bytes)
		*bytes = left;
}

/* Every cgroup from this process's own up to the root (version 2), and the
 * memory controller's (version 1). */
static void
bound_by_cgroups(uint64_t *bytes)
{
	char line[512], folder[640], *at;
	FILE *f = fopen("/proc/self/cgroup", "re");

	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) == 0) {
			snprintf(folder, sizeof(folder), "/sys/fs/cgroup%s",
			    line + 3);
			while ((at = strrchr(folder, '/')) != NULL &&
			    strlen(folder) >= strlen("/sys/fs/cgroup")) {
				bound_by_cgroup(folder, "memory.max",
				    "memory.current", "inactive_file", bytes);
				*at = '\0';
			}
		} else if ((at = strstr(line, ":memory:")) != NULL) {
			snprintf(folder, sizeof(folder),
			    "/sys/fs/cgroup/memory%s", at + 8);
			bound_by_cgroup(folder, "memory.limit_in_bytes",
			    "memory.usage_in_bytes", "total_inactive_file",
			    bytes);
		}
	}
	fclose(f);
}

int
machine_memory_available(uint64_t *bytes, struct err *e)
{
	struct rlimit lim;
	uint64_t used;

	if (!read_kib("/proc/meminfo", "MemAvailable", bytes))
		return err_set(e, ERR_SYS,
		    "/proc/meminfo does not tell MemAvailable");
	bound_by_cgroups(bytes);
	if (getrlimit(RLIMIT_AS, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY &&
	    read_kib("/proc/self/status", "VmSize", &used)) {
		uint64_t left = used < lim.rlim_cur ? lim.rlim_cur - used : 0;

		if (left < *bytes)
			*bytes = left;
	}
	return 0;
}

/* A line "7f00-7f10 rw-p ..." of smaps: its part within [lo, hi). */
static bool
is_header(const char *line, uintptr_t lo, uintptr_t hi, uint64_t *inside)
{
	uintptr_t from, to;

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) != 2)
		return false;
	if (from < lo)
		from = lo;
	if (to > hi)
		to = hi;
	*inside = from < to ? to - from : 0;
	return true;
}

int
machine_huge_bytes(const void *p, size_t len, uint64_t *bytes, struct err *e)
{
	static const char *const names[] = { "AnonHugePages:",
		"Private_Hugetlb:", "Shared_Hugetlb:" };
	uintptr_t lo = (uintptr_t)p, hi = lo + len;
	uint64_t inside = 0, huge;
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];

	if (f == NULL)
		return err_sys(e, "open /proc/self/smaps");
	*bytes = 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (is_header(line, lo, hi, &inside) || inside == 0)
			continue;
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			size_t n = strlen(names[i]);

			if (strncmp(line, names[i], n) != 0)
				continue;
			huge = strtoull(line + n, NULL, 10) * 1024;
			*bytes += huge < inside ? huge : inside;
		}
	}
	fclose(f);
	return 0;
}

int
machine_pss(int pid, uint64_t *bytes, struct err *e)
{
	char path[64];

	if (pid == 0)
		snprintf(path, sizeof(path), "/proc/self/smaps_rollup");
	else
		snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	if (!read_kib(path, "Pss", bytes))
		return err_set(e, ERR_SYS, "%s does not tell Pss", path);
	return 0;
}

/* --- the whole picture ---------------------------------------------------- */

static void
read_cpu(struct machine *m)
{
	/* x86 says "model name"; aarch64 at best "Model" or nothing. */
	static const char *const names[] = { "model name", "Model",
		"CPU part" };
	FILE *f;
	char line[512], *value;

	m->cpu[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (m->cpu[0] != '\0' ||
		    (f = fopen("/proc/cpuinfo", "re")) == NULL)
			break;
		while (fgets(line, sizeof(line), f) != NULL) {
			if (strncmp(line, names[i], strlen(names[i])) != 0 ||
			    (value = strstr(line, ": ")) == NULL)
				continue;
			value[strcspn(value, "\n")] = '\0';
			snprintf(m->cpu, sizeof(m->cpu), "%.*s",
			    (int)sizeof(m->cpu) - 1, value + 2);
			break;
		}
		fclose(f);
	}
	if (m->cpu[0] == '\0')
		snprintf(m->cpu, sizeof(m->cpu), "unknown");
}

/* "always [madvise] never" -> "madvise". */
static void
read_choice(const char *path, char *out, size_t size)
{
	char line[MACHINE_TEXT], *from, *to;

	snprintf(out, size, "unknown");
	if (!read_line(path, line, sizeof(line)) ||
	    (from = strchr(line, '[')) == NULL ||
	    (to = strchr(from, ']')) == NULL)
		return;
	*to = '\0';
	snprintf(out, size, "%s", from + 1);
}

static void
read_topology(struct machine *m)
{
	unsigned cpus[MACHINE_CPUS];
	char path[128], text[MACHINE_TEXT];
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	m->cpus_online = n > 0 ? (unsigned)n : 1;
	m->cpus_allowed = machine_allowed_cpus(cpus, MACHINE_CPUS);
	snprintf(path, sizeof(path),
	    "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
	    cpus[0]);
	if (!read_line(path, m->siblings, sizeof(m->siblings)))
		snprintf(m->siblings, sizeof(m->siblings), "%u", cpus[0]);
	m->has_smt = read_line("/sys/devices/system/cpu/smt/active", text,
			 sizeof(text)) ?
	    strcmp(text, "1") == 0 :
	    strpbrk(m->siblings, ",-") != NULL;
}

int
machine_read(struct machine *m, struct err *e)
{
	static const char thp[] = "/sys/kernel/mm/transparent_hugepage/";
	uint64_t total = 0, left = 0, pages;
	struct utsname u;
	char path[128], text[64];

	memset(m, 0, sizeof(*m));
	read_cpu(m);
	read_topology(m);
	snprintf(path, sizeof(path), "%senabled", thp);
	read_choice(path, m->thp, sizeof(m->thp));
	snprintf(path, sizeof(path), "%sdefrag", thp);
	read_choice(path, m->thp_defrag, sizeof(m->thp_defrag));
	if (read_line("/sys/kernel/mm/hugepages/hugepages-2048kB/"
		      "free_hugepages",
		text, sizeof(text))) {
		pages = strtoull(text, NULL, 10);
		m->pool_free_bytes = pages * (2048 * 1024);
	}
	if (getloadavg(m->load, 3) != 3)
		m->load[0] = m->load[1] = m->load[2] = 0;
	if (read_kib("/proc/meminfo", "SwapTotal", &total) &&
	    read_kib("/proc/meminfo", "SwapFree", &left) && left < total)
		m->swap_used_bytes = total - left;
	if (!read_kib("/proc/meminfo", "MemTotal", &m->memory_bytes))
		m->memory_bytes = 0;
	if (uname(&u) == 0)
		snprintf(m->kernel, sizeof(m->kernel), "%s %s %s", u.sysname,
		    u.release, u.machine);
	return machine_memory_available(&m->available_bytes, e);
}
