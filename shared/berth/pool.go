package berth

// PoolSize is how many warm sandboxes an environment wants.
func PoolSize(e Environment) int {
	if e.Docker == nil {
		return 0
	}
	return e.Docker.PoolSize
}
