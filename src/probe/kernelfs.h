/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own file systems (kernelfs.def). /proc, /sys and /dev of the view are made anew or
 * masked; a second procfs elsewhere, of a chroot perhaps, would show every process of the host, and
 * below a writable root its sysctls could be written. So each mount of such a type that is not at
 * its usual place is excluded, by a rule that no other reopens.
 */
#ifndef ABX_PROBE_KERNELFS_H
#define ABX_PROBE_KERNELFS_H

#include "probe/scan_state.h"

/* By the number of statfs(2). Some have none of their own: see kernelfs_has_twin. */
bool kernelfs_has_magic(uint64_t magic);
/* Whether one of these types has the number of an ordinary one: then its name must be asked for. */
bool kernelfs_has_twin(uint64_t magic);
/* Whether a mount of that type at that place (canonical) must not be seen in any run. */
bool kernelfs_is_stray(const struct facts *facts, const char *type, const char *point);
/* Is the place one of those that a run makes anew, or masks, so that no rule is needed in it? */
bool kernelfs_is_home(const struct facts *facts, const char *point);

/*
 * Hides a mount, if that must be. device: of its files. What lies under another mount cannot be
 * reached and is left alone. ABX_E_INVALID: the working directory is in it.
 */
int32_t kernelfs_see(struct scan *s, const char *type, const char *point, uint64_t device);
/* Is the path in one that is hidden? */
bool kernelfs_holds(const struct scan *s, const char *path);

#endif
