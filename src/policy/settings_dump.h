/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as text. Failures stay in the buffer. */
#ifndef ABX_POLICY_SETTINGS_DUMP_H
#define ABX_POLICY_SETTINGS_DUMP_H

#include "base/buf.h"
#include "base/defs.h"
#include "policy/settings.h"

/*
 * A configuration file that says the same: config_decode takes it (if an entry is final: for the
 * system layer). Scalars and names of maps that were given several times are there once. Paths that
 * are not UTF-8 cannot be written down in JSON; their bytes become U+FFFD.
 */
void settings_dump_json(const struct settings *settings, struct buf *out);
/* One line an entry, sorted by key: "KEY = VALUE (ORIGIN, SOURCE)". */
void settings_dump_text(const struct settings *settings, struct buf *out);

#endif
