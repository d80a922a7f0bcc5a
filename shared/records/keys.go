package records

import (
	"fmt"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Partitions and sort keys.
const (
	pkMeta        = "meta"
	pkEnvironment = "env"
	pkVariable    = "var"
	pkSecret      = "secret"
	pkSandbox     = "sandbox"
	pkLive        = "live"
	pkLimit       = "limit"
	pkKey         = "key"
	pkKeyHash     = "keyhash"
	pkHost        = "host"
	pkJoin        = "join"

	skHead       = "head"
	skDefinition = "def"
	prefixStage  = "stage#"
	prefixEvent  = "event#"
	prefixOutput = "out#"
	prefixCmd    = "cmd#"
)

func pkRun(id berth.RunID) string { return "run#" + string(id) }

func skStage(id berth.StageID) string { return prefixStage + string(id) }

func skEvent(seq int64) string { return fmt.Sprintf("%s%012d", prefixEvent, seq) }

func prefixStageOutput(id berth.StageID) string { return prefixOutput + string(id) + "#" }

func skOutput(id berth.StageID, from int64) string {
	return fmt.Sprintf("%s%016d", prefixStageOutput(id), from)
}

func pkCommands(id berth.SandboxID) string { return "sandbox#" + string(id) }

func skCommand(id berth.CommandID) string { return prefixCmd + string(id) }

func pkIdempotency(operation string) string { return "idem#" + operation }

// indexHost is the partition of index 2 that lists the sandboxes of a host.
func indexHost(id berth.HostID) string { return "host#" + string(id) }

// pkMonth is the partition of index 1 that lists the runs of one month.
func pkMonth(t time.Time) string { return "run#" + t.UTC().Format("2006-01") }
