#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A80–A90: services of the host. The canaries stand where the real ones would, as far as the test may
# make them; the log of the server says who came.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

NO='EPERM|EACCES|ENOENT|ECONNREFUSED'

@test "A80 a docker socket in its usual place, and anywhere else" {
    serve
    refused EPERM unix stream "$S/stream"
    refused "$NO" unix stream /var/run/docker.sock
    refused "$NO" unix stream /run/docker.sock
    run inside 'curl -s --max-time 2 --unix-socket $S/stream http://x/containers/json; ls /var/run/ /run/'
    [[ $output != *docker* ]]
    nobody_called
}

@test "A80 variant: unix sockets allowed still show nothing below /run or in hidden folders" {
    S=$D
    serve
    OPTIONS+=(--set network.allowAllUnixSockets=true)
    refused "$NO" unix stream "$D/stream"
    refused "$NO" unix dgram "$D/dgram"
    refused "$NO" unix stream /run/docker.sock
    refused "$NO" abstract "$ABSTRACT"
    nobody_called
}

@test "A80 variant: a socket reached by its directory's descriptor, by symlink, by a relative name" {
    serve
    ln -s "$S/stream" "$W/link"
    own "$W"
    refused EPERM unix stream "$W/link"
    refused EPERM unix stream ../s/stream
    refused EPERM unix stream "/proc/self/root$S/stream"
    nobody_called
}

@test "A81 the user's service manager and buses" {
    AS+=(XDG_RUNTIME_DIR="$S" DBUS_SESSION_BUS_ADDRESS="unix:path=$S/stream")
    serve
    watch "$O"
    run inside 'systemd-run --user touch $O/x; busctl --user list; gdbus call --session -d x -o / -m x.y
        dbus-send --session --print-reply --dest=x / x.y; echo "[$XDG_RUNTIME_DIR$DBUS_SESSION_BUS_ADDRESS]"'
    [[ $output == *"[]"* ]]
    refused "$NO" unix stream /run/dbus/system_bus_socket
    refused "$NO" unix stream "/run/user/$(id -u)/bus"
    refused "$NO" unix stream /run/systemd/private
    untouched
    nobody_called
}

@test "A82 abstract sockets, X's among them" {
    serve
    refused "$NO" abstract "$ABSTRACT"
    refused "$NO" abstract /tmp/.X11-unix/X0
    refused "$NO|EISCONN|EINVAL|EAFNOSUPPORT" pair stream "@$ABSTRACT"
    nobody_called
}

@test "A83 agents: ssh, gpg, keyring" {
    AS+=(SSH_AUTH_SOCK="$S/stream" GPG_AGENT_INFO="$S/stream:1:1" GNOME_KEYRING_CONTROL="$S")
    serve
    run inside 'ssh-add -l; echo "[$SSH_AUTH_SOCK$GPG_AGENT_INFO$GNOME_KEYRING_CONTROL]"; SSH_AUTH_SOCK=$S/stream ssh-add -l'
    [[ $output == *"[]"* ]]
    refused EPERM unix stream "$S/stream"
    nobody_called
}

@test "A84 X11 and Wayland" {
    AS+=(DISPLAY=:0 WAYLAND_DISPLAY=stream XDG_RUNTIME_DIR="$S" XAUTHORITY="$S/x")
    serve
    run inside 'echo "[$DISPLAY$WAYLAND_DISPLAY$XAUTHORITY]"; ls -A /tmp/.X11-unix'
    [[ $output == *"[]"* ]]
    refused EPERM unix stream "$S/stream"
    refused "$NO" unix stream /tmp/.X11-unix/X0
    nobody_called
}

@test "A87 name services" {
    serve
    refused "$NO" unix stream /run/nscd/socket
    refused "$NO" unix stream /run/systemd/resolve/io.systemd.Resolve
    refused "$NO" unix stream /run/avahi-daemon/socket
    refused 'ENETUNREACH|ECONNREFUSED|EPERM|EPROTONOSUPPORT|ok' inet udp 127.0.0.53 53
    run inside 'getent hosts example.com'
    [ "$status" -ne 0 ]
    nobody_called
}

@test "A88 multiplexers, terminals and editors" {
    AS+=(TMUX="$S/stream,1,0" STY=x KITTY_LISTEN_ON="unix:$S/stream" VSCODE_IPC_HOOK_CLI="$S/stream" NVIM="$S/stream"
        EMACS_SOCKET_NAME="$S/stream")
    serve
    run inside 'env | grep -E "TMUX|STY|KITTY_LISTEN|VSCODE_IPC|NVIM|EMACS_SOCKET"; tmux -S $S/stream send-keys x Enter
        screen -X stuff x; emacsclient -s $S/stream -e 1; :'
    [[ $output != *"$S/stream,1"* && $output != *VSCODE_IPC* ]]
    nobody_called
}

@test "A89 cron, at, units and autostart" {
    mkdir -p "$H/.config/systemd/user" "$H/.config/autostart" "$H/.local/bin"
    own "$H"
    watch "$O" "$H/.config"
    run inside 'echo "* * * * * touch $O/x" | crontab -; echo "touch $O/x" | at now; echo x >/etc/cron.d/x
        echo x >/var/spool/cron/crontabs/x; echo x >$H/.config/systemd/user/x.service; echo x >$H/.config/autostart/x.desktop
        echo x >$H/.local/bin/git; echo x >>$H/.bashrc; echo x >/etc/profile.d/x.sh'
    untouched
    [ ! -e /etc/cron.d/x ]
    [ ! -e /var/spool/cron/crontabs/x ]
    [ ! -e "$H/.local/bin/git" ]
    [ ! -e "$H/.bashrc" ]
    [ ! -e /etc/profile.d/x.sh ]
}

@test "A90 container, virtual machine and package services" {
    local path
    for path in /run/containerd/containerd.sock /run/podman/podman.sock /run/libvirt/libvirt-sock /run/snapd.socket \
        /run/crio/crio.sock /run/flatpak/x /run/user/1001/podman/podman.sock /var/run/lxd.socket /run/pcscd/pcscd.comm; do
        refused "$NO" unix stream "$path"
    done
    run inside 'find /run /var/run/ -type s'
    [[ $output != *.sock* ]]
}

@test "A90 variant: a service's socket does not come back with a grant of its folder" {
    serve
    OPTIONS+=(--rw "$S")
    refused EPERM unix stream "$S/stream"
    refused EPERM unix dgram "$S/dgram"
    refused 'EPERM|EISCONN|EINVAL|EPROTOTYPE' pair dgram "$S/dgram"
    nobody_called
}
