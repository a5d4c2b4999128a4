# Completion of the program cuvet for bash: verbs, the options in the usage of a verb, files.
_cuvet() {
    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} i
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(cuvet help verbs 2>/dev/null)" -- "$word")
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        [ "${COMP_WORDS[i]}" = -- ] && {
            _command_offset $((i + 1)) 2>/dev/null
            return
        }
    done
    if [ "$verb" = help ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(cuvet help pages 2>/dev/null)" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(cuvet "$verb" --help 2>&1 |
            grep -oE -- '--[a-z][a-z_-]+' | grep -v _ | sort -u)" -- "$word")
    fi
}
complete -o default -o bashdefault -F _cuvet cuvet
