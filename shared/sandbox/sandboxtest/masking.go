package sandboxtest

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func testMasking(t *testing.T, s *sandbox) {
	const multi = "first-line-of-it\n{\n\"second\":  \"line of it\"\n}"
	tests := []struct {
		name, secret, script, want string
	}{
		{"whole", "hunter2-canary", `echo "a $S b"; echo "$S" >&2`, "a *** b\n"},
		{"one byte at a time", "hunter2-canary", `for ((i=0; i<${#S}; i++)); do printf '%s' "${S:i:1}"; sleep 0.01; done; echo`, "***\n"},
		{"in two writes", "hunter2-canary", `printf '%s' "${S:0:5}"; sleep 0.3; printf '%s\n' "${S:5}"`, "***\n"},
		{"at the very end", "hunter2-canary", `printf '%s' "$S"`, "***"},
		{"one line of many", multi, `head -1 <<< "$S"; echo '{'`, "***\n{\n"},
		{"echoed unquoted", multi, `set -f; echo $S`, "***\n"},
		{"in base64", "hunter2-canary1", `printf '%s' "$S" | base64`, "***\n"},
		{"in base64 behind others", "hunter2-canary12", `printf 'a%s' "$S" | base64`, "YW***I=\n"},
		{"begun and not ended", "hunter2-canary", `echo "${S:0:8}"`, "hunter2-\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := s.run(t, berth.CommandSpec{
				Script: tt.script, Env: map[string]string{"S": tt.secret}, Mask: []berth.SecretValue{berth.NewSecretValue([]byte(tt.secret))},
			})
			if got.stdout != tt.want || strings.Contains(got.stderr, tt.secret) {
				t.Errorf("stdout %q, want %q; stderr %q", got.stdout, tt.want, got.stderr)
			}
		})
	}
	t.Run("files are never masked", func(t *testing.T) {
		t.Parallel()
		const secret = "canary-in-a-file"
		s.run(t, berth.CommandSpec{Script: `printf '%s' "$S" > kept`, Env: map[string]string{"S": secret}, Mask: []berth.SecretValue{berth.NewSecretValue([]byte(secret))}})
		data, err := s.Provider.ReadFile(ctx(t), s.ref, "kept", 0, 0, "")
		if err != nil || string(data.Data) != secret {
			t.Errorf("ReadFile = %q, %v", data.Data, err)
		}
	})
}
