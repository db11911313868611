# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# For tests of the filtered network, on top of e2e.bash: servers (proxy_peers.py) in a network and a
# mount namespace of their own, in which the boxes run as well. So names are ours (/etc/hosts,
# resolv.conf, a DNS server on port 53), ports are the usual ones, and nothing of the machine is
# touched or needed.
#
#   127.0.0.5  where allowed hosts are: ok.test, *.wild.test, git.test, npm.test, apt.test; HTTP, HTTPS, DNS
#   127.0.0.6  the canary: evil.test, wild.test, … on port $CANARY; so is 127.0.0.1
#
#   netbox [OPTION…] -- PROGRAM…   as `box`, with what most tests allow
#   nobody_reached                 the canary was not reached, and works
#   looked_up NAME                 the DNS server was asked
# shellcheck source=tests/lib/e2e.bash
. "$BATS_TEST_DIRNAME/../lib/e2e.bash"

HOSTS='127.0.0.5 ok.test a.wild.test a.b.wild.test git.test npm.test apt.test
127.0.0.6 evil.test wild.test evilok.test ok.test.evil.test
127.0.0.1 inside.test localhost'

# What makes the namespaces: root, or a user in a user namespace of his own. Arrays, so that what is
# started in the background has the pid that is looked for.
if [ "$(id -u)" -eq 0 ]; then
    NET_UNSHARE=(unshare -nm)
    NET_ENTER=(-n -m)
else
    NET_UNSHARE=(unshare -Unm --map-current-user)
    NET_ENTER=(-n -m -U --preserve-credentials)
fi

eval "$(declare -f setup_file | sed '1s/setup_file/fix_setup_file/')"
setup_file() {
    [ -e /etc/hosts ] || skip "hosts: a bare chroot without /etc/hosts" # one of our own is mounted there
    fix_setup_file
    NET=$FIX/net
    mkdir "$NET"
    echo "$HOSTS" >"$NET/hosts"
    printf 'nameserver 127.0.0.5\noptions timeout:1 attempts:2\n' >"$NET/resolv"
    { cat /etc/passwd && echo "boxer:x:$USER_ID:$USER_ID::/:/bin/sh"; } >"$NET/passwd"
    export NET
    # shellcheck disable=SC2016 # for the shell inside
    "${NET_UNSHARE[@]}" sh -c 'ip link set lo up && mount --bind "$0/hosts" /etc/hosts &&
        mount --bind "$0/resolv" "$(readlink -f /etc/resolv.conf)" && mount --bind "$0/passwd" /etc/passwd &&
        exec python3 "$1" serve "$0" known' "$NET" "$ABX_SOURCE/tests/lib/proxy_peers.py" >"$NET/out" 2>&1 3>&- &
    PEERS=$!
    export PEERS
    wait_for_ports "$NET/ports" "$NET/out"
}

teardown_file() {
    kill "$PEERS" || :
    rm -rf "$FIX"
}

# In the network of the servers.
in_net() {
    "${IN_NET[@]}" "$@"
}

eval "$(declare -f setup | sed '1s/setup/fix_setup/')"
setup() {
    fix_setup
    # shellcheck source=/dev/null
    . "$NET/ports"
    IN_NET=(nsenter -t "$PEERS" "${NET_ENTER[@]}" --wdns="$W")
    AS=("${IN_NET[@]}" "${AS[@]}")
    : >"$NET/log"
    : >"$NET/canary"
    : >"$NET/dns"
    chmod a+r "$NET"/*.pem
    ALLOW=(--allow-domain ok.test --allow-domain '*.wild.test' --allow-domain 127.0.0.5)
}

netbox() {
    box "${ALLOW[@]}" "$@"
}

# Text, as `inside`.
netinside() {
    OPTIONS+=("${ALLOW[@]}")
    inside "$1"
}

reach_canary() {
    in_net "$PAYLOAD" inet tcp "$1" "$CANARY"
}

nobody_reached() {
    if [ -s "$NET/canary" ]; then
        echo "the canary was reached"
        return 1
    fi
    reach_canary 127.0.0.6
    wait_for test -s "$NET/canary"
}

looked_up() {
    grep -q "^$1 " "$NET/dns"
}
