package sprites

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritesapi"
)

// runTries is how often a script of berth's own is run whose end was not told. Each
// does the same however often it runs.
const runTries = 3

func (p *Provider) run(ctx context.Context, sprite, script string) (r spritesapi.Result, err error) {
	for range runTries {
		r, err = p.api.Run(ctx, sprite, bash, "-c", script)
		if berth.CodeOf(err) != berth.CodeUnavailable || ctx.Err() != nil {
			return r, err
		}
	}
	return r, err
}

// architectures are Go's words for those of uname.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}

// equip puts the guest into the sandbox's folder and returns the home. A reason
// says why the sprite cannot be used.
func (p *Provider) equip(ctx context.Context, pl plan) (home string, reason *berth.Reason, err error) {
	looked, err := p.run(ctx, pl.name, folder(pl.spec.ID)+`mkdir -p -m 700 "${d%/*}" "$d" || exit 1
uname -m
if [ -x "$d/berth-guest" ]; then sha256sum <"$d/berth-guest"; else echo none; fi
printf %s "$HOME"`)
	if err != nil {
		return "", nil, err
	}
	arch, rest, _ := strings.Cut(looked.Stdout, "\n")
	there, home, _ := strings.Cut(rest, "\n")
	switch {
	case looked.Code == 126 || looked.Code == 127:
		return "", &berth.Reason{
			Code: berth.ReasonBashMissing, Message: "sprite " + pl.name + " has no " + bash + " that works", Remediation: "Install bash in the sprite.",
		}, nil
	case looked.Code != 0 || !strings.HasPrefix(home, "/"):
		return "", nil, berth.Errorf(berth.CodeUnavailable, "its home cannot be used: %s", looked.Stderr)
	case architectures[arch] == "":
		return "", nil, berth.Errorf(berth.CodeUnsupported, "there is no guest for its architecture %q", arch)
	}
	guest, err := p.config.Guest(architectures[arch])
	if err != nil {
		return "", nil, err
	}
	sum := sha256.Sum256(guest)
	want := hex.EncodeToString(sum[:])
	if strings.HasPrefix(there, want) {
		return home, nil, nil
	}
	return home, nil, p.upload(ctx, pl, home, guest, want)
}

// upload writes the guest beside its place and moves it there when it is whole.
func (p *Provider) upload(ctx context.Context, pl plan, home string, guest []byte, sum string) error {
	name := "berth-guest." + strings.ToLower(rand.Text())
	if err := p.api.Write(ctx, pl.name, home+"/.berth/"+string(pl.spec.ID)+"/"+name, guest, "0755"); err != nil {
		return berth.Wrap(err, "writing the guest")
	}
	r, err := p.run(ctx, pl.name, folder(pl.spec.ID)+`f="$d/`+name+`"
if [ -e "$f" ]; then
	[ "$(sha256sum <"$f" | cut -c 1-64)" = `+sum+` ] || { rm -f "$f"; echo "it did not arrive whole" >&2; exit 1; }
	chmod 755 "$f" && mv -f "$f" "$d/berth-guest" || exit 1
fi
exec "$d/berth-guest" works`)
	switch {
	case err != nil:
		return err
	case r.Code != 0:
		return berth.Errorf(berth.CodeUnavailable, "the guest does not work there: %s", r.Stderr)
	}
	return nil
}
