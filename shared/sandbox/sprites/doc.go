// Package sprites makes sandboxes of sprites, the machines of sprites.dev.
//
// A sprite of berth's own carries the installation, the sandbox and the run in its
// label and the sandbox in its name; Destroy deletes such a one and no other. In a
// sprite that exists (sprites.name) the sandbox is a folder below the home and a
// label beside the sprite's own, both of which Destroy takes away; the sprite, its
// rules and its URL are never changed.
//
// The guest is uploaded once a sandbox and runs there under its own daemon
// (package relay): a connection that drops loses nothing. A sprite that nobody
// talks to falls asleep, and its processes freeze or end. So each connection of
// berth's holds it awake for a while after it has gone, which bridges the time
// between two looks at a quiet command; a sandbox that is left alone sleeps, and
// what ran in it is lost when it has slept deeply.
package sprites
