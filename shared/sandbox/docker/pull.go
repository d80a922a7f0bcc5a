//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/registryauth"
)

// pull fetches an image and tells how far it is. reason is set when it cannot be
// had; err when it is not known.
func (b *box) pull(ctx context.Context, image string) (*berth.Reason, error) {
	config := b.provider.config
	b.setDetail("pulling " + image)
	options, err := b.provider.pullOptions(ctx, image)
	if err != nil {
		return nil, berth.Wrap(err, "finding the registry's credentials")
	}
	whole, cancel := context.WithTimeoutCause(ctx, config.PullTimeout, fmt.Errorf("it took longer than %s", config.PullTimeout))
	defer cancel()
	whole, heard, stop := whileHeard(whole, config.PullStall)
	defer stop()
	err = b.receive(whole, image, options, heard)
	b.setDetail("")
	switch {
	case err == nil:
		return nil, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case whole.Err() != nil:
		return imageReason(
			fmt.Sprintf("the image %s could not be pulled: %s", image, context.Cause(whole)),
			"Check the server's way to the registry, or pull the image by hand: docker pull "+image+".",
		), nil
	case berth.CodeOf(err) == berth.CodeUnavailable:
		return nil, err
	}
	arch, archErr := b.provider.engine.architecture(ctx)
	if archErr != nil {
		return nil, archErr
	}
	return pullReason(image, arch, options.RegistryAuth != "", err), nil
}

func (b *box) receive(ctx context.Context, image string, options client.ImagePullOptions, heard func()) error {
	stream, err := b.provider.engine.api.ImagePull(ctx, image, options)
	if err != nil {
		return engineError("", err)
	}
	defer stream.Close()
	var p progress
	for m, err := range stream.JSONMessages(ctx) {
		if err != nil {
			return engineError("", err)
		}
		heard()
		if m.Error != nil {
			return berth.Errorf(berth.CodeInternal, "%s", m.Error.Message)
		}
		if percent, ok := p.add(m); ok {
			b.setDetail(fmt.Sprintf("pulling %s: %d%%", image, percent))
		}
	}
	return nil
}

// progress adds up the layers of a pull. The part that is downloaded is told:
// unpacking takes little time beside it.
type progress struct {
	current, total map[string]int64
}

func (p *progress) add(m jsonstream.Message) (percent int64, ok bool) {
	if p.total == nil {
		p.current, p.total = map[string]int64{}, map[string]int64{}
	}
	switch {
	case m.Status == "Downloading" && m.Progress != nil && m.Progress.Total > 0:
		p.current[m.ID], p.total[m.ID] = m.Progress.Current, m.Progress.Total
	case m.Status == "Download complete":
		p.current[m.ID] = p.total[m.ID]
	default:
		return 0, false
	}
	var current, total int64
	for id := range p.total {
		current, total = current+p.current[id], total+p.total[id]
	}
	if total == 0 {
		return 0, false
	}
	return current * 100 / total, true
}

// pullOptions has the credentials of the image's registry, if there are any.
func (p *Provider) pullOptions(ctx context.Context, image string) (client.ImagePullOptions, error) {
	var options client.ImagePullOptions
	if p.config.Credentials == nil {
		return options, nil
	}
	ref, err := berth.ParseImage(image)
	if err != nil {
		return options, err
	}
	host := ref.Registry
	if host == "" {
		host = registryauth.Default
	}
	found, err := p.config.Credentials(ctx, host)
	if err != nil || found == nil {
		return options, err
	}
	options.RegistryAuth, err = authconfig.Encode(registry.AuthConfig{
		Username: found.Username, Password: string(found.Password.Reveal()), IdentityToken: string(found.IdentityToken.Reveal()), ServerAddress: host,
	})
	return options, err
}

// pullReason makes the reason of what the engine says of a pull. Registries word
// it in their own ways; their words are always shown.
func pullReason(image, arch string, authenticated bool, err error) *berth.Reason {
	var coded *berth.Error
	words := err.Error()
	if errors.As(err, &coded) {
		words = coded.Message
	}
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(strings.ToLower(words), part) {
				return true
			}
		}
		return false
	}
	message := "the image " + image + " could not be pulled: " + words
	switch {
	case has("no matching manifest"):
		return imageReason("the image "+image+" is not there for linux/"+arch+": "+words, "Choose an image for linux/"+arch+", or one for several architectures.")
	case has("operating system"):
		return imageReason(message, "Choose an image for linux/"+arch+".")
	case has("unauthorized", "authentication required", "no basic auth credentials", "denied", "incorrect username or password"):
		if authenticated {
			return imageReason(message, "The registry does not take the credentials that the server has for it: check them, and that the image is spelt right.")
		}
		return imageReason(message, "Check that the image is spelt right. If it is private, give the server credentials for its registry.")
	case has("manifest unknown", "not found", "does not exist", "name unknown"):
		return imageReason(message, "Check the image's name, tag and registry.")
	case has("no space left"):
		return imageReason(message, "Free some space on the server's disk: docker system prune.")
	}
	return imageReason(message, "Check the server's way to the registry, or pull the image by hand: docker pull "+image+".")
}
