// Package githubapp opens private repositories on GitHub to clones, as a GitHub
// App: for each repository it mints an installation token that may read the
// contents of that repository and nothing else, for an hour. Public repositories
// are read without a credential.
//
// Tokens and keys are only ever in memory. The private key signs short-lived JSON
// web tokens and goes nowhere.
package githubapp
