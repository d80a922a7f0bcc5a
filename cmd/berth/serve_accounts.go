package main

import (
	"cmp"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/privatefile"
)

// howProvidersGoOn is a part of the help of `berth serve`.
const howProvidersGoOn = `Each provider is turned on by itself:

  local    is on, unless --allow-local=false
  docker   as soon as this machine's engine answers, unless --docker=off; further
           machines by "berth host add" or --agent
  ssh      as soon as OpenSSH's client is here, unless --ssh=off; hosts, keys and
           known hosts are those of its configuration (~/.ssh)
  daytona  by DAYTONA_API_KEY in the environment; DAYTONA_API_URL names another base
           than the hosted one
  sprites  by SPRITES_TOKEN in the environment; SPRITES_API_URL names another base
  exe      by EXE_SSH_KEY_FILE in the environment: the file of a private key that
           exe.dev knows, without a passphrase, for its owner alone (chmod 600)

Keys are in the environment and not in flags, which everybody on a machine can see.
A server in the background has the environment of the command that started it: after
a change, "berth stop" ends it, and the next command starts it again.
"berth doctor" tells which providers are on, and why others are not.`

// The accounts are those that the environment names, by the variables that the
// services' own tools read.

func (a *app) daytona() embedded.Account {
	return embedded.Account{
		Key: berth.NewSecretValue([]byte(a.env["DAYTONA_API_KEY"])),
		URL: cmp.Or(a.env["DAYTONA_API_URL"], a.env["DAYTONA_SERVER_URL"]),
	}
}

func (a *app) sprites() embedded.Account {
	return embedded.Account{
		Key: berth.NewSecretValue([]byte(cmp.Or(a.env["SPRITES_TOKEN"], a.env["SPRITE_TOKEN"]))),
		URL: a.env["SPRITES_API_URL"],
	}
}

// exe is the account whose key the environment names by its file: a key itself has
// several lines.
func (a *app) exe() embedded.Exe {
	account := embedded.Exe{Lobby: a.env["EXE_LOBBY"], Fingerprint: a.env["EXE_LOBBY_FINGERPRINT"]}
	if file := a.env[exeKeyFile]; file != "" {
		account.Key, account.Fault = readExeKey(a.abs(file))
	}
	return account
}

const exeKeyFile = "EXE_SSH_KEY_FILE"

func readExeKey(file string) (berth.SecretValue, error) {
	var none berth.SecretValue
	key, err := privatefile.Read(file)
	var unsafe *berth.Error
	switch {
	case errors.As(err, &unsafe):
		return none, berth.FieldErrorf(unsafe.Code, exeKeyFile, "%s", unsafe.Message)
	case err != nil:
		return none, &berth.Error{
			Code: berth.CodeInvalid, Field: exeKeyFile, Message: "names a file that cannot be read: " + file, Cause: err,
			Remediation: "Name the file of a private key that exe.dev knows, or unset the variable to go without provider exe.",
		}
	case len(key) == 0:
		return none, berth.FieldErrorf(berth.CodeInvalid, exeKeyFile, "names an empty file: %s", file)
	}
	return berth.NewSecretValue(key), nil
}
