/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that are read and checked, and that this version cannot keep yet. */
#ifndef ABX_POLICY_GAPS_H
#define ABX_POLICY_GAPS_H

#include "base/defs.h"
#include "base/err.h"
#include "policy/settings.h"

/*
 * ABX_E_UNSUPPORTED if one of the settings (weaker first, each may be NULL) asks for something that
 * a run would not do: a key is kept or refused, never passed over.
 */
int32_t gaps_check(const struct settings *const *list, size_t count, abx_error **err);

#endif
