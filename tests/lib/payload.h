/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests' static program does inside a sandbox; see payload.c. Every attempt returns 0 or
 * more for "it worked" and -errno for "it was refused". A missing argument is "".
 */
#ifndef ABX_TESTS_PAYLOAD_H
#define ABX_TESTS_PAYLOAD_H

#include <stdbool.h>

#define PAYLOAD_ARGS 8

struct attempt {
    const char *name;
    long (*run)(char **args);
};

long payload_number(const char *text);
long payload_errno(long r);
void payload_say(long r);

/* payload_files.c */
long try_write(char **args);
long try_append(char **args);
long try_truncate_open(char **args);
long try_create(char **args);
long try_dir_open(char **args);
long try_tmpfile(char **args);
long try_xattr(char **args);
long try_mmap_write(char **args);
long try_reopen(char **args);
long try_handle(char **args);
long try_openat2(char **args);
long try_identify(char **args);
long try_race_swap(char **args);
long try_race_rename(char **args);

/* payload_net.c */
long try_unix(char **args);
long try_abstract(char **args);
long try_inet(char **args);
long try_pair(char **args);
long try_passing(char **args);
long try_loopback(char **args);
long try_serve(char **args);

/* payload_process.c */
long try_clone(char **args);
long try_clone3(char **args);
long try_int80(char **args);
long try_fds(char **args);
long try_state(char **args);
long try_forks(char **args);
long try_storm(char **args);
long try_memory(char **args);
long try_files(char **args);
long try_daemon(char **args);
long try_peek(char **args);
long try_poke(char **args);

#endif
