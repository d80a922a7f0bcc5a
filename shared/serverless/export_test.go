package serverless

// LogTo is the logger of functions, for the tests.
var LogTo = newLogger
