/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classifier: reader and judge together, on one processor, nothing run. Typical lines are what
 * agents write; the rate is of blocks of all of them, the times are of single ones. Hostile texts
 * repeat one piece, or one within a command, up to a size; the quarter and the whole of each kind
 * give one value each, so a kind that is not linear shows in the median and in p99.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "bench.h"
#include "classify/judge.h"
#include "classify/walk.h"

#define BLOCKS      15u
#define BLOCK_LINES 20000u
#define SINGLES     20000u

static const char *const lines[] = {
    "ls -la",
    "git status",
    "cd src && go build ./...",
    "grep -rn 'foo' src | head -20",
    "npm test 2>&1 | tail -50",
    "cat README.md",
    "python3 -m pytest tests -x -q",
    "find . -name '*.go' -not -path './vendor/*' | xargs wc -l",
    "git add -A && git commit -m \"fix: handle empty input\"",
    "sed -n '1,120p' src/main.c",
    "for f in *.c; do echo \"$f\"; wc -l \"$f\"; done",
    "mkdir -p build && cd build && cmake .. -DCMAKE_BUILD_TYPE=Release && make -j8",
    "docker ps -a --format '{{.Names}}'",
    "curl -s http://localhost:8080/health | jq .",
    "export FOO=bar; echo $FOO",
    "bash -c 'cd /tmp && ls -la'",
    "if [ -f package.json ]; then cat package.json; fi",
    "rm -rf build dist",
    "git push origin main",
    "cat <<'EOF' > out.txt\nhello\nworld\nEOF",
};

static const struct {
    const char *start, *piece, *end;
} hostile[] = {
    { "", "ls; ", "ls" },
    { "", "ls|", "ls" },
    { "echo ", "a ", "" },
    { "rm -rf ", "a* ", "" },
    { "cat ", "~/.a/../b* ", "" },
    { "", "env ", "ls" },
    { "env ", "A=b ", "ls" },
    { "sed -i s/a/b/ ", "f ", "" },
    { "find . ", "-exec a {} ';' ", "" },
    { "eval ", "eval ", "ls" },
    { "parallel ::: ", "ls ", "" },
    { "python3 -c '", "os.sys ", "'" },
    { "awk '", "print \"|\" ", "'" },
    { "git ", "-c alias.a=!b ", "c" },
    { "", "a=b; ", "ls" },
    { "a=$(curl x); eval ", "$a ", "" },
    { "'", "rm -rf / ;", "" },
    { "", "a(){ ", "" },
    { "", "$(", "" },
    { "", "{a,", "" },
    { "cd /tmp; cat ", "a/../", "" },
    { "chmod -R 777 ", "../", "" },
};

static int judge_line(const struct ruleset *rules, const char *text, size_t len)
{
    _arena_ struct arena arena = { 0 };
    struct verdict v;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    judge_text(rules, text, len, NULL, &arena, &v);
    return v.reason ? 0 : bench_fail("no verdict");
}

static int measure_lines(const struct bench *b, const struct ruleset *rules)
{
    static double rates[BLOCKS], singles[SINGLES];
    size_t lens[ARRAY_LEN(lines)];

    for (unsigned i = 0; i < ARRAY_LEN(lines); i++)
        lens[i] = strlen(lines[i]);
    for (unsigned block = 0; block < BLOCKS; block++) {
        int64_t start = bench_now();

        for (unsigned i = 0; i < BLOCK_LINES; i++) {
            unsigned which = i % ARRAY_LEN(lines);

            if (judge_line(rules, lines[which], lens[which]) < 0)
                return -1;
        }
        rates[block] = (double)BLOCK_LINES * NSEC_PER_SEC / (double)(bench_now() - start);
    }
    for (unsigned i = 0; i < SINGLES; i++) {
        unsigned which = i % ARRAY_LEN(lines);
        int64_t start = bench_now();

        if (judge_line(rules, lines[which], lens[which]) < 0)
            return -1;
        singles[i] = (double)(bench_now() - start);
    }
    bench_summarize(rates, BLOCKS, &b->cells[METRIC_JUDGE_RATE]);
    bench_summarize(singles, SINGLES, &b->cells[METRIC_JUDGE_LINE]);
    return 0;
}

static size_t fill(char *text, size_t size, unsigned kind)
{
    size_t piece = strlen(hostile[kind].piece), end = strlen(hostile[kind].end);
    size_t len = strlen(hostile[kind].start);

    memcpy(text, hostile[kind].start, len);
    for (; len + piece + end <= size; len += piece)
        memcpy(text + len, hostile[kind].piece, piece);
    memcpy(text + len, hostile[kind].end, end);
    return len + end;
}

static int measure_hostile(const struct bench *b, const struct ruleset *rules, size_t size,
                           enum metric metric)
{
    double values[ARRAY_LEN(hostile)];
    char *text = malloc(size);
    int r = text ? 0 : bench_fail("out of memory");

    for (unsigned i = 0; r == 0 && i < ARRAY_LEN(hostile); i++) {
        size_t len = fill(text, size, i);
        int64_t start = bench_now();

        r = judge_line(rules, text, len);
        values[i] = (double)(bench_now() - start) / NSEC_PER_MSEC;
    }
    if (r == 0)
        bench_summarize(values, ARRAY_LEN(values), &b->cells[metric]);
    free(text);
    return r;
}

int classify_measure(const struct bench *b)
{
    static const struct ruleset_config config = { .home = "/home/me" };
    _ruleset_ struct ruleset *rules = NULL;

    if (ruleset_new(&config, &rules, NULL) != 0)
        return bench_fail("cannot make the rules");
    if (measure_lines(b, rules) < 0 ||
        measure_hostile(b, rules, WALK_MAX_TEXT / 4, METRIC_JUDGE_QUARTER) < 0)
        return -1;
    return measure_hostile(b, rules, WALK_MAX_TEXT, METRIC_JUDGE_HOSTILE);
}
