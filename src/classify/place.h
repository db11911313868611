/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths as a command names them: one canonical text each, and what lies there. No file is looked
 * at, so links are not followed; the sandbox judges those.
 */
#ifndef ABX_CLASSIFY_PLACE_H
#define ABX_CLASSIFY_PLACE_H

#include "classify/subject.h"

/*
 * The path in the command's directory, "~" and "." resolved: absolute if that can be known,
 * otherwise relative ("a/b", "../x", "."). Holes stay, and an unknown directory is one. Text is
 * w->text or a part of it ("of=…"). Without memory it is one hole, and s->no_memory is set.
 */
const char *place_of(const struct subject *s, const struct word *w, const char *text);

/* Nobody means to delete or change this as a whole: /, a home, /etc, … also "/" and a star. */
bool place_is_danger(const struct subject *s, const char *place);
/* As above, once a hole turns out to be empty; or nothing at all is known. */
bool place_may_be_danger(const struct subject *s, const char *place);

enum place_kind {
    PLACE_ORDINARY,
    PLACE_SYSTEM,       /* /usr, /bin, /lib, …: programs of the host */
    PLACE_SYSTEM_STATE, /* /etc, /boot, /dev, /proc, /sys: settings and devices */
    PLACE_SYSTEM_KEY,   /* who may log in, what is loaded into every program, disks */
};
enum place_kind place_kind(const char *place);
/* A disk or a part of one: /dev/sda1, /dev/nvme0n1, … */
bool place_is_disk(const char *place);
/* Read by a shell, by git or by the system at the next start: ~/.bashrc, ~/.ssh/authorized_keys. */
bool place_is_startup_file(const char *place);
/* /dev/tcp/…, /dev/udp/… */
bool place_is_socket(const char *place);

/*
 * Keys, passwords, histories. sure: by a place that is known for it; otherwise also by a name that
 * looks like it (db_password.txt, x.pem). Patterns count if they could match such a file.
 */
bool place_is_secret(const char *place, bool sure);
/* A directory of such files: ~/.ssh, ~/.aws. */
bool place_is_secret_dir(const char *place);

#endif
