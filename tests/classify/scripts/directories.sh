# SPDX-License-Identifier: Apache-2.0
mkdir_all
cd /
one "$PWD"
(cd /usr; two "$PWD")
three "$PWD"
cd /usr && four "$PWD"
cd / || exit
pushd /usr >/dev/null
five "$PWD"
popd >/dev/null
six "$PWD"
cd -  >/dev/null
seven "$PWD"
cd ..
eight "$PWD"
