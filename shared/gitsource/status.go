package gitsource

import "github.com/berth-dev/berth/shared/berth"

// Status is what a clone's command ends with. Its last line on stderr says the
// same with more detail.
type Status int

// The statuses. Others come from signals, or from bash.
const (
	StatusDone       Status = 0
	StatusFailed     Status = 1  // git failed in a way that its messages tell
	StatusGitMissing Status = 10 // no git in the image, or one that is too old or not whole
	StatusRepository Status = 11 // not found, or it needs credentials
	StatusRevision   Status = 12 // the branch, tag or commit is not there
	StatusNetwork    Status = 13 // still failing after several tries
	StatusNotOurs    Status = 14 // the workspace holds other files, or cannot be written
)

// firstShellStatus is where statuses of bash and of signals begin.
const firstShellStatus Status = 126

// What a person does about each.
const (
	installGit     = "Install git 2.20 or later, with its https helper, in the image of the environment."
	checkOrigin    = "Check the origin of the target. A private repository on GitHub needs a GitHub App that the server has and that is installed on it."
	checkRevision  = "Check its name, or push it."
	checkNetwork   = "Check the network of the sandbox, and the certificates in its image; then run again."
	emptyWorkspace = "Use an image without files there, or set [run.clone] enabled = false."
	cleanDirectory = "Look at it on the host (git status) and take away what runs left there, name another ssh.working_directory, or set [run.clone] enabled = false to work with the files that are there."
	readTheLog     = "The stage's log has git's messages."
)

// ExplainClone says why the clone of def's target failed that ended like exit;
// false when the exit says nothing of git.
func (Source) ExplainClone(def berth.Definition, exit berth.Exit) (berth.Reason, bool) {
	status := Status(exit.Code)
	if exit.Reason != berth.ExitExited || status == StatusDone || status >= firstShellStatus {
		return berth.Reason{}, false
	}
	origin := berth.NormalizeTarget(def.Target).Origin
	reason := berth.Reason{Code: berth.ReasonCloneFailed}
	switch status {
	case StatusGitMissing:
		reason.Message, reason.Remediation = "the image has no git that can fetch "+origin, installGit
	case StatusRepository:
		reason.Message, reason.Remediation = origin+" was not found, or needs credentials", checkOrigin
	case StatusRevision:
		reason.Message, reason.Remediation = Revision(def.Target)+" is not in "+origin, checkRevision
	case StatusNetwork:
		reason.Message, reason.Remediation = origin+" could not be reached", checkNetwork
	case StatusNotOurs:
		reason.Message, reason.Remediation = "the workspace is not empty, or cannot be written", emptyWorkspace
		if ssh := def.Environment.SSH; def.Environment.Provider == berth.ProviderSSH && ssh != nil {
			reason.Message = "ssh.working_directory " + ssh.WorkingDirectory + " is neither empty nor a clone of " + origin + " without changes, or cannot be written"
			reason.Remediation = cleanDirectory
		}
	default:
		reason.Message, reason.Remediation = Revision(def.Target)+" of "+origin+" could not be fetched", readTheLog
	}
	return reason, true
}

// Revision names what a git target chooses: the commit before the tag, the tag
// before the branch.
func Revision(t berth.Target) string {
	switch {
	case t.SHA != "":
		return "commit " + t.SHA
	case t.Tag != "":
		return "tag " + t.Tag
	case t.Branch != "":
		return "branch " + t.Branch
	}
	return "the default branch"
}
