/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor that one thread makes readable for another, or for a poll of somebody else's. */
#ifndef ABX_BASE_WAKE_H
#define ABX_BASE_WAKE_H

int wake_open(void);      /* a descriptor or -errno; not readable yet */
void wake_signal(int fd); /* readable from now on; negative is fine */
void wake_clear(int fd);  /* until the next signal */

#endif
