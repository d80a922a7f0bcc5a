//go:build linux

package guest

import (
	"context"
	"encoding/json"
	"os"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

func decode[T any](m *wire.Message) (params T, err error) {
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return params, &berth.Error{Code: berth.CodeMalformed, Message: "the parameters of " + string(m.Op) + " could not be read", Cause: err}
	}
	return params, nil
}

// takeFile takes the spool that came with m.
func takeFile(m *wire.Message) (*os.File, error) {
	if len(m.Files) != 1 {
		return nil, berth.Errorf(berth.CodeMalformed, "%s needs one file", m.Op)
	}
	file := m.Files[0]
	m.Files = nil
	return file, nil
}

// do answers one request about commands, and hands the others on.
func (s *session) do(ctx context.Context, m *wire.Message) (result any, body []byte, err error) {
	g := s.guest
	switch m.Op {
	case wire.OpProbe:
		p, err := decode[wire.Probe](m)
		if err != nil {
			return nil, nil, err
		}
		said, err := g.answerProbe(ctx, p)
		return said, nil, err
	case wire.OpStart:
		p, err := decode[wire.Command](m)
		if err != nil {
			return nil, nil, err
		}
		file, err := takeFile(m)
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, g.start(p, file)
	case wire.OpSignal, wire.OpCancel:
		p, err := decode[wire.Signal](m)
		if err != nil {
			return nil, nil, err
		}
		file, err := takeFile(m)
		if err != nil {
			return nil, nil, err
		}
		if m.Op == wire.OpCancel {
			return nil, nil, g.cancel(p, file)
		}
		return nil, nil, g.signal(p, file)
	case wire.OpInput:
		p, err := decode[wire.Input](m)
		if err != nil {
			return nil, nil, err
		}
		c := g.find(p.ID)
		switch {
		case c == nil:
			return nil, nil, berth.Errorf(berth.CodeNotFound, "the command does not run")
		case c.input == nil:
			return nil, nil, berth.Errorf(berth.CodeConflict, "the command was started without standard input")
		}
		offset, err := c.input.write(p.Offset, m.Body, p.EOF)
		return wire.Offset{Offset: offset}, nil, err
	case wire.OpShell, wire.OpPort:
		return nil, nil, s.openStream(ctx, m)
	case wire.OpStop:
		g.stop(context.WithoutCancel(ctx))
		return nil, nil, nil
	}
	err = g.user.do(func() (err error) {
		result, body, err = s.doFiles(ctx, m)
		return err
	})
	return result, body, err
}
