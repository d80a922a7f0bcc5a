package berth

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"
)

// SecretValue is a secret's plain bytes. Every form in which fmt, encoding/json
// and log/slog show it is a placeholder; only Reveal gives the value. The bytes
// are behind a pointer, as fmt prints unexported fields of other structs without
// asking their methods.
type SecretValue struct{ value *[]byte }

const secretPlaceholder = "[secret]"

// NewSecretValue takes the bytes of a secret; they are not copied.
func NewSecretValue(b []byte) SecretValue { return SecretValue{&b} }

// Reveal returns the plain bytes. It is the only way to them.
func (s SecretValue) Reveal() []byte {
	if s.value == nil {
		return nil
	}
	return *s.value
}

// Len is the value's length in bytes.
func (s SecretValue) Len() int { return len(s.Reveal()) }

// Format prints the placeholder for every verb, also for %d and %x.
func (SecretValue) Format(w fmt.State, _ rune)   { _, _ = io.WriteString(w, secretPlaceholder) }
func (SecretValue) String() string               { return secretPlaceholder }
func (SecretValue) GoString() string             { return secretPlaceholder }
func (SecretValue) MarshalJSON() ([]byte, error) { return []byte(`"` + secretPlaceholder + `"`), nil }
func (SecretValue) MarshalText() ([]byte, error) { return []byte(secretPlaceholder), nil }

// SecretType says what a secret's value is.
type SecretType string

// Only tokens may be referred to in environment variables; a file is placed at
// its path by those who ask for it.
const (
	SecretToken SecretType = "token"
	SecretFile  SecretType = "file"
)

// MinSecretBytes is the shortest value that secret set takes: shorter ones
// cannot be masked without masking ordinary text.
const MinSecretBytes = 6

// CheckSecretValue refuses a value that could not be masked or stored. White
// space at its ends does not count, as it cannot be masked. It never shows the
// value. Errors: invalid, too_large.
func CheckSecretValue(value []byte) error {
	switch {
	case len(bytes.TrimSpace(value)) < MinSecretBytes:
		return Errorf(CodeInvalid, "is shorter than %d bytes, without white space at its ends: it could not be masked without masking ordinary text", MinSecretBytes)
	case len(value) > MaxSecretBytes:
		return Errorf(CodeTooLarge, "is longer than %d KiB", MaxSecretBytes/1024)
	}
	return nil
}

// MaxSecretBytes is the cap of Secrets Manager on a value.
const MaxSecretBytes = 64 * 1024

// Secret is the metadata of a stored secret. A value never comes back.
type Secret struct {
	Name        string     `json:"name"`
	Type        SecretType `json:"type" enum:"token,file"`
	Description string     `json:"description"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
}

// Secrets is the port to the store of secret values. Names have a scope and a
// name, `user/NAME` or `provider/NAME`; the adapter puts the installation in
// front. Delete is final at once; a name may be set again after it.
//
// Errors: not_found from Read (Delete of an absent secret is no error),
// too_large above MaxSecretBytes, unavailable when the store does not answer.
type Secrets interface {
	Put(ctx context.Context, name string, value SecretValue) error
	Read(ctx context.Context, name string) (SecretValue, error)
	Delete(ctx context.Context, name string) error
}

// UserSecret is the name in the store of a secret that users refer to.
func UserSecret(name string) string { return "user/" + name }
