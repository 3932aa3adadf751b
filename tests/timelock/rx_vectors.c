/* rx_vectors.c - the RandomX vectors, read line by line. */
#include "tests/timelock/rx_vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"

/* "name": "value" on this line; false if it is another member. */
static bool
member(const char *line, const char *name, char *value, size_t size)
{
	char quoted[64];
	const char *p;
	size_t n;

	snprintf(quoted, sizeof(quoted), "\"%s\": \"", name);
	if ((p = strstr(line, quoted)) == NULL)
		return false;
	p += strlen(quoted);
	n = strcspn(p, "\"");
	assert_true(n < size);
	memcpy(value, p, n);
	value[n] = '\0';
	return true;
}

static void
hash_of(uint8_t out[ENGINE_HASH_LEN], const char *hex)
{
	size_t n;
	uint8_t *p = test_unhex(hex, &n);

	assert_int_equal(n, ENGINE_HASH_LEN);
	memcpy(out, p, n);
	free(p);
}

static void
vector_line(struct rx_vectors *v, const char *line)
{
	struct rx_vector *at = &v->vectors[v->nvectors];
	char text[2 * RX_INPUT_MAX + 1];
	uint8_t *p;

	if (member(line, "key", at->key, sizeof(at->key)))
		return;
	if (member(line, "input", text, sizeof(text))) {
		at->input_len = strlen(text);
		assert_true(at->input_len <= sizeof(at->input));
		memcpy(at->input, text, at->input_len);
	} else if (member(line, "input_hex", text, sizeof(text))) {
		p = test_unhex(text, &at->input_len);
		assert_true(at->input_len <= sizeof(at->input));
		memcpy(at->input, p, at->input_len);
		free(p);
	} else if (member(line, "rx/0", text, sizeof(text))) {
		hash_of(at->want[ENGINE_RX0], text);
	} else if (member(line, "rx/2", text, sizeof(text))) {
		hash_of(at->want[ENGINE_RX2], text);
		v->nvectors++;		/* its last member */
		assert_true(v->nvectors < RX_VECTORS_MAX);
	}
}

static void
chain_line(struct rx_vectors *v, const char *line, enum engine_algorithm a)
{
	struct rx_chain *at = &v->chain[a][v->nchain[a]];
	const char *p = strchr(line, '"');
	unsigned long n;
	char text[80], name[24];

	if (p == NULL || (n = strtoul(p + 1, NULL, 10)) == 0)
		return;
	snprintf(name, sizeof(name), "%lu", n);
	if (!member(line, name, text, sizeof(text)))
		return;
	at->n = (unsigned)n;
	hash_of(at->want, text);
	v->nchain[a]++;
	assert_true(v->nchain[a] < RX_VECTORS_MAX);
}

void
rx_vectors_load(struct rx_vectors *v)
{
	enum engine_algorithm a = ENGINE_RX0;
	bool in_chain = false;
	char line[1024];
	FILE *f;

	memset(v, 0, sizeof(*v));
	f = fopen(AMBER_TEST_DATA "/randomx.json", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strstr(line, "\"plain_chain\"") != NULL)
			in_chain = true;
		if (!in_chain) {
			vector_line(v, line);
			continue;
		}
		if (strstr(line, "\"rx/0\": {") != NULL)
			a = ENGINE_RX0;
		else if (strstr(line, "\"rx/2\": {") != NULL)
			a = ENGINE_RX2;
		else
			chain_line(v, line, a);
	}
	fclose(f);
	assert_int_equal(v->nvectors, 5);
	assert_int_equal(v->nchain[ENGINE_RX0], 3);
	assert_int_equal(v->nchain[ENGINE_RX2], 3);
}
