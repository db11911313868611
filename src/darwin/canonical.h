/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One name for a file of macOS: the one that the kernel compares with a Seatbelt profile.
 *
 * Of what exists the kernel is asked (darwin_real_path): links, firmlinks, case and normal form are
 * then as they are on disk. What does not exist has only its text: darwin_canonical knows the links
 * and firmlinks that every Mac has. How an absent name may be spelled on a volume that ignores case
 * and normal form is the profile's business (plan/seatbelt_text.h).
 */
#ifndef ABX_DARWIN_CANONICAL_H
#define ABX_DARWIN_CANONICAL_H

#include "base/defs.h"

#define DARWIN_PATH_MAX 1024 /* with the NUL, as the system's */

/* Pure. path is clean; out has DARWIN_PATH_MAX bytes. 0 or -ENAMETOOLONG. */
int darwin_canonical(const char *path, char *out);

/*
 * macOS: the kernel's own path of what exists of path, and the rest as it is. ret_exists: all of it
 * does. 0 or -errno; a component that may not be entered is an error, never taken for absent.
 */
int darwin_real_path(const char *path, char *out, bool *ret_exists);

#endif
