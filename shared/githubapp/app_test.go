package githubapp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/githubapp"
	"github.com/berth-dev/berth/shared/githubapp/githubtest"
	"github.com/berth-dev/berth/shared/gitsource"
)

// clock stands still until a test moves it. Sleeping moves it too.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept time.Duration
}

func newClock() *clock { return &clock{now: time.Now().UTC().Truncate(time.Second)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.slept += d
	c.mu.Unlock()
	c.add(d)
	return ctx.Err()
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// site is a GitHub with an App that uses it.
type site struct {
	*githubtest.Server
	*githubapp.App
	clock    *clock
	settings githubapp.Settings
	log      *strings.Builder
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Server: githubtest.Start(t, githubtest.Options{}), clock: newClock(), log: &strings.Builder{}}
	s.SetClock(s.clock.Now)
	s.settings = githubapp.Settings{ID: githubtest.AppID, PrivateKey: berth.NewSecretValue([]byte(s.Key)), URL: s.URL}
	s.App = s.open()
	return s
}

func (s *site) open() *githubapp.App {
	return githubapp.New(githubapp.Config{
		Settings: func(context.Context) (*githubapp.Settings, error) { now := s.settings; return &now, nil },
		HTTP:     s.Client(), Clock: s.clock, Logger: logTo(s.log),
	})
}

func (s *site) find(t *testing.T, path string) *gitsource.Credential {
	t.Helper()
	c, err := s.FindCredential(t.Context(), s.URL+path)
	if err != nil {
		t.Fatalf("FindCredential(%s): %v", path, err)
	}
	return c
}

func password(c *gitsource.Credential) string {
	if c == nil {
		return ""
	}
	return string(c.Password.Reveal())
}

func TestATokenReadsTheContentsOfOneRepositoryAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Add(t, githubtest.Repository{Owner: "acme", Name: "secret", Installation: 41})
	s.Add(t, githubtest.Repository{Owner: "acme", Name: "other", Installation: 41})
	c := s.find(t, "/acme/secret")
	if c == nil || c.User != "x-access-token" || !c.New {
		t.Fatalf("the credential is %+v, want a new one of x-access-token", c)
	}
	minted := s.Minted()
	if len(minted) != 1 || minted[0].Token != password(c) || minted[0].Repository != "acme/secret" {
		t.Fatalf("minted are %+v, want one for acme/secret", minted)
	}
	if diff := cmp.Diff(map[string]string{"contents": "read"}, minted[0].Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	for _, same := range []string{"/acme/secret.git", "/ACME/Secret", "/acme/secret/"} {
		if got := s.find(t, same); password(got) != minted[0].Token {
			t.Errorf("%s has another token", same)
		}
	}
	if other := s.find(t, "/acme/other"); password(other) == minted[0].Token {
		t.Error("two repositories have one token")
	}
	if text := fmt.Sprintf("%v %+v %#v", c, *c, *c) + s.log.String(); strings.Contains(text, minted[0].Token) || strings.Contains(text, "eyJ") {
		t.Errorf("a token is shown: %s", text)
	}
}

func TestWhatNeedsNoTokenGetsNone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Add(t, githubtest.Repository{Owner: "acme", Name: "open", Public: true, Installation: 41})
	s.Add(t, githubtest.Repository{Owner: "acme", Name: "moved", Public: true, Formerly: "acme/was"})
	if got := s.find(t, "/acme/open"); got != nil {
		t.Errorf("a public repository has the credential %v", got)
	}
	if got := s.find(t, "/acme/was.git"); got != nil {
		t.Errorf("a renamed public repository has the credential %v", got)
	}
	for _, origin := range []string{"https://elsewhere.example/acme/open", "git://" + strings.TrimPrefix(s.URL, "https://") + "/a/b", s.URL + "/a/b/c", s.URL + "/a", s.URL + "/a/%20"} {
		if c, err := s.FindCredential(t.Context(), origin); c != nil || err != nil {
			t.Errorf("FindCredential(%s) = %v, %v, want none", origin, c, err)
		}
	}
	if calls := s.Calls(); len(calls) > 0 {
		t.Errorf("the API was asked: %q", calls)
	}
	none := githubapp.New(githubapp.Config{Settings: func(context.Context) (*githubapp.Settings, error) { return nil, nil }})
	if c, err := none.FindCredential(t.Context(), s.URL+"/acme/secret"); c != nil || err != nil {
		t.Errorf("without an App: %v, %v", c, err)
	}
}

