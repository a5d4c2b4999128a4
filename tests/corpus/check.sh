#!/bin/bash
# check.sh - the corpus as `make test` runs it: small and few, on softgpu.
exec "$(dirname "$0")/run.sh" --reduced "$@"
