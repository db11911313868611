/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that are read and checked, and that this version cannot keep yet. */
#ifndef ABX_POLICY_GAPS_H
#define ABX_POLICY_GAPS_H

#include "base/defs.h"
#include "base/err.h"
#include "policy/layers.h"

/*
 * ABX_E_UNSUPPORTED if the layers ask for something that a run would not do: a key is kept or
 * refused, never passed over.
 */
int32_t gaps_check(const struct layers *layers, abx_error **err);

#endif
