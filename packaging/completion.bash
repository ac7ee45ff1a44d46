# SPDX-License-Identifier: Apache-2.0
# Words of ingot, ingot-run, ingot-server and ingot-images, from what their own help tells.

# What --help-all, or --help where there is no such option, says of a command.
_ingot_help() {
  "$@" --help-all 2>/dev/null || "$@" --help 2>/dev/null
}

# The commands that help lists before any option.
_ingot_commands() {
  _ingot_help "$@" | sed -nE '/^(arguments|options|examples):/q
    s/^  ([a-z]+)  +.*/\1/p; s/^  bench ([a-z]+): .*/\1/p'
}

_ingot() {
  local current=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[0]}") commands word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    commands=$(_ingot_commands "${words[@]}")
    [[ $'\n'$commands$'\n' == *$'\n'"$word"$'\n'* ]] || break
    words+=("$word")
  done
  COMPREPLY=()
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_ingot_help "${words[@]}" |
      sed -nE 's/^  (-[a-z],)?(--[a-z][a-z-]*).*/\2/p')" -- "$current")
  elif ((${#words[@]} == COMP_CWORD)); then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -W "$(_ingot_commands "${words[@]}")" -- "$current"
      compgen -f -- "$current")
  fi
}
complete -o default -F _ingot ingot ingot-run ingot-server ingot-images
