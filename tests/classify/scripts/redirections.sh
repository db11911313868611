# SPDX-License-Identifier: Apache-2.0
one >out 2>&1
two >>out
three <out
four &>out
five 2>/dev/null
six <>out
{ seven; eight; } >out
exec 3>out
nine >&3
exec 3>&-
ten {fd}>out
>out
eleven >"$(echo out)" arg
twelve arg1 >out arg2 <out arg3
for x in a; do thirteen; done >out
