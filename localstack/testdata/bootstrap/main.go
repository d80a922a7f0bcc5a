// Command bootstrap is a function that behaves as its event says. Its start
// behaves as the variable INIT says.
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Event is what to do.
type Event struct {
	Do    string `json:"do"`
	Bytes int    `json:"bytes"`
	// Seconds to sleep, before all else.
	Seconds float64 `json:"seconds"`
	Text    string  `json:"text"`

	// Of an authorizer, and of the gateway.
	Token   string `json:"authorizationToken"`
	Method  string `json:"httpMethod"`
	Path    string `json:"path"`
	Context struct {
		Authorizer map[string]any `json:"authorizer"`
	} `json:"requestContext"`
}

// Reply tells about the process that answers.
type Reply struct {
	PID       int               `json:"pid"`
	Calls     int               `json:"calls"`
	Request   string            `json:"request"`
	Remaining float64           `json:"remaining"`
	Folder    string            `json:"folder"`
	Variables map[string]string `json:"variables"`
	Child     int               `json:"child"`
	Text      string            `json:"text"`
}

var calls int

func handle(ctx context.Context, event Event) (any, error) {
	switch {
	case event.Token != "":
		return authorize(event.Token)
	case event.Method != "":
		return answer(event)
	}
	return act(ctx, event)
}

// authorize knows those who say what it is to say.
func authorize(token string) (any, error) {
	effect := map[string]string{"allow": "Allow", "deny": "Deny"}[token]
	if effect == "" {
		return nil, errors.New("Unauthorized")
	}
	return map[string]any{
		"principalId": "somebody", "context": map[string]any{"scope": "read"},
		"policyDocument": map[string]any{"Version": "2012-10-17", "Statement": []any{
			map[string]any{"Action": "execute-api:Invoke", "Effect": effect, "Resource": "*"},
		}},
	}, nil
}

// answer is that of an operation behind the gateway: bytes that are no text.
func answer(event Event) (any, error) {
	if strings.HasSuffix(event.Path, "/slow") {
		time.Sleep(20 * time.Second)
	}
	body := fmt.Sprintf("\xff%s %v %v", event.Path, event.Context.Authorizer["principalId"], event.Context.Authorizer["scope"])
	return map[string]any{"statusCode": 200, "isBase64Encoded": true, "body": base64.StdEncoding.EncodeToString([]byte(body))}, nil
}

func act(ctx context.Context, event Event) (any, error) {
	calls++
	deadline, _ := ctx.Deadline()
	reply := Reply{PID: os.Getpid(), Calls: calls, Remaining: time.Until(deadline).Seconds(), Folder: os.TempDir()}
	if call, ok := lambdacontext.FromContext(ctx); ok {
		reply.Request = call.AwsRequestID
	}
	time.Sleep(time.Duration(event.Seconds * float64(time.Second)))
	switch event.Do {
	case "environment":
		reply.Variables = map[string]string{}
		for _, each := range os.Environ() {
			name, value, _ := strings.Cut(each, "=")
			reply.Variables[name] = value
		}
	case "say":
		fmt.Println(event.Text)
	case "log":
		fmt.Print(strings.Repeat("x", event.Bytes), "\n")
		fmt.Fprintln(os.Stderr, "the last line")
	case "exit":
		os.Exit(7)
	case "panic":
		panic("as asked")
	case "fail":
		return reply, errors.New("as asked")
	case "answer":
		reply.Text = strings.Repeat("x", event.Bytes)
	case "child":
		child := exec.Command("sleep", "600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return reply, err
		}
		reply.Child = child.Process.Pid
	}
	return reply, nil
}

func main() {
	switch os.Getenv("INIT") {
	case "exit":
		fmt.Println("no start")
		os.Exit(3)
	case "hang":
		time.Sleep(10 * time.Minute)
	}
	lambda.Start(handle)
}
