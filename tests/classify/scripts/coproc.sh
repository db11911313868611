# SPDX-License-Identifier: Apache-2.0
coproc one arg
coproc NAME { two; three; }
wait
four
