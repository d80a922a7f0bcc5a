//go:build linux

package hostagent

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"sort"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	// maxString is the kernel's cap on one argument or NAME=value, with the NUL.
	maxString = 128 << 10
	// maxStrings leaves a part of the kernel's usual 2 MiB for what is inherited.
	maxStrings = 3 << 19
)

// checkCommand finds what could not be started before anything is. Errors:
// invalid with every problem, too_large with the name of what is.
func checkCommand(spec berth.CommandSpec) error {
	if _, err := berth.ParseCommandID(string(spec.ID)); err != nil {
		return err
	}
	var problems []berth.Problem
	refuse := func(location, message string) {
		problems = append(problems, berth.Problem{Location: location, Message: message})
	}
	if (len(spec.Argv) == 0) == (spec.Script == "") {
		refuse("argv", "exactly one of argv and script must be given")
	}
	if spec.Timeout < 0 {
		refuse("timeout", "must not be negative")
	}
	noNUL := func(location, s string) {
		if strings.ContainsRune(s, 0) {
			refuse(location, "holds a NUL byte")
		}
	}
	noNUL("script", spec.Script)
	noNUL("dir", spec.Dir)
	for i, arg := range spec.Argv {
		noNUL(fmt.Sprintf("argv[%d]", i), arg)
	}
	for _, name := range sortedNames(spec.Env) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			refuse("env", fmt.Sprintf("%q is no name of a variable: it is empty or holds = or NUL", name))
		}
		noNUL("env."+name, spec.Env[name])
	}
	if err := berth.Invalid(problems); err != nil {
		return err
	}
	return checkSizes(spec)
}

func checkSizes(spec berth.CommandSpec) error {
	total, largest, largestField := 0, 0, ""
	add := func(field string, bytes int) error {
		if bytes >= maxString {
			return &berth.Error{
				Code: berth.CodeTooLarge, Field: field, Message: fmt.Sprintf("takes %d bytes; the system's limit for one is %d", bytes, maxString-1),
				Remediation: "Put the value into a file of the workspace and pass its path.",
			}
		}
		total += bytes + 9 // NUL and pointer
		if bytes > largest {
			largest, largestField = bytes, field
		}
		return nil
	}
	if err := add("script", len(spec.Script)); err != nil {
		return err
	}
	for i, arg := range spec.Argv {
		if err := add(fmt.Sprintf("argv[%d]", i), len(arg)); err != nil {
			return err
		}
	}
	for _, name := range sortedNames(spec.Env) {
		if err := add("env."+name, len(name)+1+len(spec.Env[name])); err != nil {
			return err
		}
	}
	if total > maxStrings {
		return berth.FieldErrorf(berth.CodeTooLarge, largestField, "is the largest of arguments and environment that take %d bytes; the limit for all is %d", total, maxStrings)
	}
	return nil
}

func sortedNames(env map[string]string) []string {
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// hashOf identifies what was asked for. Environment and secrets are left out: a
// hash of a secret must not be kept, and a repeated start may have newer ones.
func hashOf(spec berth.CommandSpec) string {
	b, err := json.Marshal([][]byte{fmt.Append(nil, len(spec.Argv)), []byte(spec.Script), []byte(spec.Dir), fmt.Append(nil, spec.Stdin)})
	if err != nil {
		panic(err) // bytes always encode
	}
	h := fnv.New128a() // to notice mistakes: nobody gains by two commands of one hash
	h.Write(b)
	for _, arg := range spec.Argv {
		fmt.Fprintf(h, "%d:%s", len(arg), arg)
	}
	return hex.EncodeToString(h.Sum(nil))
}
