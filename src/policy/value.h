/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a text is a value of a key. Pure. */
#ifndef ABX_POLICY_VALUE_H
#define ABX_POLICY_VALUE_H

#include "base/defs.h"
#include "base/err.h"
#include "policy/settings.h"

/* ABX_OK, or ABX_E_CONFIG with the key as its subject and a hint. */
int32_t value_check(const struct schema_row *row, const char *value, abx_error **err);
/* "PORT" or "HOSTPORT:PORT", each from 1 to 65535. */
bool value_ports(const char *value, uint16_t *ret_host, uint16_t *ret_inside);

#endif
