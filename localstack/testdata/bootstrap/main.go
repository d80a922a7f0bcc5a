// Command bootstrap is a function that behaves as its event says. Its start
// behaves as the variable INIT says.
package main

import (
	"context"
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

func handle(ctx context.Context, event Event) (Reply, error) {
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
