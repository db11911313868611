# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What a test cannot do without. It skips by the name of that, so that tools/test-run can take the skip for a failure where
# it has to be there (ABX_MUST_WORK).
#
#   need TOOL…             programs in PATH (or below /usr/sbin)
#   need_root [REASON]     to be root

need() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null || [ -x "/usr/sbin/$tool" ] || skip "$tool: not installed"
    done
}

need_root() {
    [ "$(id -u)" -eq 0 ] || skip "root: ${1:-not run as root}"
}
