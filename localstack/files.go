// Package localstack holds what makes LocalStack run berth's stack without any
// container: a plugin in Python, and lists that pin LocalStack and the emulator
// that plays DynamoDB for it, hashes included.
package localstack

import "embed"

// Requirements are LocalStack and all that it needs, on Python 3.13.
//
//go:embed requirements.txt
var Requirements []byte

// Ministack is the other emulator and all that it needs, on Python 3.10 or newer.
//
//go:embed ministack.txt
var Ministack []byte

// RunMinistack is the program that runs it.
//
//go:embed run_ministack.py
var RunMinistack []byte

// Plugin is the Python package that goes into LocalStack, as it is installed: a
// folder with it has to be on Python's path.
//
//go:embed berth_localstack/*.py berth_localstack-1.0.0.dist-info/*
var Plugin embed.FS
