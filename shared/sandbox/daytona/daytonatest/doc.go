// Package daytonatest is a Daytona of our own for tests: its control plane and
// its toolbox, with real processes behind it. It behaves as Daytona's published
// server does, also where that is unkind, and can be told to do worse.
package daytonatest
