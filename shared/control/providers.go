package control

import (
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner"
)

// Providers are the ones that are on, by kind.
type Providers map[berth.ProviderKind]berth.Provider

var _ runner.Providers = Providers{}

// NewProviders registers providers under their kinds.
func NewProviders(all ...berth.Provider) Providers {
	p := Providers{}
	for _, provider := range all {
		p[provider.Kind()] = provider
	}
	return p
}

// off stands for a provider that could not be switched on, with why.
type off struct {
	berth.Provider
	kind berth.ProviderKind
	why  string
}

func (o off) Kind() berth.ProviderKind { return o.kind }

// Off is a provider that is off for a reason that people should be told.
func Off(kind berth.ProviderKind, why string) berth.Provider { return off{kind: kind, why: why} }

// switched is a provider that goes on and off by itself, such as one whose hosts
// come and go. Off says why it is off; empty when it is on.
type switched interface {
	berth.Provider
	Off() string
}

// Opened returns what of Off and Late is on now, or why nothing is.
func Opened(provider berth.Provider) (opened berth.Provider, why string) {
	switch p := provider.(type) {
	case off:
		return nil, p.why
	case *late:
		return p.find()
	}
	return provider, ""
}

// switchOn says how each provider is turned on.
var switchOn = map[berth.ProviderKind]string{
	berth.ProviderLocal:   "It runs commands on the server itself. Switch it on with berth serve --allow-local.",
	berth.ProviderDocker:  "Switch it on by starting Docker on the server, or by adding a host: berth host add.",
	berth.ProviderDaytona: "Switch it on by giving the server a Daytona API key.",
	berth.ProviderSSH:     "Switch it on by giving the server an SSH key.",
	berth.ProviderExe:     "Switch it on by giving the server an SSH key that exe.dev knows.",
	berth.ProviderSprites: "Switch it on by giving the server a Sprites token.",
}

// Find returns unsupported, with what to do, for a provider that is off.
func (p Providers) Find(kind berth.ProviderKind) (berth.Provider, error) {
	message := "provider " + string(kind) + " is disabled on this server"
	switch provider := p[kind].(type) {
	case nil:
	case off:
		message += ": " + provider.why
	case *late:
		opened, why := provider.find()
		if opened != nil {
			return opened, nil
		}
		message += ": " + why
	case switched:
		why := provider.Off()
		if why == "" {
			return provider, nil
		}
		message += ": " + why
	default:
		return provider, nil
	}
	return nil, &berth.Error{Code: berth.CodeUnsupported, Field: "provider", Message: message, Remediation: switchOn[kind]}
}

// Reasons says why providers are off, of those that could not be switched on.
func (p Providers) Reasons() map[berth.ProviderKind]string {
	reasons := map[berth.ProviderKind]string{}
	for kind, provider := range p {
		switch provider := provider.(type) {
		case off:
			reasons[kind] = provider.why
		case *late:
			if opened, why := provider.find(); opened == nil {
				reasons[kind] = why
			}
		case switched:
			if why := provider.Off(); why != "" {
				reasons[kind] = why
			}
		}
	}
	return reasons
}

// All returns the providers that are on, in the order of documents.
func (p Providers) All() []berth.Provider {
	var all []berth.Provider
	for _, kind := range berth.ProviderKinds {
		if provider, err := p.Find(kind); err == nil {
			all = append(all, provider)
		}
	}
	return all
}

// Kinds returns which are on, in the order of documents.
func (p Providers) Kinds() []berth.ProviderKind {
	var kinds []berth.ProviderKind
	for _, provider := range p.All() {
		kinds = append(kinds, provider.Kind())
	}
	return kinds
}
