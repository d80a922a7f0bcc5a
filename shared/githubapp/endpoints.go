package githubapp

import (
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

const defaultURL = "https://github.com"

// endpoints are where a GitHub is: its repositories, and its REST API.
type endpoints struct {
	web  string // without a slash at the end
	host string // and port, as in an origin
	api  string
}

// endpointsOf takes the URL of the repositories. Error: invalid.
func endpointsOf(text string) (endpoints, error) {
	if text == "" {
		text = defaultURL
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return endpoints{}, berth.FieldErrorf(berth.CodeInvalid, FieldURL, "the URL of GitHub must be https:// and a host alone, such as https://github.example.com")
	}
	host := strings.ToLower(u.Host)
	e := endpoints{web: "https://" + host, host: host, api: "https://" + host + "/api/v3"}
	if host == "github.com" || strings.HasSuffix(host, ".ghe.com") {
		e.api = "https://api." + host
	}
	return e, nil
}

// repository is one on GitHub.
type repository struct{ owner, name string }

func (r repository) String() string { return r.owner + "/" + r.name }

// key is the same for all ways to write a repository.
func (r repository) key() string { return strings.ToLower(r.String()) }

// namePattern is compiled when it is needed: most functions never do.
var namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`) })

// repositoryOf is the repository that an origin means; false for one that is not
// on this GitHub.
func (e endpoints) repositoryOf(origin string) (repository, bool) {
	u, err := url.Parse(origin)
	if err != nil || !strings.EqualFold(u.Host, e.host) || u.Scheme != "https" && u.Scheme != "http" {
		return repository{}, false
	}
	owner, name, ok := strings.Cut(strings.Trim(u.Path, "/"), "/")
	name = strings.TrimSuffix(name, ".git")
	if !ok || !namePattern().MatchString(owner) || !namePattern().MatchString(name) {
		return repository{}, false
	}
	return repository{owner, name}, true
}
