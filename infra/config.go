package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/constructs-go/constructs/v10"
)

// config is what the app's context says of an installation.
type config struct {
	installation string
	arch         string // arm64 or amd64
	functionsDir string // holds KIND/NAME.zip

	defaultEnvironment string
	maxLiveRuns        int
	daytonaURL         string
	spritesURL         string

	vpc     string
	subnets []string

	customerKey string // ARN, or customerKeyNew
	domain      string
	certificate string // ARN
	firewall    string // ARN, or firewallNew
	alarmEmail  string
	retainData  bool
}

// Words that a context takes in the place of an ARN.
const (
	customerKeyNew = "new"
	firewallNew    = "true"
)

// contexts are the names that the app's context knows, with what each must look
// like; what is not given is empty.
var contexts = map[string]*regexp.Regexp{
	"installation":       regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,22}[a-z0-9])?$`),
	"arch":               regexp.MustCompile(`^(arm64|amd64)$`),
	"functionsDir":       regexp.MustCompile(`.`),
	"defaultEnvironment": regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`),
	"maxLiveRuns":        regexp.MustCompile(`^[0-9]{1,6}$`),
	"daytonaURL":         regexp.MustCompile(`^https?://[^\s]+$`),
	"spritesURL":         regexp.MustCompile(`^https?://[^\s]+$`),
	"vpc":                regexp.MustCompile(`^vpc-[0-9a-f]{8,17}$`),
	"subnets":            regexp.MustCompile(`^subnet-[0-9a-f]{8,17}(,subnet-[0-9a-f]{8,17})*$`),
	"customerKey":        regexp.MustCompile(`^(new|arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+)$`),
	"domain":             regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$`),
	"certificate":        regexp.MustCompile(`^arn:[a-z-]+:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+$`),
	"waf":                regexp.MustCompile(`^(true|arn:[a-z-]+:wafv2:[a-z0-9-]+:[0-9]{12}:regional/webacl/[^/]+/[A-Za-z0-9-]+)$`),
	"alarmEmail":         regexp.MustCompile(`^[^@\s]+@[^@\s]+$`),
	"retainData":         regexp.MustCompile(`^(true|false)$`),
}

// expected says of a context what its pattern asks for.
var expected = map[string]string{
	"installation":       "1 to 24 lower-case letters, digits and dashes",
	"arch":               "arm64 or amd64",
	"functionsDir":       "a folder",
	"defaultEnvironment": "the id of an environment",
	"maxLiveRuns":        "a number of runs; 0 is no limit",
	"daytonaURL":         "the URL of an API",
	"spritesURL":         "the URL of an API",
	"vpc":                "the id of a VPC",
	"subnets":            "ids of subnets, with commas between",
	"customerKey":        "new, or the ARN of a KMS key",
	"domain":             "a domain name",
	"certificate":        "the ARN of a certificate",
	"waf":                "true, or the ARN of a regional web ACL",
	"alarmEmail":         "an e-mail address",
	"retainData":         "true or false",
}

// readConfig reads the context of the app. The error has everything that is
// wrong with it.
func readConfig(node constructs.Node) (*config, error) {
	var faults []error
	read := func(name, fallback string) string {
		value, err := plain(node.TryGetContext(text(name)))
		switch {
		case err != nil:
		case value == "":
			return fallback
		case contexts[name].MatchString(value):
			return value
		default:
			err = fmt.Errorf("%q is not %s", value, expected[name])
		}
		faults = append(faults, fmt.Errorf("context %s: %w", name, err))
		return fallback
	}
	c := &config{
		installation: read("installation", "berth"), arch: read("arch", "arm64"),
		functionsDir:       read("functionsDir", filepath.Join("..", "bin", "functions")),
		defaultEnvironment: read("defaultEnvironment", ""), vpc: read("vpc", ""), customerKey: read("customerKey", ""),
		daytonaURL: read("daytonaURL", ""), spritesURL: read("spritesURL", ""),
		domain: read("domain", ""), certificate: read("certificate", ""), firewall: read("waf", ""),
		alarmEmail: read("alarmEmail", ""), retainData: read("retainData", "true") == "true",
	}
	if list := read("subnets", ""); list != "" {
		c.subnets = strings.Split(list, ",")
	}
	var err error
	if c.maxLiveRuns, err = strconv.Atoi(read("maxLiveRuns", "0")); err != nil {
		faults = append(faults, fmt.Errorf("context maxLiveRuns: %w", err))
	}
	if (c.vpc == "") != (len(c.subnets) == 0) {
		faults = append(faults, errors.New("context vpc and subnets: give both or neither"))
	}
	if (c.domain == "") != (c.certificate == "") {
		faults = append(faults, errors.New("context domain and certificate: give both or neither"))
	}
	return c, errors.Join(append(faults, unknown(node)...)...)
}

// plain is a context's value as it is given on the command line; cdk.json also
// has numbers, booleans and lists.
func plain(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool, float64:
		return fmt.Sprint(v), nil
	case []any:
		var list []string
		for _, element := range v {
			list = append(list, fmt.Sprint(element))
		}
		return strings.Join(list, ","), nil
	}
	return "", fmt.Errorf("%v is neither a text nor a list of texts", value)
}

// own is what names of this app's contexts look like; those of the CDK have
// colons, dashes or slashes.
var own = regexp.MustCompile(`^[a-zA-Z]+$`)

// unknown finds contexts that nobody reads: a misspelt one would be passed over.
func unknown(node constructs.Node) (faults []error) {
	all, ok := node.GetAllContext(nil).(map[string]any)
	if !ok {
		return nil
	}
	for name := range all {
		if _, known := contexts[name]; !known && own.MatchString(name) {
			faults = append(faults, fmt.Errorf("context %s: there is no such context", name))
		}
	}
	return faults
}

// name is that of something of the installation.
func (c *config) name(what string) string { return "berth-" + c.installation + "-" + what }

// machineName is that of the state machine.
func (c *config) machineName() string { return c.name("runs") }
