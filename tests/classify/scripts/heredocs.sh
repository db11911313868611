# SPDX-License-Identifier: Apache-2.0
one <<E
plain $(two) `three` ${HOME:+x}
E
four <<'E'
$(never) `never`
E
five <<-E
	tabbed $(six)
	E
seven <<A; eight <<B
$(nine)
A
$(ten)
B
eleven <<<"$(twelve)"
{ thirteen; } <<E
E
if true; then fourteen <<E; fi
x
E
fifteen
