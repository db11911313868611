# SPDX-License-Identifier: Apache-2.0
f() { one; }
f
unset -f f
f
f() { two; }
f
if true; then f() { three; }; fi
f
