package sprites

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// ownName is the name of the sprite that is made for a sandbox. Installations of
// one account do not meet.
func (p *Provider) ownName(id berth.SandboxID) string {
	sum := sha256.Sum256([]byte(p.config.Installation))
	return "berth-" + hex.EncodeToString(sum[:4]) + "-" + string(id)
}

// nameOf is the sprite of a sandbox.
func (p *Provider) nameOf(ref berth.SandboxRef) string {
	if ref.Ref != "" {
		return ref.Ref
	}
	return p.ownName(ref.ID)
}

const labelPrefix = "berth-sandbox="

// mark is the label by which a sandbox is found on a sprite. Neither part has a dot
// in it.
func (p *Provider) mark(id berth.SandboxID, run berth.RunID) string {
	return labelPrefix + strings.Join([]string{string(p.config.Installation), string(id), string(run)}, ".")
}

// marked is what a label says: which sandbox of this installation is on a sprite.
func (p *Provider) marked(label string) (id berth.SandboxID, run berth.RunID, ok bool) {
	rest, ok := strings.CutPrefix(label, labelPrefix)
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 3 || parts[0] != string(p.config.Installation) || !berth.IsULID(parts[1]) {
		return "", "", false
	}
	return berth.SandboxID(parts[1]), berth.RunID(parts[2]), true
}

// runOn finds a sandbox among a sprite's labels.
func (p *Provider) runOn(labels []string, id berth.SandboxID) (berth.RunID, bool) {
	for _, label := range labels {
		if on, run, ok := p.marked(label); ok && on == id {
			return run, true
		}
	}
	return "", false
}

// without are the labels but those of a sandbox.
func (p *Provider) without(labels []string, id berth.SandboxID) []string {
	return slices.DeleteFunc(slices.Clone(labels), func(label string) bool {
		on, _, ok := p.marked(label)
		return ok && on == id
	})
}