func TestATokenIsRenewedWhileItIsStillGoodForAClone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Add(t, githubtest.Repository{Owner: "acme", Name: "secret", Installation: 41})
	first := s.find(t, "/acme/secret")
	s.clock.add(44 * time.Minute)
	again := s.find(t, "/acme/secret")
	if password(again) != password(first) || again.New {
		t.Errorf("after 44 minutes it is another token, or new: %t", again.New)
	}
	s.clock.add(2 * time.Minute)
	if renewed := s.find(t, "/acme/secret"); password(renewed) == password(first) || !renewed.New {
		t.Error("after 46 minutes the token was not renewed")
	}
}

func TestManyAtOnceShareOneToken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Add(t, githubtest.Repository{Owner: "acme", Name: "secret", Installation: 41})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { s.find(t, "/acme/secret") })
	}
	all.Wait()
	if minted := s.Minted(); len(minted) != 1 {
		t.Errorf("%d tokens were minted", len(minted))
	}
}

func TestARenamedPrivateRepositoryIsFoundByItsID(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Add(t, githubtest.Repository{Owner: "acme", Name: "now", Formerly: "acme/was", Installation: 41})
	s.find(t, "/acme/was")
	if minted := s.Minted(); len(minted) != 1 || minted[0].Repository != "acme/now" {
		t.Errorf("minted are %+v", minted)
	}
}

func TestAnErrorSaysHowToMendIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		repository githubtest.Repository
		change     func(*site)
		code       berth.Code
		says       []string // in the message or the remediation
	}{
		"the App is not installed": {
			githubtest.Repository{},
			func(*site) {}, berth.CodeNotFound,
			[]string{"not installed on acme/secret", "/github-apps/berth-test/installations/new"},
		},
		"the installation is suspended": {
			githubtest.Repository{Installation: 41, Suspended: true},
			func(*site) {}, berth.CodeForbidden,
			[]string{"suspended", "/organizations/acme/settings/installations/41"},
		},
		"the App may not read contents": {
			githubtest.Repository{Installation: 41, Without: true},
			func(*site) {}, berth.CodeForbidden,
			[]string{"Contents: read-only", "/installations/41"},
		},
		"the clock is ahead": {
			githubtest.Repository{Installation: 41},
			func(s *site) {
				s.SetClock(func() time.Time { return s.clock.Now().Add(-5 * time.Minute) })
			},
			berth.CodeUnauthenticated,
			[]string{"5m0s ahead of", "Set the server's clock"},
		},
		"the clock is far behind": {
			githubtest.Repository{Installation: 41},
			func(s *site) {
				s.SetClock(func() time.Time { return s.clock.Now().Add(time.Hour) })
			},
			berth.CodeUnauthenticated,
			[]string{"1h0m0s behind", "Set the server's clock"},
		},
		"the id is another App's": {
			githubtest.Repository{Installation: 41},
			func(s *site) { s.settings.ID = "7" },
			berth.CodeUnauthenticated,
			[]string{"refuses the App 7", "private key"},
		},
		"the key is none": {
			githubtest.Repository{Installation: 41},
			func(s *site) { s.settings.PrivateKey = berth.NewSecretValue([]byte("hunter2-hunter2")) },
			berth.CodeInvalid,
			[]string{"no RSA key in PEM"},
		},
		"there is no id": {
			githubtest.Repository{Installation: 41},
			func(s *site) { s.settings.ID = "" },
			berth.CodeInvalid,
			[]string{"id of the GitHub App"},
		},
		"the URL is no host": {
			githubtest.Repository{Installation: 41},
			func(s *site) { s.settings.URL += "/api/v3" },
			berth.CodeInvalid,
			[]string{"a host alone"},
		},
		"the API is a page": {
			githubtest.Repository{Installation: 41},
			func(s *site) {
				s.Fail("installation", githubtest.Fault{Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>"})
			},
			berth.CodeInvalid,
			[]string{"text/html", "URL of GitHub"},
		},
		"the token is refused": {
			githubtest.Repository{Installation: 41},
			func(s *site) {
				s.Fail("tokens", githubtest.Fault{Status: 422, Body: `{"message":"The permissions requested are not granted to this installation."}`})
			},
			berth.CodeForbidden,
			[]string{"not granted", "/installations/41"},
		},
		"the rate limit lasts": {
			githubtest.Repository{Installation: 41},
			func(s *site) {
				s.Fail("tokens", githubtest.Fault{Status: 403, Header: map[string]string{"Retry-After": "3600"}, Body: `{"message":"You have exceeded a secondary rate limit."}`})
			},
			berth.CodeRateLimited,
			[]string{"secondary rate limit", "1h0m0s"},
		},
		"it stays broken": {
			githubtest.Repository{Installation: 41},
			func(s *site) {
				for range 4 {
					s.Fail("installation", githubtest.Fault{Status: 502, Header: map[string]string{"Content-Type": "text/html"}})
				}
			},
			berth.CodeUnavailable,
			[]string{"502"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			c.repository.Owner, c.repository.Name = "acme", "secret"
			s.Add(t, c.repository)
			c.change(s)
			credential, err := s.FindCredential(t.Context(), s.URL+"/acme/secret")
			if credential != nil || berth.CodeOf(err) != c.code {
				t.Fatalf("FindCredential = %v, %v; want code %s", credential, err, c.code)
			}
			text := explained(err)
			for _, words := range c.says {
				if !strings.Contains(text, words) {
					t.Errorf("%q does not say %q", text, words)
				}
			}
			if strings.Contains(text, "hunter2") || strings.Contains(text, "eyJ") || strings.Contains(text, "ghs_") {
				t.Errorf("%q shows a secret", text)
			}
		})
	}
}

func TestWhatPassesIsTriedAgain(t *testing.T) {
	t.Parallel()
	reset := fmt.Sprint(time.Now().Add(5 * time.Second).Unix())
	for name, fault := range map[string]githubtest.Fault{
		"a rate limit with Retry-After":  {Status: 429, Header: map[string]string{"Retry-After": "2"}},
		"a secondary rate limit":         {Status: 403, Header: map[string]string{"Retry-After": "1"}},
		"a primary rate limit":           {Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}},
		"a server that is being changed": {Status: 503},
		"an empty answer of a proxy":     {Status: 502, Header: map[string]string{"Content-Type": "text/html"}, Body: " "},
	} {
		for _, route := range []string{"installation", "tokens", "git"} {
			if route == "git" && fault.Status == 403 {
				continue // there, it says that one may not read
			}
			t.Run(name+" of "+route, func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				s.Add(t, githubtest.Repository{Owner: "acme", Name: "secret", Installation: 41})
				s.Fail(route, fault, fault)
				if c := s.find(t, "/acme/secret"); c == nil {
					t.Error("there is no credential")
				}
				if s.clock.slept == 0 {
					t.Error("it was tried again at once")
				}
			})
		}
	}
}

