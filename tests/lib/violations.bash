# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
#
# For tests of what a run was refused, on top of e2e.bash or filtered.bash.
#
#   records ARGUMENTS OF BOX   one line for each record: operation, path or host:port, call, rule,
#                              origin, count, grant; separated by '|'. What was printed is in $X/out
#   inside_records TEXT        the same, of shell text
#   field NAME                 of the last run's result
#   expect GOT WANTED          the same text, or what the command printed is shown
#   learn ARGUMENTS            agentbox learn; what the command printed is in $X/err

records() {
    : >"$X/r.json"
    own "$X/r.json"
    box --result "$X/r.json" "$@" >"$X/out" 2>&1 || :
    python3 - "$X/r.json" <<'PY'
import json, sys
for v in json.load(open(sys.argv[1]))["violations"]:
    what = v["path"] or (f'{v["host"]}:{v["port"]}' if v["host"] else "")
    print("|".join(str(v[k] or "") if k else what for k in
                   ("operation", "", "detail", "rule", "origin", "count", "grant")))
PY
}

inside_records() {
    records --env O="$O" --env W="$W" --env P="$PAYLOAD" --env ABX_TEXT="$1" -c 'eval "$ABX_TEXT"'
}

field() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$X/r.json" "$1"
}

expect() {
    if [ "$1" != "$2" ]; then
        printf 'expected: %s\ngot:      %s\n' "$2" "$1"
        cat "$X/out"
        return 1
    fi
}

learn() {
    (cd "$W" && "${AS[@]}" "$BOX" learn --approve yes "$@" 2>"$X/err" 3>&-)
}
