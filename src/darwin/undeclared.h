/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of libSystem that no header at hand declares. All are there since macOS 10.8 or longer;
 * tools/cross-macos knows them by name.
 */
#ifndef ABX_DARWIN_UNDECLARED_H
#define ABX_DARWIN_UNDECLARED_H

#include <stdint.h>
#include <sys/types.h>

/* params: name, value, name, value, …, NULL. 0, or -1 with a text for sandbox_free_error. */
int sandbox_init_with_parameters(const char *profile, uint64_t flags, const char *const params[],
                                 char **ret_error);
void sandbox_free_error(char *error);

#define PT_DENY_ATTACH 31
int ptrace(int request, pid_t pid, caddr_t address, int data);

/* Directory entries, as readdir gets them: whole struct dirent, 0 at the end, or -1. */
ssize_t __getdirentries64(int fd, void *buffer, size_t size, off_t *ret_position);

#endif
