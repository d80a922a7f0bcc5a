package main

const (
	sysVMRead  = 270
	sysVMWrite = 271
)
