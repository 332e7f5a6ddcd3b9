#!/usr/bin/env bash
# Helix in a terminal with the configuration beside this script: a diagnostic is seen, and a link is completed.
# HX and TMUX_BIN name the programs; memls is found in the PATH.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
tmux() { "$TMUX_BIN" -L "memls-helix-$$" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
export HOME=$work XDG_CONFIG_HOME=$work/config XDG_STATE_HOME=$work/state XDG_DATA_HOME=$work/data XDG_CACHE_HOME=$work/cache
mkdir -p "$work/config/helix" "$work/ws/.memory" "$work/ws/.git"
cp "$here/languages.toml" "$work/config/helix/"
printf -- '---\nname: Gateway port\ntype: project\n---\n\nThe gateway listens on 7433.\n' >"$work/ws/.memory/port.md"
printf -- '---\nname: Late: ferry\ntype: project\n---\n\nThe ferry is late.\n' >"$work/ws/.memory/ferry.md"

# shows TEXT: waits until the terminal shows it.
shows() {
  local screen
  for _ in $(seq 300); do
    screen=$(tmux capture-pane -p 2>/dev/null || true)
    if grep -qF "$1" <<<"$screen"; then return 0; fi
    sleep 0.1
  done
  printf 'the terminal never shows "%s":\n%s\n' "$1" "$screen" >&2
  return 1
}

# gone TEXT: waits until the terminal shows it no longer.
gone() {
  for _ in $(seq 300); do
    if ! tmux capture-pane -p | grep -qF "$1"; then return 0; fi
    sleep 0.1
  done
  echo "the terminal still shows \"$1\"" >&2
  return 1
}

tmux new-session -d -x 110 -y 24 -c "$work/ws" "'$HX' .memory/ferry.md"
shows 'The ferry is late.'
shows '● 1'
tmux send-keys Space d
shows 'frontmatter-syntax'
tmux send-keys Escape
gone 'severity' # keys that follow Escape at once would be taken for Alt
tmux send-keys g e o '[[Gate'
shows 'Gateway port'
tmux send-keys Escape ':q!' Enter
