package main

import (
	"io"

	"github.com/spf13/cobra"
)

// bashWords stands behind the generated script and replaces its way to find the
// words of the command line, which fails in shells without the package
// bash-completion. Readline breaks words at = and : too; those are joined again.
const bashWords = `
__berth_init_completion()
{
    COMPREPLY=()
    words=()
    cword=0
    local i word rest=${COMP_LINE}
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        if [[ ${#words[@]} -gt 0 && ${rest} != [[:space:]]* ]]; then
            words[${#words[@]}-1]+=${word}
        else
            words+=("${word}")
        fi
        rest=${rest#"${rest%%[![:space:]]*}"}
        rest=${rest#"${word}"}
        if ((i == COMP_CWORD)); then
            cword=$((${#words[@]} - 1))
        fi
    done
    cur=${words[cword]}
    prev=${words[cword > 0 ? cword - 1 : 0]}
}
`

func bashCompletion(root *cobra.Command, w io.Writer) error {
	if err := root.GenBashCompletionV2(w, true); err != nil {
		return err
	}
	_, err := io.WriteString(w, bashWords)
	return err
}