func TestClocksThatDifferByAMinuteDoNoHarm(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-time.Minute, time.Minute} {
		s := newSite(t)
		s.Add(t, githubtest.Repository{Owner: "acme", Name: "secret", Installation: 41})
		s.SetClock(func() time.Time { return s.clock.Now().Add(off) })
		if c := s.find(t, "/acme/secret"); c == nil {
			t.Errorf("with a clock that is off by %s there is no credential", off)
		}
	}
}

func TestSettingsThatChangeAreUsed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Add(t, githubtest.Repository{Owner: "acme", Name: "secret", Installation: 41})
	right := s.settings.ID
	s.settings.ID = "7"
	if _, err := s.FindCredential(t.Context(), s.URL+"/acme/secret"); berth.CodeOf(err) != berth.CodeUnauthenticated {
		t.Fatalf("with another id: %v", err)
	}
	s.settings.ID = right
	s.clock.add(2 * time.Minute)
	s.find(t, "/acme/secret")
}

func TestARedirectElsewhereIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"http://{host}/api/v3/repositories/1/installation", "https://elsewhere.example/repositories/1/installation"} {
		s := newSite(t)
		s.Add(t, githubtest.Repository{Owner: "acme", Name: "secret", Installation: 41})
		elsewhere := 0
		client := *s.Client()
		here := client.Transport
		client.Transport = transport(func(r *http.Request) (*http.Response, error) {
			if "https://"+r.URL.Host != s.URL || r.URL.Scheme != "https" {
				elsewhere++
			}
			return here.RoundTrip(r)
		})
		app := githubapp.New(githubapp.Config{
			Settings: func(context.Context) (*githubapp.Settings, error) { return &s.settings, nil }, HTTP: &client, Clock: s.clock,
		})
		to = strings.ReplaceAll(to, "{host}", strings.TrimPrefix(s.URL, "https://"))
		s.Fail("installation", githubtest.Fault{Status: http.StatusMovedPermanently, Header: map[string]string{"Location": to}})
		if c, err := app.FindCredential(t.Context(), s.URL+"/acme/secret"); c != nil || berth.CodeOf(err) != berth.CodeUnavailable || elsewhere > 0 {
			t.Errorf("redirected to %s: %v, %v, with %d requests there", to, c, err, elsewhere)
		}
	}
}
