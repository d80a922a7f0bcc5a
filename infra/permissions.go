package main

import "slices"

// permissionSet is what functions of one kind may do. There is a role for each.
type permissionSet string

const (
	nothing        permissionSet = "Nothing"
	reader         permissionSet = "Reader"
	writer         permissionSet = "Writer"
	checker        permissionSet = "Checker"
	secretKeeper   permissionSet = "SecretKeeper"
	hostKeeper     permissionSet = "HostKeeper"
	nudger         permissionSet = "Nudger"
	logReader      permissionSet = "LogReader"
	runStarter     permissionSet = "RunStarter"
	runCanceller   permissionSet = "RunCanceller"
	runRemover     permissionSet = "RunRemover"
	sandboxUser    permissionSet = "SandboxUser"
	outputReader   permissionSet = "OutputReader"
	commandStarter permissionSet = "CommandStarter"
	stageStarter   permissionSet = "StageStarter"
	transferMaker  permissionSet = "TransferMaker"
	mover          permissionSet = "Mover"
	follower       permissionSet = "Follower"
	sweeper        permissionSet = "Sweeper"
)

// sets are the grants of each set. User secrets are read by the starters of commands
// alone, of whom one also opens shells, and written by the secret keeper alone;
// provider secrets are read by what reaches hosts and providers, those of hosts are
// written by the host keeper alone, and the others by nobody. The key of the GitHub
// App is for who starts a clone.
var sets = map[permissionSet][]grant{
	nothing:        {},
	reader:         {readTable},
	writer:         {readTable, writeTable},
	checker:        {readTable, readProviderSecrets, reachHosts},
	secretKeeper:   {readTable, writeTable, writeUserSecrets},
	hostKeeper:     {readTable, writeTable, writeHostSecrets, reachHosts},
	nudger:         {readTable, writeTable, answerTasks},
	logReader:      {readTable, readOutput},
	runStarter:     {readTable, writeTable, startExecutions},
	runCanceller:   {readTable, writeTable, answerTasks, readProviderSecrets, reachHosts},
	runRemover:     {readTable, writeTable, removeOutput, readProviderSecrets, reachHosts},
	sandboxUser:    {readTable, writeTable, readProviderSecrets, reachHosts},
	outputReader:   {readTable, writeTable, readOutput, readProviderSecrets, reachHosts},
	commandStarter: {readTable, writeTable, readUserSecrets, readProviderSecrets, reachHosts},
	stageStarter:   {readTable, writeTable, readUserSecrets, readProviderSecrets, readAppSecret, reachHosts},
	transferMaker:  {readTable, writeTable, readTransfers, writeTransfers, removeTransfers},
	mover:          {readTable, writeTable, readTransfers, writeTransfers, removeTransfers, readProviderSecrets, reachHosts},
	follower:       {readTable, writeTable, writeOutput, readProviderSecrets, reachHosts},
	sweeper:        {readTable, writeTable, startExecutions, describeExecutions, readProviderSecrets, reachHosts},
}

func (s permissionSet) has(any ...grant) bool {
	return slices.ContainsFunc(sets[s], func(g grant) bool { return slices.Contains(any, g) })
}

// operations says which set each operation of the API has.
var operations = map[string]permissionSet{
	"list-environments": reader, "find-environment": reader, "check-environment": checker,
	"create-environment": writer, "replace-environment": writer, "update-environment": writer, "delete-environment": writer,

	"list-variables": reader, "find-variable": reader, "put-variable": writer, "delete-variable": writer,
	"list-secrets": reader, "find-secret": reader, "put-secret": secretKeeper, "delete-secret": secretKeeper,

	"list-runs": reader, "find-run": reader, "read-run-events": reader, "list-run-stages": reader, "read-run-logs": logReader,
	"preflight-run": checker, "create-run": runStarter, "cancel-run": runCanceller, "delete-run": runRemover,

	"list-sandboxes": reader, "find-sandbox": reader,
	"destroy-sandbox": sandboxUser, "stop-sandbox": sandboxUser, "start-sandbox": sandboxUser,
	"open-shell": commandStarter, "open-preview": sandboxUser,
	"read-file": sandboxUser, "write-file": sandboxUser, "delete-file": sandboxUser,
	"grep-files": sandboxUser, "glob-files": sandboxUser,

	"start-command": commandStarter, "find-command": sandboxUser, "read-command-output": outputReader,
	"write-command-stdin": sandboxUser, "signal-command": sandboxUser,

	"create-transfer": transferMaker, "find-transfer": mover, "commit-transfer": mover,

	"list-hosts": reader, "find-host": reader, "add-host": writer, "beat-host": writer, "drain-host": writer,
	"nudge-host": nudger, "join-host": hostKeeper, "remove-host": hostKeeper,

	"list-keys": reader, "create-key": writer, "delete-key": writer, "find-principal": nothing,
	"find-health": nothing, "find-version": nothing, "find-openapi": nothing,
}
