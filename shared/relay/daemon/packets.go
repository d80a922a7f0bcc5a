//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"io"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// packets serves sessions over one pair of pipes, which clients come to and leave
// as they like. The session that was opened last is the one.
type packets struct {
	server  *Server
	start   string
	out     *wire.PacketWriter
	session *wire.Session // nil before the first; used by the reading loop only
}

// ServePackets serves who opens a session for the named start, until in ends.
func (s *Server) ServePackets(start string, in io.Reader, out io.Writer) {
	p := &packets{server: s, start: start, out: wire.NewPacketWriter(out)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for reader := wire.NewPacketReader(in); ; {
		m, err := reader.Next()
		if err != nil {
			return
		}
		mine := p.session != nil && p.session.Alive() && m.Session == p.session.ID()
		switch {
		case m.Kind == wire.PacketOpen:
			p.open(ctx, m, mine)
		case m.Kind == wire.PacketData && mine:
			p.session.Take(m)
		case m.Kind == wire.PacketData: // of one that is over, and does not know it
			p.tell(m.Session, wire.PacketClose, nil)
		case m.Kind == wire.PacketClose && mine:
			p.session.Ended()
		}
	}
}

func (p *packets) open(ctx context.Context, m wire.Packet, again bool) {
	var opening wire.Opening
	if json.Unmarshal(m.Data, &opening) != nil || opening.Start != p.start {
		p.tell(m.Session, wire.PacketRefused, wire.ErrorOf(berth.Errorf(berth.CodeConflict, "the sandbox was started anew from outside")))
		return
	}
	if again { // its answer may have been lost
		p.tell(m.Session, wire.PacketOpened, nil)
		return
	}
	if p.session != nil {
		p.session.Close()
	}
	session := wire.NewSession(m.Session, p.out, nil)
	p.session = session
	go func() {
		if p.out.Tell(session.ID(), wire.PacketOpened, nil) == nil {
			_ = p.server.Serve(ctx, session) // the client sees that it ended
		}
	}()
}

// tell does not wait: pipes that nobody empties must not keep who opens the next
// session from being heard.
func (p *packets) tell(session uint64, kind wire.PacketKind, params any) {
	go func() { _ = p.out.Tell(session, kind, params) }()
}
