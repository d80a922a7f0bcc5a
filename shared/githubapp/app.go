package githubapp

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource"
)

// Config says what an App works with.
type Config struct {
	// Settings finds those of the App; nil, without an error, is that there is none.
	// It is asked again now and then, so that keys can be changed while a server runs.
	Settings func(context.Context) (*Settings, error)
	// HTTP makes the requests; one with a timeout when nil.
	HTTP *http.Client
	// Clock and Logger may be nil.
	Clock  berth.Clock
	Logger *slog.Logger
}

const (
	settingsLife   = time.Minute      // that settings are used before they are read again
	requestTimeout = 20 * time.Second // of one request
	budget         = 45 * time.Second // of all for one credential
	// renewBefore is how much of its hour a token must have left: a clone takes five
	// minutes at most.
	renewBefore = 15 * time.Minute
	// newFor is how long after it was made not every server may know a token.
	newFor = time.Minute
	// maxTokens bounds what is kept in memory; more than that are minted again.
	maxTokens = 4096
	// gitUser is the user name that goes with an installation token.
	gitUser = "x-access-token"
)

// App is a gitsource.Credentials that mints installation tokens. It may be used
// by many at once.
type App struct {
	config Config

	mu       sync.Mutex // guards what follows
	settings *Settings
	opened   *opened
	read     time.Time
	tokens   map[string]*slot // by repository
}

var _ gitsource.Credentials = (*App)(nil)

// New makes an App. It asks nothing of GitHub before it is used.
func New(c Config) *App {
	if c.Clock == nil {
		c.Clock = berth.SystemClock{}
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: requestTimeout}
	}
	client := *c.HTTP
	client.CheckRedirect = stayHere
	c.HTTP = &client
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &App{config: c, tokens: map[string]*slot{}}
}

const maxRedirects = 5

// stayHere follows a redirect on the same host over https alone: the request shows
// who asks.
func stayHere(r *http.Request, via []*http.Request) error {
	if r.URL.Scheme != "https" || r.URL.Host != via[0].URL.Host || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// slot holds the token of one repository. Who holds turn may mint.
type slot struct {
	turn  chan struct{}
	token *token
}

// FindCredential returns a token for the repository that an origin means; nil for
// one that is public, that is not on this GitHub, or when there is no App. Errors:
// not_found when the App is not installed on the repository, forbidden when it may
// not read it, unauthenticated when GitHub refuses the App, invalid for settings
// that cannot be used, rate_limited, unavailable.
func (a *App) FindCredential(ctx context.Context, origin string) (*gitsource.Credential, error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	app, err := a.open(ctx)
	if err != nil || app == nil {
		return nil, err
	}
	r, ok := app.repositoryOf(origin)
	if !ok {
		return nil, nil
	}
	g := github{a.config, app}
	public, err := g.isPublic(ctx, r)
	if err != nil || public {
		return nil, err
	}
	t, err := a.token(ctx, g, r)
	if err != nil {
		return nil, err
	}
	return &gitsource.Credential{User: gitUser, Password: t.value, New: a.config.Clock.Now().Sub(t.made) < newFor}, nil
}

// open returns the settings as they are now. Tokens of earlier ones are forgotten.
func (a *App) open(ctx context.Context) (*opened, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.config.Clock.Now()
	if !a.read.IsZero() && now.Sub(a.read) < settingsLife {
		return a.opened, nil
	}
	settings, err := a.config.Settings(ctx)
	if err != nil {
		return nil, err
	}
	if settings == nil {
		a.settings, a.opened, a.read = nil, nil, now
		clear(a.tokens)
		return nil, nil
	}
	if !settings.same(a.settings) {
		opened, err := settings.open()
		if err != nil {
			return nil, err
		}
		a.settings, a.opened = settings, opened
		clear(a.tokens)
	}
	a.read = now
	return a.opened, nil
}

func (s *Settings) same(other *Settings) bool {
	return other != nil && s.ID == other.ID && s.URL == other.URL && bytes.Equal(s.PrivateKey.Reveal(), other.PrivateKey.Reveal())
}

// token returns the repository's token, and mints one if that is needed: one
// caller at a time, for which the others wait.
func (a *App) token(ctx context.Context, g github, r repository) (*token, error) {
	a.mu.Lock()
	s := a.tokens[r.key()]
	if s == nil {
		if len(a.tokens) >= maxTokens {
			clear(a.tokens)
		}
		s = &slot{turn: make(chan struct{}, 1)}
		a.tokens[r.key()] = s
	}
	a.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, berth.Errorf(berth.CodeUnavailable, "GitHub did not answer in time about %s", r)
	}
	if s.token != nil && a.config.Clock.Now().Before(s.token.until.Add(-renewBefore)) {
		return s.token, nil
	}
	t, err := g.mint(ctx, r)
	if err != nil {
		return nil, err
	}
	s.token = t
	return t, nil
}
