// Package daytona makes sandboxes in Daytona's cloud. What is known of one is in
// Daytona itself, in names and labels, so that every call may come from another
// process: a function on AWS, or the next server.
package daytona
