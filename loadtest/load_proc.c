/*
 * load_proc.c - see load_proc.h.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/units.h"
#include "base/version.h"
#include "loadtest/load_proc.h"

enum { PATH_LEN = 64, LINE_LEN = 512 };

/* The number after "key:" in a file of such lines; 0: it is not there. */
static uint64_t
number_of(const char *path, const char *key)
{
	const size_t n = strlen(key);
	char line[LINE_LEN];
	uint64_t v = 0;
	FILE *f;

	if ((f = fopen(path, "re")) == NULL)
		return 0;
	while (v == 0 && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, n) == 0 && line[n] == ':')
			v = strtoull(line + n + 1, NULL, 10);
	(void)fclose(f);
	return v;
}

static int64_t
count_files(pid_t pid)
{
	char path[PATH_LEN];
	struct dirent *d;
	int64_t n = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
	if ((dir = opendir(path)) == NULL)
		return -1;
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			n++;
	(void)closedir(dir);
	return n;
}

bool
load_proc_read(pid_t pid, struct load_proc *out)
{
	char path[PATH_LEN];
	struct timespec ts;
	clockid_t clock;

	memset(out, 0, sizeof(*out));
	out->files = -1;
	if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &ts) != 0)
		return false;
	out->cpu_s = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
	(void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	out->rss_kib = number_of(path, "VmRSS");
	out->peak_kib = number_of(path, "VmHWM");
	out->files = count_files(pid);
	return true;
}

bool
load_proc_reset_peak(pid_t pid)
{
	char path[PATH_LEN];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/clear_refs", (long)pid);
	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return false;
	n = write(fd, "5", 1);
	(void)close(fd);
	return n == 1;
}

/* ---- the machine ---- */

static void
cpu_name(char out[LINE_LEN])
{
	char line[LINE_LEN], *at;
	FILE *f;

	(void)strcpy(out, "unknown");
	if ((f = fopen("/proc/cpuinfo", "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "model name", 10) != 0 ||
		    (at = strchr(line, ':')) == NULL)
			continue;
		at += 1 + strspn(at + 1, " ");
		at[strcspn(at, "\n")] = '\0';
		(void)snprintf(out, LINE_LEN, "%s", at);
		break;
	}
	(void)fclose(f);
}

static const char *
kernel(struct utsname *u)
{
	return uname(u) == 0 ? u->release : "unknown";
}

void
load_proc_machine_json(struct json *j)
{
	char name[LINE_LEN];
	double load[3] = { 0, 0, 0 };
	struct utsname u;
	int i;

	cpu_name(name);
	(void)getloadavg(load, 3);
	json_str(j, "software", "amber-load/" AMBER_VERSION);
	json_str(j, "cpu", name);
	json_int(j, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
	json_array(j, "load");
	for (i = 0; i < 3; i++)
		json_double(j, NULL, load[i]);
	json_close(j);
	json_uint(j, "memory_bytes",
	    number_of("/proc/meminfo", "MemTotal") * 1024);
	json_uint(j, "memory_available_bytes",
	    number_of("/proc/meminfo", "MemAvailable") * 1024);
	json_str(j, "kernel", kernel(&u));
}

void
load_proc_machine_print(void)
{
	char name[LINE_LEN], memory[UNITS_TEXT_MAX];
	double load[1] = { 0 };
	struct utsname u;

	cpu_name(name);
	(void)getloadavg(load, 1);
	units_format_size(number_of("/proc/meminfo", "MemTotal") * 1024,
	    memory);
	(void)printf("machine: %s, %ld CPUs, %s, kernel %s, load %.2f\n",
	    name, sysconf(_SC_NPROCESSORS_ONLN), memory, kernel(&u),
	    load[0]);
}
