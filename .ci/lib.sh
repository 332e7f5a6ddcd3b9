# shellcheck shell=bash
# Sourced by the other scripts.
set -euo pipefail
GO=${GO:-go}

# note adds to the closing line of `make test` what a step has proved.
note() {
  echo "   $*"
  if [[ -n ${MEMLS_NOTES:-} ]]; then echo "$*" >>"$MEMLS_NOTES"; fi
}

# skip records a check that cannot be made here and how to have it. Under CI that is a failure.
skip() {
  if [[ ${CI:-} == true ]]; then
    echo "   not possible here, and CI=true allows no skip: $*" >&2
    exit 1
  fi
  echo "   skipped: $*"
  if [[ -n ${MEMLS_SKIPS:-} ]]; then echo "$*" >>"$MEMLS_SKIPS"; fi
}
