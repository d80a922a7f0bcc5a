// Package serverless wires berth as Lambda functions: the same handlers, rules
// and tasks as the embedded server, over DynamoDB, S3, Secrets Manager and Step
// Functions. A function's main opens the wiring, takes from it what it serves,
// and starts.
package serverless

import (
	"regexp"
	"strconv"

	"github.com/berth-dev/berth/shared/berth"
)

// Variables are what a function is told by its environment. All functions of an
// installation have the same.
type Variables struct {
	Region string
	// Endpoint is that of every service, for emulators; empty on AWS.
	Endpoint     string
	AccessKeyID  string
	SecretKey    string
	SessionToken string

	Table        string
	Bucket       string
	StateMachine string // ARN; made by name, for the machine's tasks need it too
	Installation berth.InstallationID

	// PublicURL is the API's address as hosts and clients see it; that of each
	// request when empty.
	PublicURL string
	// DefaultEnvironment is that of runs that name none; berth.DefaultEnvironmentID
	// when empty.
	DefaultEnvironment berth.EnvironmentID
	// DaytonaURL is the base of Daytona's API; the hosted one when empty.
	DaytonaURL string
	// SpritesURL is the base of the Sprites API; the hosted one when empty.
	SpritesURL string
	// MaxLiveRuns lets further runs queue; zero is no limit.
	MaxLiveRuns int
}

// Lookup is os.LookupEnv, or what stands for it.
type Lookup func(name string) (value string, found bool)

// required are the variables without which no function starts, with what they
// name. The first three are set by Lambda itself.
var required = []struct{ name, what string }{
	{"AWS_REGION", "the region"},
	{"AWS_ACCESS_KEY_ID", "the function's credentials"},
	{"AWS_SECRET_ACCESS_KEY", "the function's credentials"},
	{"BERTH_TABLE", "the DynamoDB table"},
	{"BERTH_BUCKET", "the S3 bucket"},
	{"BERTH_STATE_MACHINE", "the state machine, by its ARN"},
	{"BERTH_INSTALLATION", "the installation"},
}

var installationPattern = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`)

// ReadVariables reads the environment. Error: invalid, with every variable that
// is missing or wrong by its name.
func ReadVariables(lookup Lookup) (Variables, error) {
	var p berth.Problems
	value := func(name string) string { v, _ := lookup(name); return v }
	for _, r := range required {
		if value(r.name) == "" {
			p.Addf(r.name, "is missing: the function's environment must name %s", r.what)
		}
	}
	v := Variables{
		Region: value("AWS_REGION"), Endpoint: value("AWS_ENDPOINT_URL"), AccessKeyID: value("AWS_ACCESS_KEY_ID"),
		SecretKey: value("AWS_SECRET_ACCESS_KEY"), SessionToken: value("AWS_SESSION_TOKEN"),
		Table: value("BERTH_TABLE"), Bucket: value("BERTH_BUCKET"), StateMachine: value("BERTH_STATE_MACHINE"),
		Installation: berth.InstallationID(value("BERTH_INSTALLATION")), PublicURL: value("BERTH_PUBLIC_URL"),
		DefaultEnvironment: berth.EnvironmentID(value("BERTH_DEFAULT_ENVIRONMENT")), DaytonaURL: value("BERTH_DAYTONA_URL"),
		SpritesURL: value("BERTH_SPRITES_URL"),
	}
	if v.Installation != "" && !installationPattern.MatchString(string(v.Installation)) {
		p.Addf("BERTH_INSTALLATION", "must be 1 to 63 lower-case letters, digits and dashes: it is part of the secrets' names")
	}
	if text := value("BERTH_MAX_LIVE_RUNS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			p.Addf("BERTH_MAX_LIVE_RUNS", "must be a number of runs, 0 or more; 0 is no limit")
		}
		v.MaxLiveRuns = n
	}
	return v, berth.Invalid(p.List())
}
