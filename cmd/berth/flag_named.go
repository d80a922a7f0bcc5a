package main

import "errors"

// named is the value of a flag that chooses by name what to work with. It refuses to
// be empty: where a script's variable is not set, a command must not go to another
// server or environment without a word.
type named string

func (n *named) String() string { return string(*n) }

// Type is what pflag writes of a string: nothing but the name in the usage.
func (n *named) Type() string { return "string" }

func (n *named) Set(value string) error {
	if value == "" {
		return errors.New("is empty: give it a value, or leave the flag out")
	}
	*n = named(value)
	return nil
}
