#!/bin/sh
# scrub.sh FILE…: takes out of logs what belongs to the machine that made them. Paths of the virtual environment and of
# the run become those of a user, its address becomes 10.0.0.1.
set -eu
here=$(pwd -P)
venv=$(python -c 'import sys; print(sys.prefix)')
address=$(hostname -I | cut -d' ' -f1)
sed -i -e "s#$venv#/home/user/venv#g" -e "s#$here#/home/user/run#g" -e "s#$address#10.0.0.1#g" "$@"
