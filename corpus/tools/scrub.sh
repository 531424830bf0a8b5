#!/bin/sh
# scrub.sh FILE…: takes out of logs what belongs to the machine that made them. The folder of the run, of the virtual
# environment, of packages beside it ($PYTHONPATH) and of the Python they were made from become those of a user; the
# machine's address becomes 10.0.0.1.
set -eu
here=$(pwd -P)
venv=$(python -c 'import sys; print(sys.prefix)')
base=$(python -c 'import sys; print(sys.base_prefix)')
address=$(hostname -I | cut -d' ' -f1)
packages=/home/user/venv/lib/python3.11/site-packages
sed -i -e "s#${PYTHONPATH:-$venv/nothing}#$packages#g" -e "s#$venv#/home/user/venv#g" -e "s#$here#/home/user/run#g" \
    -e "s#$base#/usr/local#g" -e "s#$address#10.0.0.1#g" "$@"
