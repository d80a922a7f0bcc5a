package sandboxtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func testLimits(t *testing.T, s *sandbox) {
	tests := []struct {
		name  string
		spec  berth.CommandSpec
		code  berth.Code
		field string
	}{
		{"neither argv nor script", berth.CommandSpec{}, berth.CodeInvalid, "argv"},
		{"both argv and script", berth.CommandSpec{Argv: []string{"true"}, Script: "true"}, berth.CodeInvalid, "argv"},
		{"a NUL in an argument", berth.CommandSpec{Argv: []string{"echo", "a\x00b"}}, berth.CodeInvalid, "argv[1]"},
		{"a NUL in the script", berth.CommandSpec{Script: "echo \x00"}, berth.CodeInvalid, "script"},
		{"a NUL in the directory", berth.CommandSpec{Script: "true", Dir: "a\x00"}, berth.CodeInvalid, "dir"},
		{"a variable's name with =", berth.CommandSpec{Script: "true", Env: map[string]string{"A=B": "c"}}, berth.CodeInvalid, "env"},
		{"a variable's name with NUL", berth.CommandSpec{Script: "true", Env: map[string]string{"A\x00": "c"}}, berth.CodeInvalid, "env"},
		{"a variable without a name", berth.CommandSpec{Script: "true", Env: map[string]string{"": "c"}}, berth.CodeInvalid, "env"},
		{"a NUL in a value", berth.CommandSpec{Script: "true", Env: map[string]string{"A": "c\x00"}}, berth.CodeInvalid, "env.A"},
		{"a negative timeout", berth.CommandSpec{Script: "true", Timeout: -1}, berth.CodeInvalid, "timeout"},
		{"a value over the exec limit", berth.CommandSpec{Script: "true", Env: map[string]string{"SMALL": "x", "BIG": strings.Repeat("x", 128<<10)}}, berth.CodeTooLarge, "env.BIG"},
		{"an argument over the exec limit", berth.CommandSpec{Argv: []string{"echo", strings.Repeat("x", 128<<10)}}, berth.CodeTooLarge, "argv[1]"},
		{"a script over the exec limit", berth.CommandSpec{Script: strings.Repeat("#", 128<<10)}, berth.CodeTooLarge, "script"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.spec.ID = s.newID()
			err := s.Provider.StartCommand(ctx(t), s.ref, tt.spec)
			var e *berth.Error
			if !errors.As(err, &e) || e.Code != tt.code || e.Field != tt.field {
				t.Fatalf("StartCommand: %v, want %s at %s", err, tt.code, tt.field)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("the error repeats the value")
			}
			_, err = s.Provider.DescribeCommand(ctx(t), s.ref, tt.spec.ID)
			wantCode(t, "DescribeCommand", err, berth.CodeNotFound)
		})
	}
	t.Run("a value at the exec limit passes", func(t *testing.T) {
		t.Parallel()
		value := strings.Repeat("x", 128<<10-1-len("A=")) // and the NUL at its end
		got := s.run(t, berth.CommandSpec{Script: `echo ${#A}`, Env: map[string]string{"A": value}})
		if got.stdout != "131069\n" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("large values together are refused with the largest's name", func(t *testing.T) {
		t.Parallel()
		env := map[string]string{}
		for i := range 40 {
			env["V"+strings.Repeat("x", i)] = strings.Repeat("x", 100<<10+i)
		}
		err := s.Provider.StartCommand(ctx(t), s.ref, berth.CommandSpec{ID: s.newID(), Script: "true", Env: env})
		var e *berth.Error
		if !errors.As(err, &e) || e.Code != berth.CodeTooLarge || e.Field != "env.V"+strings.Repeat("x", 39) {
			t.Errorf("StartCommand: %.200v", err)
		}
	})
}
