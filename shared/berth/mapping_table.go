package berth

// Mapping makes the one table of what each provider does with each field of an
// environment. Validation, preflight, the documentation and the tests read it;
// adapters do what it says. A row without a condition comes before its special
// cases. It is made on demand: most programs that know the domain have no use for
// it.
func Mapping() []MappingRow {
	return append([]MappingRow{
		row("image.docker", cells{
			ProviderLocal:   ignored(),
			ProviderDocker:  mapped("Docker image", "`"+DefaultDockerImage+"` when unset"),
			ProviderDaytona: refused("daytona cannot start from a Docker image: write the image as FROM of an image.dockerfile, or name a daytona.snapshot"),
			ProviderSSH:     warned("is ignored: the ssh provider uses the remote host as it is"),
			ProviderExe:     refused("provider exe has its own field for the image: set exe.image"),
			ProviderSprites: warned("is ignored: every sprite starts from the same image"),
		}),
		row("image.dockerfile", cells{
			ProviderLocal:   ignored(),
			ProviderDocker:  warned("is ignored: the docker provider builds nothing; push an image and name it in image.docker"),
			ProviderDaytona: mapped("Snapshot Dockerfile; berth computes the snapshot name", ""),
			ProviderSSH:     warned("is ignored: the ssh provider uses the remote host as it is"),
			ProviderExe:     warned("is ignored: the exe provider builds nothing; push an image and name it in exe.image"),
			ProviderSprites: warned("is ignored: every sprite starts from the same image"),
		}),
		when("image.dockerfile", CopiesLocalFiles, cells{
			ProviderDaytona: refused("copies a local file, and there are none beside an inline Dockerfile: write the file within it (COPY <<EOF), fetch it by URL, or copy it in a prepare step"),
		}),
		row("resources.cpu", cells{
			ProviderLocal:   warned("is ignored: the local provider sets no CPU limit"),
			ProviderDocker:  mapped("`cpu_quota = cpu * 100000`", "of a period of 100000 microseconds"),
			ProviderDaytona: mapped("Snapshot CPU", ""),
			ProviderSSH:     warned("is ignored: the ssh provider sets no CPU limit"),
			ProviderExe:     warned("is ignored: the size of an exe VM is not set by the environment"),
			ProviderSprites: warned("is ignored: the size of a sprite is fixed"),
		}),
		when("resources.cpu", WithoutDockerfile, cells{
			ProviderDaytona: warned("is ignored without image.dockerfile: a snapshot that exists has its own size"),
		}),
		row("resources.memory", cells{
			ProviderLocal:   warned("is ignored: the local provider sets no memory limit"),
			ProviderDocker:  mapped("Container memory limit", "in bytes, exactly"),
			ProviderDaytona: mapped("Snapshot memory", "in whole GB, rounded up"),
			ProviderSSH:     warned("is ignored: the ssh provider sets no memory limit"),
			ProviderExe:     warned("is ignored: the size of an exe VM is not set by the environment"),
			ProviderSprites: warned("is ignored: the size of a sprite is fixed"),
		}),
		when("resources.memory", BelowDockerMemory, cells{
			ProviderDocker: refused("is below 6 MiB, the least that a Docker engine takes"),
		}),
		when("resources.memory", WithoutDockerfile, cells{
			ProviderDaytona: warned("is ignored without image.dockerfile: a snapshot that exists has its own size"),
		}),
		row("resources.disk", cells{
			ProviderLocal:   warned("is ignored: the local provider sets no disk limit"),
			ProviderDocker:  warned("is ignored: the docker provider sets no disk limit"),
			ProviderDaytona: mapped("Snapshot disk", "in whole GB, rounded up"),
			ProviderSSH:     warned("is ignored: the ssh provider sets no disk limit"),
			ProviderExe:     warned("is ignored: the size of an exe VM is not set by the environment"),
			ProviderSprites: warned("is ignored: the size of a sprite is fixed"),
		}),
		when("resources.disk", WithoutDockerfile, cells{
			ProviderDaytona: warned("is ignored without image.dockerfile: a snapshot that exists has its own size"),
		}),
		value("network.mode", string(NetworkAllowAll), cells{
			ProviderLocal:   mapped("Host network", ""),
			ProviderDocker:  mapped("Docker default bridge", "unless `docker.network_mode` names another"),
			ProviderDaytona: mapped("Daytona allow-all", ""),
			ProviderSSH:     mapped("Network of the remote host", ""),
			ProviderExe:     mapped("Network of the VM, unrestricted", ""),
			ProviderSprites: mapped("Sprite without network rules", ""),
		}),
		value("network.mode", string(NetworkBlock), cells{
			ProviderLocal:   refused("the local provider cannot block the network: it runs on the host; use docker or daytona"),
			ProviderDocker:  mapped("Docker `none` network", ""),
			ProviderDaytona: mapped("Daytona block", ""),
			ProviderSSH:     refused("the ssh provider cannot block the network of a remote host; use docker or daytona"),
			ProviderExe:     refused("the exe provider cannot block the network of a VM; use docker or daytona"),
			ProviderSprites: mapped("Rule that denies every domain", ""),
		}),
		value("network.mode", string(NetworkCIDRAllowList), cells{
			ProviderLocal:   refused("the local provider cannot restrict the network: it runs on the host; use daytona"),
			ProviderDocker:  refused("the docker provider cannot restrict the network to CIDRs; use daytona, or network.mode = block"),
			ProviderDaytona: mapped("Daytona CIDR allow-list", "bits behind the prefix are cleared; names resolve only when a resolver is in the list"),
			ProviderSSH:     refused("the ssh provider cannot restrict the network of a remote host; use daytona"),
			ProviderExe:     refused("the exe provider cannot restrict the network of a VM; use daytona"),
			ProviderSprites: refused("the sprites provider has rules for domain names, not for CIDRs; use daytona, or network.mode = block"),
		}),
		when("network.allow", MoreThanTenCIDRs, cells{
			ProviderDaytona: refused("has more than 10 entries, the most that daytona takes"),
		}),
		when("network.allow", HasIPv6, cells{
			ProviderDaytona: refused("has an IPv6 network, and daytona takes IPv4 alone"),
		}),
		row("labels", cells{
			ProviderLocal:   warned("are ignored: the local provider has nothing to put labels on"),
			ProviderDocker:  besidesHosts("are ignored, but for those that begin with host.: the docker provider labels containers with berth's own labels alone"),
			ProviderDaytona: mapped("Daytona labels", "beside berth's own"),
			ProviderSSH:     warned("are ignored: the ssh provider has nothing to put labels on"),
			ProviderExe:     warned("are ignored: the exe provider sets berth's own tags alone"),
			ProviderSprites: warned("are ignored: the sprites provider sets berth's own labels alone"),
		}),
		row("lifecycle.auto_stop", cells{
			ProviderLocal:   warned("is ignored: the local provider has nothing to stop"),
			ProviderDocker:  warned("is ignored: the docker provider does not stop idle containers"),
			ProviderDaytona: mapped("Daytona auto-stop", "in whole minutes, rounded up; held off while a run lives"),
			ProviderSSH:     warned("is ignored: the ssh provider does not stop the remote host"),
			ProviderExe:     warned("is ignored: an exe VM has no auto-stop"),
			ProviderSprites: warned("is ignored: a sprite sleeps by itself when idle, after a time that cannot be set"),
		}),
		row("env", cells{
			ProviderLocal:   mapped("Process environment overlay", "over the server's own, filtered environment"),
			ProviderDocker:  mapped("Container environment", "given to each command, so that `docker inspect` shows none of it"),
			ProviderDaytona: mapped("Sandbox environment", "given to each command"),
			ProviderSSH:     mapped("Environment of each command", ""),
			ProviderExe:     mapped("Environment of each command", ""),
			ProviderSprites: mapped("Environment of each command", ""),
		}),
		row("cwd", cells{
			ProviderLocal:   mapped("Server-side command working directory", ""),
			ProviderDocker:  warned("is ignored: the docker provider has its own workspace; use run.working_dir for a directory in it"),
			ProviderDaytona: warned("is ignored: the daytona provider has its own workspace; use run.working_dir for a directory in it"),
			ProviderSSH:     warned("is ignored: the ssh provider starts in ssh.working_directory"),
			ProviderExe:     warned("is ignored: the exe provider has its own workspace; use run.working_dir for a directory in it"),
			ProviderSprites: warned("is ignored: the sprites provider has its own workspace; use run.working_dir for a directory in it"),
		}),
	}, optionRows()...)
}

type cells = map[ProviderKind]Cell

func row(field string, c cells) MappingRow { return MappingRow{Field: field, Cells: c} }

func value(field, v string, c cells) MappingRow { return MappingRow{Field: field, Value: v, Cells: c} }

func when(field string, w Condition, c cells) MappingRow {
	return MappingRow{Field: field, When: w, Cells: c}
}

func mapped(to, note string) Cell { return Cell{Effect: EffectMapped, Text: to, Note: note} }
func warned(message string) Cell  { return Cell{Effect: EffectWarning, Text: message} }

func besidesHosts(message string) Cell {
	return Cell{Effect: EffectWarning, Text: message, When: OtherThanHosts}
}

func refused(message string) Cell { return Cell{Effect: EffectError, Text: message} }
func ignored() Cell               { return Cell{Effect: EffectIgnored} }
