package httpapi

import (
	"github.com/berth-dev/berth/shared/berth"
)

// joinFrames puts neighbours of one stream together: a program that writes byte
// by byte would make an answer many times the size of its output.
func joinFrames(frames []berth.Frame) []berth.Frame {
	out := make([]berth.Frame, 0, min(len(frames), 64))
	for i := 0; i < len(frames); {
		j, size := i+1, len(frames[i].Data)
		for j < len(frames) && frames[j].Stream == frames[i].Stream && frames[i].Stream != berth.Mark {
			size += len(frames[j].Data)
			j++
		}
		joined := frames[i]
		if j > i+1 {
			joined.Data = make([]byte, 0, size)
			for _, f := range frames[i:j] {
				joined.Data = append(joined.Data, f.Data...)
			}
		}
		out = append(out, joined)
		i = j
	}
	return out
}

// frameOverhead is about what JSON adds to a frame, beside base64.
const frameOverhead = 40

// encodedSize is about what frames take in an answer.
func encodedSize(frames []berth.Frame) int {
	size := 0
	for _, f := range frames {
		size += frameOverhead + (len(f.Data)+2)/3*4
	}
	return size
}

// fitFrames reads with a smaller limit until the frames fit into an answer:
// alternating streams of tiny frames take six times their size.
func fitFrames(limit int, read func(limit int) (berth.OutputReply, error)) (berth.OutputReply, error) {
	for {
		reply, err := read(limit)
		if err != nil {
			return reply, err
		}
		reply.Frames = joinFrames(reply.Frames)
		if limit <= 1 || encodedSize(reply.Frames) <= replyRoom {
			return reply, nil
		}
		limit /= 4
	}
}
