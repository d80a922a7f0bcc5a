package agentapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{server: s, w: w, r: r, id: s.config.IDs.NewID(), began: s.config.Clock.Now()}
	defer x.finish()
	w.Header().Set(RequestHeader, x.id)
	w.Header().Set("Cache-Control", "no-store")
	if r.URL.Path == StreamPath && r.Method == http.MethodGet {
		x.serveStream()
		return
	}
	if err := x.enter(); err != nil {
		x.fail(err)
		return
	}
	s.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

type exchangeKey struct{}

// exchangeOf finds what ServeHTTP has put into the request.
func exchangeOf(r *http.Request) *exchange { return r.Context().Value(exchangeKey{}).(*exchange) }

// enter lets in who has the token and belongs to the installation. Nothing of
// the body has been read before it does.
func (x *exchange) enter() error {
	if err := x.authenticate(); err != nil {
		return err
	}
	if path := x.r.URL.EscapedPath(); !plainPath(path) {
		return errNoSuchPath // the mux would redirect it
	}
	owner, err := x.server.ownedBy(x.r.Context(), berth.InstallationID(x.r.Header.Get(InstallationHeader)))
	x.owner = owner
	return err
}

func (x *exchange) authenticate() error {
	token, found := strings.CutPrefix(x.r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(token))
	if found && subtle.ConstantTimeCompare(sum[:], x.server.token[:]) == 1 {
		return nil
	}
	return &berth.Error{
		Code: berth.CodeUnauthenticated, Message: "the host agent does not know this token",
		Remediation: "Give the server the token from the agent's token file (--agent-token-file).",
	}
}

func plainPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") && !strings.Contains(path+"/", "/./") && !strings.Contains(path+"/", "/../")
}

// errNoSuchPath is not not_found: to a client of another version it would say
// that a sandbox or a command is gone.
var errNoSuchPath = &berth.Error{
	Code: berth.CodeUnsupported, Message: "the host agent's API has no such path, or not with this method",
	Remediation: "Bring berth-agent on the host to the version of the server.",
}

// unknown answers what no route matches.
func unknown(_ http.ResponseWriter, r *http.Request) { exchangeOf(r).fail(errNoSuchPath) }

// ownedBy returns the agent's providers if it belongs to the caller's
// installation.
func (s *Server) ownedBy(ctx context.Context, caller berth.InstallationID) (*owner, error) {
	if _, err := berth.ParseSlug("the installation that calls", string(caller)); err != nil {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "header."+InstallationHeader, "%s", err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == nil {
		providers, err := s.config.Adopt(ctx, caller)
		if err != nil {
			return nil, berth.Wrap(err, "opening the providers for the installation that called first")
		}
		s.owner = &owner{caller, providers}
		s.config.Logger.Info("belongs to an installation", "installation", string(caller))
	}
	if s.owner.installation != caller {
		return nil, &berth.Error{
			Code: berth.CodeForbidden, Message: "this host agent belongs to another installation, " + string(s.owner.installation),
			Remediation: "Run an agent with a data folder of its own for each installation.",
		}
	}
	return s.owner, nil
}

// provider returns one of the owner's; not_found when the agent does not serve
// its kind.
func (o *owner) provider(kind berth.ProviderKind) (berth.Provider, error) {
	if p := o.providers[kind]; p != nil {
		return p, nil
	}
	var kinds []string
	for _, k := range o.kinds() {
		kinds = append(kinds, string(k))
	}
	return nil, &berth.Error{
		Code: berth.CodeUnsupported, Field: "provider", Message: "the host agent does not serve this provider, only " + strings.Join(kinds, ", "),
		Remediation: "Switch it on where berth-agent is started, or take another one with --agent-provider.",
	}
}

// kinds is in the order of documents.
func (o *owner) kinds() []berth.ProviderKind {
	var kinds []berth.ProviderKind
	for _, kind := range berth.ProviderKinds {
		if o.providers[kind] != nil {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
