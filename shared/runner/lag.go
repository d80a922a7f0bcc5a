package runner

import "time"

// lag measures how long output waits for its record within one Follow. Frames
// carry no time, so it goes by the reads: what comes alone was said just then;
// of more than one read takes, the oldest was said at most as long ago as a read
// last took all there was.
type lag struct {
	level    time.Time // when all that was said had been read
	oldest   time.Time // when the oldest byte that is pending was said
	behind   bool
	recorded bool
	longest  time.Duration
}

// read notes a read that brought output; full when it may have left some, first
// when nothing was pending.
func (l *lag) read(now time.Time, full, first bool) {
	if first {
		l.oldest = now
		if full || l.behind {
			l.oldest = l.level
		}
	}
	if l.behind = full; !full {
		l.level = now
	}
}

// record notes that all that was pending is recorded.
func (l *lag) record(now time.Time) {
	l.recorded = true
	l.longest = max(l.longest, now.Sub(l.oldest))
}
