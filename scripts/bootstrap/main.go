// Command bootstrap gives a deployment of berth on AWS its first API key, and says
// how to log in with it. It uses the profile, region and endpoint of the usual
// variables of AWS.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// patience bounds the whole command.
const patience = 2 * time.Minute

func main() {
	var o options
	flag.StringVar(&o.installation, "installation", "berth", "the `name` that the context installation had")
	flag.BoolVar(&o.force, "force", false, "make a key although there are keys with the scope admin")
	flag.BoolVar(&o.once, "once", false, "make no key, and do not fail, when there are such keys")
	flag.BoolVar(&o.json, "json", false, "print one JSON object")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bootstrap:", err)
		cancel()
		os.Exit(1)
	}
}

type options struct {
	installation      string
	force, once, json bool
}

func run(ctx context.Context, o options, out io.Writer) error {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("reading the settings of AWS: %w", err)
	}
	d := deployment{
		installation: o.installation, endpoint: os.Getenv("AWS_ENDPOINT_URL"),
		stacks: cloudformation.NewFromConfig(aws), functions: lambda.NewFromConfig(aws),
	}
	var got login
	if got.URL, err = d.address(ctx); err != nil {
		return err
	}
	if got.Key, err = d.firstKey(ctx, o.force); err != nil && (!o.once || !isConflict(err)) {
		return err
	}
	return got.print(out, o.json)
}

// login is what a client needs.
type login struct {
	URL string `json:"url"`
	Key string `json:"key,omitempty"`
}

func (l login) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(l)
	}
	text := fmt.Sprintf("API   %s\n", l.URL)
	if l.Key == "" {
		text += "key   there is one with the scope admin already; none was made\n"
	} else {
		text += fmt.Sprintf("key   %s\n\nIt is shown this once. Log in, and give the key at the prompt:\n\n  berth login %s\n", l.Key, l.URL)
	}
	_, err := io.WriteString(out, text)
	return err
}
