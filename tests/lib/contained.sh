#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a container (container.c), around the box: a server that it could call, the box with all that it
# must not be able to do, and what came of it. Its arguments are options of `agentbox run`; $W, $D, $O,
# $S, $X are the fixture's (e2e.bash), $P is the payload and $BOX the program.
set -u

cat >"$X/attempts" <<'ATTEMPTS'
echo inside-ran
echo more >>sub/file && echo wrote
cat "$D/s" "$D/deep/s" /proc/self/root"$D/s" /proc/1/root"$D/s"
ls "$D"
echo evil >"$O/f"
echo evil >"$O/new"
rm -f "$O/sub/g"
mv "$O/f" "$O/g"
mkdir "$O/made"
ln "$O/f" sub/linked
ln -s "$D/s" sub/link && cat sub/link
echo evil >.git/hooks/evil
kill -KILL "$SERVER"
echo "tcp $("$P" inet tcp 127.0.0.1 "$TCP")"
echo "udp $("$P" inet udp 127.0.0.1 "$UDP")"
echo "unix $("$P" unix stream "$S/stream")"
echo "abstract $("$P" abstract "$ABSTRACT")"
exit 0
ATTEMPTS
chmod 644 "$X/attempts"

: >"$X/log"
"$P" serve "$X/log" "$S" "$ABSTRACT" >"$X/ports" 2>&1 &
server=$!
until [ -s "$X/ports" ]; do sleep 0.02; done
read -r tcp udp <"$X/ports"

cd "$W" || exit 1
"$BOX" run --approve yes --network blocked --exclude "$D" --result "$X/result" --env W="$W" --env D="$D" --env O="$O" \
    --env S="$S" --env P="$P" --env SERVER="$server" --env TCP="$tcp" --env UDP="$udp" --env ABSTRACT="$ABSTRACT" \
    "$@" -- sh "$X/attempts"
echo "--- status $?"
echo "--- server $("$P" unix stream "$S/stream")"
until [ -s "$X/log" ]; do sleep 0.02; done
echo "--- called $(tr '\n' ' ' <"$X/log")"
echo "--- file $(tr '\n' ' ' <"$W/sub/file")"
