package emulator

import (
	"fmt"
	"slices"
)

// Kind is an emulator of AWS.
type Kind string

// The emulators that berth knows. LocalStack has its functions run by a plugin
// of ours, and its DynamoDB by ministack.
const (
	LocalStack Kind = "localstack"
	Ministack  Kind = "ministack"
)

// Kinds are all emulators.
func Kinds() []Kind { return []Kind{LocalStack, Ministack} }

// ParseKind reads the name of an emulator.
func ParseKind(name string) (Kind, error) {
	if kind := Kind(name); slices.Contains(Kinds(), kind) {
		return kind, nil
	}
	return "", fmt.Errorf("%q is no emulator: use one of %v", name, Kinds())
}
