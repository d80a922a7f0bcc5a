//go:build linux

package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// imageInfo is what of an image matters to a container.
type imageInfo struct {
	os, arch string // in Go's words
	user     string // who its commands run as
	setsHome bool   // its environment has HOME
}

// reference is how the engine is asked for an image. A digest says all: engines
// do not look up a tag beside it.
func reference(image string) (berth.ImageRef, string, error) {
	ref, err := berth.ParseImage(image)
	if err != nil {
		return ref, "", berth.Wrap(err, "image.docker")
	}
	named := ref
	if named.Digest != "" {
		named.Tag = ""
	}
	return ref, named.String(), nil
}

func (e *engine) inspectImage(ctx context.Context, name string) (info imageInfo, err error) {
	err = e.call(ctx, "looking at the image", func(ctx context.Context) error {
		found, err := e.api.ImageInspect(ctx, name)
		if err != nil {
			return err
		}
		info = imageInfo{os: found.Os, arch: found.Architecture}
		if found.Config != nil {
			info.user = found.Config.User
			for _, entry := range found.Config.Env {
				info.setsHome = info.setsHome || strings.HasPrefix(entry, "HOME=")
			}
		}
		return nil
	})
	return info, err
}

// findImage looks the image up and pulls it when it is missing. reason is set
// when the image is at fault.
func (b *box) findImage(ctx context.Context, p plan) (info imageInfo, reason *berth.Reason, err error) {
	e := b.provider.engine
	info, err = e.inspectImage(ctx, p.image)
	if berth.CodeOf(err) == berth.CodeNotFound {
		if o := p.spec.Environment.Docker; o != nil && o.AutoPull != nil && !*o.AutoPull {
			return info, imageReason(
				"the image "+p.image+" is not on the server, and docker.auto_pull is false",
				"Pull it on the server (docker pull "+p.image+"), or set docker.auto_pull = true.",
			), nil
		}
		if reason, err = b.pull(ctx, p.image); reason != nil || err != nil {
			return info, reason, err
		}
		info, err = e.inspectImage(ctx, p.image)
		if berth.CodeOf(err) == berth.CodeNotFound { // the engine ended in the middle, without a word
			err = berth.Errorf(berth.CodeUnavailable, "the pull of %s was cut short", p.image)
		}
	}
	if err != nil {
		return info, nil, err
	}
	arch, err := e.architecture(ctx)
	if err != nil {
		return info, nil, err
	}
	return info, fits(info, p.image, arch), nil
}

// fits says why an image cannot run here.
func fits(info imageInfo, name, arch string) *berth.Reason {
	switch {
	case info.os != "linux":
		return imageReason(fmt.Sprintf("the image %s is for %s, and sandboxes are linux", name, info.os), "Choose an image for linux.")
	case info.arch != arch:
		return imageReason(
			fmt.Sprintf("the image %s is for %s, and the engine runs %s", name, info.arch, arch),
			"Choose an image for linux/"+arch+", or one for several architectures; remove the one that was pulled: docker image rm "+name+".",
		)
	}
	return nil
}

func imageReason(message, remediation string) *berth.Reason {
	return &berth.Reason{Code: berth.ReasonProvisionFailed, Message: message, Remediation: remediation}
}
