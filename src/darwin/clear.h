/* SPDX-License-Identifier: Apache-2.0 */
/* Removing a directory that somebody hostile filled, and may still be filling. */
#ifndef ABX_DARWIN_CLEAR_H
#define ABX_DARWIN_CLEAR_H

#define CLEAR_MAX_DEPTH 64 /* each level costs a descriptor; what lies deeper stays */

/* Removes name in the directory above, with all that is in it. 0, or -errno if something stays. */
int clear_tree(int above, const char *name);

#endif
