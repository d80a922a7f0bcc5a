package agentapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/berth-dev/berth/shared/berth"
)

func startCommand(x *exchange) error {
	var c Command
	if err := x.decode(&c); err != nil {
		return err
	}
	if err := x.provider.StartCommand(x.r.Context(), x.ref, c.Spec(x.command)); err != nil {
		return err
	}
	return x.answer(nil)
}

func describeCommand(x *exchange) error {
	state, err := x.provider.DescribeCommand(x.r.Context(), x.ref, x.command)
	if err != nil {
		return err
	}
	return x.answer(CommandState(state))
}

// readOutput answers with the raw spool.
func readOutput(x *exchange) error {
	var problems berth.Problems
	offset, limit, wait := x.number("offset", &problems), x.number("limit", &problems), x.wait(0, &problems)
	if err := berth.Invalid(problems.List()); err != nil {
		return err
	}
	if limit <= 0 || limit > berth.MaxOutputRead {
		limit = berth.MaxOutputRead
	}
	out, err := x.provider.ReadOutput(x.r.Context(), x.ref, x.command, offset, int(limit), wait)
	if err != nil {
		return err
	}
	h := x.w.Header()
	h.Set(NextHeader, strconv.FormatInt(out.Next, 10))
	if out.Ended && out.Exit != nil {
		exit, err := headerJSON(out.Exit)
		if err != nil {
			return err
		}
		h.Set(ExitHeader, exit)
	}
	x.send(http.StatusOK, MediaBytes, out.Bytes)
	return nil
}

// writeInput answers when all is accepted or the wait is over, whichever comes
// first.
func writeInput(x *exchange) error {
	var problems berth.Problems
	offset, wait := x.number("offset", &problems), x.wait(MaxWait, &problems)
	eof := x.query.Get("eof")
	if eof != "" && eof != "true" && eof != "false" {
		problems.Addf("query.eof", "must be true or false")
	}
	if err := berth.Invalid(problems.List()); err != nil {
		return err
	}
	data, err := x.body()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), wait)
	defer cancel()
	next, err := x.provider.WriteInput(ctx, x.ref, x.command, offset, data, eof == "true")
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && x.r.Context().Err() == nil {
		err, next = nil, max(next, offset)
	}
	if err != nil {
		return err
	}
	return x.answer(Input{next})
}

func signal(x *exchange) error {
	var s Signal
	if err := x.decode(&s); err != nil {
		return err
	}
	if err := x.provider.Signal(x.r.Context(), x.ref, x.command, s.Signal); err != nil {
		return err
	}
	return x.answer(nil)
}

func cancel(x *exchange) error {
	if err := x.provider.Cancel(x.r.Context(), x.ref, x.command); err != nil {
		return err
	}
	return x.answer(nil)
}
