/* SPDX-License-Identifier: Apache-2.0 */
/* What schema.def says, for people and editors. Failures stay in the buffer. */
#ifndef ABX_POLICY_SCHEMA_H
#define ABX_POLICY_SCHEMA_H

#include "base/buf.h"
#include "base/defs.h"

/* The JSON Schema (2020-12) of a configuration file, indented. */
void schema_write_json_schema(struct buf *out);
/* A JSONC file with every key, its help and an example or its default, all commented out. */
void schema_write_starter(struct buf *out);

#endif
