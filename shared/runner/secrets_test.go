package runner_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func (b *bench) secret(name, value string, kind berth.SecretType) {
	b.t.Helper()
	if err := b.secrets.Put(b.t.Context(), berth.UserSecret(name), berth.NewSecretValue([]byte(value))); err != nil {
		b.t.Fatal(err)
	}
	if _, _, err := b.records.PutSecret(b.t.Context(), berth.Secret{Name: name, Type: kind}, false); err != nil {
		b.t.Fatal(err)
	}
}

func TestSecretsAreResolvedAtTheStartAndHandedOverForMasking(t *testing.T) {
	t.Parallel()
	b := newBench(t, berth.SystemClock{})
	b.secret("TOKEN", "canary-value", berth.SecretToken)
	started := make(chan berth.CommandSpec, 1)
	b.provider.Programs["look"] = func(p *runnertest.Process) int { started <- p.Spec; return 0 }
	def := definition("look")
	def.Environment.Env = map[string]string{"AUTH": "Bearer {{ secrets.TOKEN }}"}
	run := b.ended(b.create(def))
	spec := <-started
	if spec.Env["AUTH"] != "Bearer canary-value" {
		t.Errorf("AUTH = %q", spec.Env["AUTH"])
	}
	if len(spec.Mask) != 1 || string(spec.Mask[0].Reveal()) != "canary-value" {
		t.Errorf("%d values are masked", len(spec.Mask))
	}
	recorded, err := json.Marshal([]any{run, b.events(run.ID)})
	if err != nil || strings.Contains(string(recorded), "canary") {
		t.Errorf("the record has the secret: %s, %v", recorded, err)
	}
}

func TestARunWhoseSecretIsNotThereFailsBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*bench){
		"missing": func(*bench) {},
		"deleted since the run was admitted": func(b *bench) {
			b.secret("TOKEN", "canary-value", berth.SecretToken)
			b.provider.Provisioned = func(berth.SandboxSpec, int, *berth.SandboxState) {
				if err := b.secrets.Delete(context.Background(), berth.UserSecret("TOKEN")); err != nil {
					b.t.Error(err)
				}
				if err := b.records.DeleteSecret(context.Background(), "TOKEN"); err != nil && berth.CodeOf(err) != berth.CodeNotFound {
					b.t.Error(err)
				}
			}
		},
		"a file": func(b *bench) { b.secret("TOKEN", "canary-value", berth.SecretFile) },
		"metadata without value": func(b *bench) {
			b.secret("TOKEN", "x", berth.SecretToken)
			_ = b.secrets.Delete(b.t.Context(), berth.UserSecret("TOKEN"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, berth.SystemClock{})
			set(b)
			def := definition("true")
			def.Environment.Env = map[string]string{"AUTH": "{{ secrets.TOKEN }}"}
			run := b.ended(b.create(def))
			if run.Status != berth.RunFailed || run.Reason.Code != berth.ReasonSecretUnavailable || !strings.Contains(run.Reason.Message, "TOKEN") || run.Reason.Remediation == "" {
				t.Errorf("run ended %s because of %+v", run.Status, run.Reason)
			}
			if n := b.provider.Calls("StartCommand"); n != 0 {
				t.Errorf("%d commands were started", n)
			}
		})
	}
}
