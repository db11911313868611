/* SPDX-License-Identifier: Apache-2.0 */
/* As much of libproc as src/darwin uses, on Linux: shim.c. */
#ifndef ABX_TESTS_DARWIN_LIBPROC_H
#define ABX_TESTS_DARWIN_LIBPROC_H

/* How many there are, or how many were written. */
int proc_listallpids(void *pids, int bytes);

#endif
