package main

const (
	sysVMRead  = 310
	sysVMWrite = 311
)
