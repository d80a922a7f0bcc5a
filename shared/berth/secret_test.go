package berth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestASecretShowsAPlaceholderInEverySink(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry-value"
	v := berth.NewSecretValue([]byte(canary))
	encoded, err := json.Marshal(map[string]any{"a": v, "b": &v, "c": []berth.SecretValue{v}})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "secret", v, "group", slog.GroupValue(slog.Any("inner", v)))
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", v)
	hidden := struct{ inner struct{ v berth.SecretValue } }{struct{ v berth.SecretValue }{v}}
	wrapped := berth.CommandSpec{Mask: []berth.SecretValue{v}}
	for _, shown := range []string{
		fmt.Sprint(v), fmt.Sprintf("%v %+v %#v %s %q %x %d", v, v, v, v, v, v, v), fmt.Sprintf("%+v", wrapped), fmt.Sprintf("%v %+v %#v %d", hidden, hidden, hidden, hidden), string(encoded), log.String(),
	} {
		if strings.Contains(shown, canary) || strings.Contains(shown, fmt.Sprintf("%x", canary)) || strings.Contains(shown, "99 52 110 52") || strings.Contains(shown, "0x63, 0x34") {
			t.Errorf("%s holds the value", shown)
		}
	}
	if string(v.Reveal()) != canary || v.Len() != len(canary) {
		t.Errorf("Reveal = %q, Len = %d", v.Reveal(), v.Len())
	}
}

func TestTheZeroSecretIsEmpty(t *testing.T) {
	t.Parallel()
	var v berth.SecretValue
	if v.Reveal() != nil || v.Len() != 0 || v.String() != "[secret]" {
		t.Errorf("the zero secret is %q of length %d", v.Reveal(), v.Len())
	}
}

func TestASecretThatCannotBeMaskedIsRefusedAndNotShown(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]berth.Code{
		"sixsix": "", "q w e r": "", "fives": berth.CodeInvalid, "": berth.CodeInvalid,
		strings.Repeat(" ", 20): berth.CodeInvalid, "\n  abc \t\n": berth.CodeInvalid,
		strings.Repeat("x", berth.MaxSecretBytes): "", strings.Repeat("x", berth.MaxSecretBytes+1): berth.CodeTooLarge,
	} {
		err := berth.CheckSecretValue([]byte(value))
		if berth.CodeOf(err) != want {
			t.Errorf("a value of %d bytes: %v, want %q", len(value), err, want)
		}
		if err != nil && len(strings.TrimSpace(value)) > 2 && strings.Contains(err.Error(), strings.TrimSpace(value)) {
			t.Errorf("the error shows the value: %v", err)
		}
	}
}
