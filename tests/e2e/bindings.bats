#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The Python module and the Node package: run, stream, approve, update, violations.
# shellcheck disable=SC2119

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: their library wants to be loaded first"
    mkdir "$O/bin" "$O/other"
    cp "$AGENTBOX" "$ABX_BUILD/libagentbox.so.0" "$O/bin"
    cp -r "$ABX_SOURCE/bindings" "$O"
    cp "$ABX_SOURCE"/tests/lib/binding_* "$O"
    chmod -R a+rX "$O"
    [ "$(id -u)" -ne 0 ] || chown 1001 "$O/other"
}

teardown() {
    life_teardown
}

@test "Python: run, stream, approve, update, violations, threads" {
    run "${AS[@]}" env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$O/bindings/python" AGENTBOX_LIBRARY="$O/bin/libagentbox.so.0" \
        AGENTBOX="$O/bin/agentbox" OTHER="$O/other" /usr/bin/python3 "$O/binding_python.py"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^ok' <<<"$output")" -eq 10 ]
    nothing_left
}

@test "Node: run, stream, approve, update, violations" {
    need node
    run "${AS[@]}" env AGENTBOX="$O/bin/agentbox" BINDING="$O/bindings/node" OTHER="$O/other" node "$O/binding_node.js"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^ok' <<<"$output")" -eq 9 ]
    nothing_left
}

@test "Python: the hooks are those of the header, in its order" {
    /usr/bin/python3 - "$ABX_SOURCE" <<'END'
import re, sys
header = open(sys.argv[1] + "/include/agentbox/agentbox.h").read()
body = re.search(r"typedef struct abx_hooks \{(.*?)\} abx_hooks;", header, re.S).group(1)
body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
names = [re.search(r"(\w+)\)?(?:\(void \*user\))?$", row.strip()).group(1) for row in body.split(";") if row.strip()]
module = open(sys.argv[1] + "/bindings/python/agentbox.py").read()
fields = re.findall(r'\("(\w+)"', re.search(r"_fields_ = \[(.*?)\]", module, re.S).group(1))
assert fields == names[:len(fields)], (fields, names)
END
}
