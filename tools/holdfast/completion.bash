# shellcheck shell=bash
# Completion of `holdfast` for bash (and zsh, after bashcompinit). What there is to complete, the
# program's own help says.

# Words of a list that begin as the current one does.
_holdfast_offer() {
    local word
    for word in $1; do
        [[ $word == "$2"* ]] && COMPREPLY+=("$word")
    done
}

_holdfast_verbs() {
    "$1" --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p'
}

_holdfast_options() {
    "$1" "$2" --help 2>/dev/null | sed -n 's/^  [-a-zA-Z,]*\(--[a-z-]*\).*/\1/p'
}

_holdfast() {
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _holdfast_offer "$(_holdfast_verbs "$program") help" "$current"
    elif [[ $verb == help ]]; then
        _holdfast_offer "$(_holdfast_verbs "$program")" "$current"
    elif [[ $current == -* ]]; then
        _holdfast_offer "$(_holdfast_options "$program" "$verb")" "$current"
    fi
}

# Whatever it has nothing to say of is a file's name.
complete -o default -F _holdfast holdfast
